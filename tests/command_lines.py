"""toprun's command lines as its own help describes them: which words are options, and a line without one.

    command_lines.py TABLE NUMBER WORD…    prints the words without the use of that number, each ended by a NUL
"""

import dataclasses
import json
import os
import pathlib
import re
import subprocess
import sys

WORDS_OF_AN_OPTION = re.compile(r"(?:(-\w)(?:, )?)?(--[\w-]+)?(\[=)?( \S)?")
SCRIPTS = ("torchrun", "run", "submit", "shell", "setup")  # their first operand ends the options
FAMILIES = ("topo", "net", "bench", "config")
# Verbs that do the same with an option: start ranks, or pass it on to what will.
LAUNCHES = ("run", "torchrun", "bench", "bench pairs")
PASS_ON = ("submit", "shell", "setup")


@dataclasses.dataclass(frozen=True)
class Option:
    """A row of the table of options. `value`: no, optional or needed."""
    names: tuple
    value: str
    text: str
    variables: tuple

    @property
    def name(self):
        return self.names[-1]


@dataclasses.dataclass(frozen=True)
class Use:
    """An option in verbs that do the same with it."""
    option: Option
    verbs: tuple

    def __str__(self):
        return f"{self.option.name} of {', '.join(self.verbs)}"


def alike(verb):
    return next((group for group in (LAUNCHES, PASS_ON) if verb in group), None)


class Table:
    """The options that each verb knows, and the verbs that take no operand."""

    def __init__(self, known, bare):
        self.known, self.bare = known, set(bare)
        verbs = {}  # of each option, by what they do with it
        for verb, options in known.items():
            for option in options:
                verbs.setdefault((option, alike(verb)), []).append(verb)
        self.uses = [Use(option, tuple(some)) for (option, _), some in verbs.items()]

    def save(self, path):
        known = {verb: [dataclasses.astuple(option) for option in options] for verb, options in self.known.items()}
        path.write_text(json.dumps([known, sorted(self.bare)]))

    @staticmethod
    def load(path):
        known, bare = json.loads(pathlib.Path(path).read_text())
        return Table({verb: [Option(tuple(names), value, text, tuple(variables)) for names, value, text, variables in rows]
                      for verb, rows in known.items()}, bare)


def options_of(help_text):
    rows, inside = [], False
    for line in help_text.splitlines():
        if line and not line.startswith(" "):
            inside = line.endswith(":") and not line.startswith(("Examples", "Exit codes", "Verbs", "Arguments"))
        elif inside and line.startswith("  -"):
            words, _, text = line.strip().partition("  ")
            rows.append((WORDS_OF_AN_OPTION.match(words).groups(), [text.strip()]))
        elif inside and line.strip() and rows:
            rows[-1][1].append(line.strip())
    options = []
    for (letter, name, optional, needed), lines in rows:
        text = " ".join(filter(None, lines))
        variables = re.search(r"\[([A-Z0-9_, ]+)\]$", text)
        options.append(Option(tuple(filter(None, (letter, name))),
                              "optional" if optional else "needed" if needed else "no", text,
                              tuple(variables[1].split(", ")) if variables else ()))
    return options


def verbs_of(help_text):
    """As listed, or as named in the words that begin `toprun help bench pairs, bench compare`."""
    if named := re.search(r"toprun help bench .*?\.", help_text, re.S):
        return re.findall(r"\bbench\s+([a-z]+)", named[0])
    section = re.search(r"(?ms)^Verbs.*?:\n(.*?)\n(?:\S|\n|\Z)", help_text + "\n\n")
    return re.findall(r"(?m)^  ([a-z]+)\b", section[1]) if section else []


def table_of(program):
    """As its help says; beside it stands a link `torchrun`."""
    def ask(*words, called=program):
        return subprocess.run([called, *words, "--help"], capture_output=True, text=True, check=True).stdout

    helps = {"run": ask()}
    for verb in verbs_of(helps["run"]):
        helps[verb] = ask(verb)
        if verb in FAMILIES:
            helps |= {f"{verb} {inner}": ask(verb, inner) for inner in verbs_of(helps[verb])}
    helps["torchrun"] = ask(called=pathlib.Path(program).with_name("torchrun"))
    return Table({verb: options_of(text) for verb, text in helps.items()},
                 [verb for verb, text in helps.items() if re.match(r"usage: [a-z ]+ \[OPTIONS\]\n", text)])


class Line:
    """A call, split as src/cli/options/split.cc does: `pieces` are pairs of an option, or None, and its words."""

    def __init__(self, table, words):
        self.verb, start = self.called(table, words)
        self.has_operands = self.verb not in table.bare
        self.names = {name: option for option in table.known[self.verb] for name in option.names}
        self.pieces = [(None, [word]) for word in words[:start]]
        self.rest = list(words[start:])
        while self.rest:
            self.take()

    def called(self, table, words):
        if words[0].endswith("torchrun"):
            return "torchrun", 1
        for length in (2, 1):
            verb = " ".join(words[1:1 + length])
            if verb in table.known and verb != "torchrun":
                return verb, 1 + length
        return "run", 1

    def option(self, word):
        if not word.startswith("--"):
            return self.names.get(word[:2])
        name = word.split("=", 1)[0].replace("_", "-")
        longer = {option for other, option in self.names.items() if len(name) > 2 and other.startswith(name)}
        return self.names.get(name) or (longer.pop() if len(longer) == 1 else None)

    def is_plain(self, word):
        if not word.startswith("-") or word == "-":
            return True
        return self.option(word) is None and (re.fullmatch(r"-[\d.]*\d", word) is not None or " " in word)

    def take(self):
        word = self.rest[0]
        if word == "--" or self.is_plain(word) and self.verb in SCRIPTS:
            self.pieces.append((None, self.rest))
            self.rest = []
            return
        word, option = self.rest.pop(0), None if self.is_plain(word) else self.option(word)
        if option and option.value == "no" and not word.startswith("--") and len(word) > 2:  # -vW
            self.rest.insert(0, "-" + word[2:])
            word = word[:2]
        words = [word]
        has_value = "=" in word or not word.startswith("--") and len(word) > 2
        takes_next = option and not has_value and (
            option.value == "needed" or option.value == "optional" and not self.has_operands
            and self.verb not in SCRIPTS and self.rest and self.is_plain(self.rest[0]))
        if takes_next and self.rest:
            words.append(self.rest.pop(0))
        self.pieces.append((option, words))

    def has(self, use):
        return self.verb in use.verbs and any(option == use.option for option, _ in self.pieces)

    def without(self, use):
        return [word for option, words in self.pieces if option != use.option or self.verb not in use.verbs
                for word in words]


def main(path, number, *words):
    table = Table.load(path)
    sys.stdout.buffer.write(b"".join(os.fsencode(word) + b"\0" for word in Line(table, words).without(
        table.uses[int(number)])))


if __name__ == "__main__":
    main(*sys.argv[1:])
