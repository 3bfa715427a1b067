"""Finds options that no end-to-end case would miss. First all cases run with a toprun that keeps a record of
its calls; then, for each option of the table (src/cli/options/*_rows.cc, as the help lists it) and each variable
that stands for one, cases that give it run with a toprun that drops it, the quickest first, until one fails.

    dropped_options.py record [--no-cluster] [FILE…]   into build/dropped/record.json; FILE: local for local_test.py
    dropped_options.py drop [OPTION…]                  OPTION: --hosts, or TOPRUN_HOSTS

Both keep what they find and, run again, do only what is left: `record` without a FILE those files that have
changed or in which a case failed with another toprun, `drop` what was not tried with this toprun and these files.
What no case notices is a failure, unless UNNOTICED says why.
"""

import argparse
import ast
import collections
import concurrent.futures
import contextlib
import dataclasses
import functools
import hashlib
import json
import os
import pathlib
import shutil
import sys
import threading

import command_lines
import played
import run
import support

FOLDER = support.REPOSITORY / "build/dropped"
RECORD_LIMIT_S = 240  # for each case; with an option dropped many wait in vain
DROP_LIMIT_S = 15
LINE_SHOWN = 200
QUICK_CASES = 6  # tried for each option before the dearer ones of any
DROPS_AT_ONCE = played.FILES_AT_ONCE
NOTHING = "nothing"  # is dropped
VARIABLES = r"^(PET|TOPRUN|TORCH|TORCHELASTIC|TORCH_ELASTIC|SBATCH|SALLOC)_"

# Options without which every case ends as with them, and why that is right.
UNNOTICED = {
}

# Stands in toprun's place and leaves signals, descriptors and the environment as they are.
KEEPS_RECORD = r"""#!/usr/bin/perl
if (open(my $now, "<", "FOLDER/outcomes.now")) {
  my $call = "FOLDER/calls/" . <$now> . ".$$." . time . rand();
  if (open(my $out, ">", $call)) {
    print $out "$_\0" for (1 + @ARGV, $0, @ARGV, grep { /VARIABLES/ } keys %ENV);
  }
}
exec { "PROGRAM" } $0, @ARGV;
"""
DROPS_OPTION = r"""#!/usr/bin/perl
open(my $words, "-|", "/usr/bin/python3", "-ISB", "TESTS/command_lines.py", "FOLDER/table", "NUMBER", $0, @ARGV)
  or die "cannot drop an option: $!";
local $/ = "\0";
my @left = map { chomp; $_ } <$words>;
close($words);
@left or die "dropping an option left nothing";
exec { "PROGRAM" } @left;
"""
DROPS_VARIABLE = r"""#!/usr/bin/perl
delete $ENV{"NUMBER"};
exec { "PROGRAM" } $0, @ARGV;
"""


def digest(*paths):
    return hashlib.sha256(b"".join(hashlib.sha256(path.read_bytes()).digest() for path in paths)).hexdigest()


@functools.cache
def program_s_digest():
    return digest(pathlib.Path(support.TOPRUN).resolve())


@functools.cache
def digest_of(file):
    """Of a test file and all of tests/ that it imports."""
    found, left = {}, [played.TESTS / f"{file}_test.py"]
    while left:
        path = left.pop()
        if path in found or not path.exists():
            continue
        found[path] = True
        for node in ast.walk(ast.parse(path.read_text())):
            names = [name.name for name in node.names] if isinstance(node, ast.Import) else []
            if isinstance(node, ast.ImportFrom):
                names = [node.module or ""]
            left += [played.TESTS / f"{name}.py" for name in names]
    return digest(*sorted(found))


def write(path, content):
    new = path.with_suffix(".new")
    new.write_text(json.dumps(content))
    os.replace(new, path)


def read(path):
    return json.loads(path.read_text()) if path.exists() else {}


@dataclasses.dataclass
class Used:
    """A case, its calls and the variables that it gives."""
    file: str
    case: str
    seconds: float
    passed: bool
    lines: list
    variables: set

    @property
    def name(self):
        return f"{self.file}: {self.case}"

    @property
    def cost(self):
        """Comes first if it is less."""
        return not self.passed, self.seconds


@dataclasses.dataclass
class Job:
    """A use of an option, by its number in the table, or a variable; `text` is the program that drops it."""
    title: str
    number: str
    text: str
    using: list  # cases that give it, the quickest first


class Place:
    """A folder for the programs that stand in front, for the record and for what was found."""

    def __init__(self, folder):
        self.folder = folder
        self.record, self.found = folder / "record.json", folder / "found.json"
        folder.mkdir(parents=True, exist_ok=True)

    def in_front(self, name, text, **more):
        """A folder with this program in toprun's place, and one for what it writes."""
        folder = self.folder / name
        words = {"FOLDER": folder, "PROGRAM": pathlib.Path(support.TOPRUN).resolve(), "TESTS": played.TESTS,
                 "VARIABLES": VARIABLES, **more}
        for word, value in words.items():
            text = text.replace(word, str(value))
        played.stand_in(folder, text)
        (folder / "calls").mkdir()
        (folder / "calls").chmod(0o777)  # cases call it as other users too
        return folder

    def table(self):
        folder = self.folder / "names"
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        for name in ("toprun", "torchrun"):
            (folder / name).symlink_to(pathlib.Path(support.TOPRUN).resolve())
        return command_lines.table_of(folder / "toprun")


def is_left(file, known):
    """Whether a file has to be recorded: what a case gives does not depend on the program, whether it passes does."""
    if not known or known["digest"] != digest_of(file):
        return True
    return known["program"] != program_s_digest() and any(case["became"] in ("failed", "overran") for case in known["cases"])


def last_line(text):
    return (text.strip().splitlines() or [""])[-1][:LINE_SHOWN]


def record(place, files):
    known = read(place.record)

    def work(file):
        folder = place.in_front(f"record-{pathlib.Path(file).name}", KEEPS_RECORD)
        outcomes = played.play(file, folder / "toprun", RECORD_LIMIT_S, folder=folder) or []
        calls = collections.defaultdict(list)
        for path in (folder / "calls").iterdir():
            count, *words = path.read_bytes().decode(errors="surrogateescape").split("\0")[:-1] or "0"
            calls[path.name.rsplit(".", 3)[0]].append([words[:int(count)], words[int(count):]])
        shutil.rmtree(folder)
        return [{"case": outcome.case, "seconds": outcome.seconds, "became": outcome.became,
                 "why": outcome.why, "calls": calls.get(outcome.case, [])} for outcome in outcomes]

    for count, (file, cases) in enumerate(played.for_each(files, work), 1):
        known[file] = {"digest": digest_of(file), "program": program_s_digest(), "cases": cases}
        write(place.record, known)
        for case in cases:
            if case["became"] != "passed":
                print(f"{case['became']}: {file}: {case['case']}: {last_line(case['why'])}", flush=True)
        print(f"{count}/{len(files)}: recorded {file}: {len(cases)} cases", flush=True)


class Found:
    """What became of the cases that were tried, for each option or variable, as long as nothing of it changes."""

    def __init__(self, path):
        self.path, self.known, self.alone = path, read(path), threading.Lock()

    def key(self, case):
        return f"{digest_of(case.file)} {program_s_digest()}"

    def get(self, title, case):
        """Whether it noticed; None if it was not tried."""
        key, noticed = self.known.get(title, {}).get(case.name, (None, None))
        return noticed if key == self.key(case) else None

    def noticed_once(self, title, case):
        """Also with another program."""
        return self.known.get(title, {}).get(case.name, (None, False))[1]

    def keep(self, title, case, noticed):
        with self.alone:
            self.known.setdefault(title, {})[case.name] = (self.key(case), noticed)
            write(self.path, self.known)


class Drops:
    """Each option or variable, and the case that notices it."""

    def __init__(self, place):
        self.place, self.table, self.alone = place, place.table(), threading.Lock()
        self.found = Found(place.found)
        self.cases = sorted(self.recorded(), key=lambda case: case.cost)
        self.nothing = place.in_front("drop-nothing", DROPS_VARIABLE, NUMBER="NO_VARIABLE_OF_THIS_NAME")

    def recorded(self):
        for file, known in read(self.place.record).items():
            for case in known["cases"]:
                if case["became"] != "skipped":  # one that failed, on a busy machine, may pass: it comes last
                    # Under `ulimit -f 0` no call could be written down.
                    lines = [command_lines.Line(self.table, words) for words, _ in case["calls"] if words]
                    yield Used(file, case["case"], case["seconds"], case["became"] == "passed", lines,
                               set().union(*(variables for _, variables in case["calls"])))

    def fails(self, case, folder):
        with self.alone if "SERIAL" in played.needs(case.file) else contextlib.nullcontext():
            outcomes = played.play(case.file, folder / "toprun", max(DROP_LIMIT_S, 4 * case.seconds), [case.case])
        became = {"failed"} if outcomes is None else {outcome.became for outcome in outcomes}
        return next((word for word in ("overran", "failed") if word in became), None)

    def fails_without_a_drop(self, case, anew):
        """A case that also fails by itself, or on a busy machine, says nothing."""
        if anew or (known := self.found.get(NOTHING, case)) is None:
            known = bool(self.fails(case, self.nothing))
            self.found.keep(NOTHING, case, known)
        return known

    def notices(self, title, case, folder):
        known = self.found.get(title, case)
        if known is None:
            failed = self.fails(case, folder)
            known = bool(failed) and not self.fails_without_a_drop(case, anew=failed == "overran")
            self.found.keep(title, case, known)
        return known

    def in_turn(self, job):
        """What noticed before, then the quickest of each file, since the cases of one file tend to be alike."""
        before = [case for case in job.using if self.found.noticed_once(job.title, case)]
        firsts = {case.file: case for case in reversed(job.using)}.values()
        quick = sorted(firsts, key=lambda case: case.cost)[:QUICK_CASES]
        return list({case.name: case for case in (*before, *quick, *job.using)}.values())

    def find(self, job, most):
        """The case that notices, or None, and how many were tried."""
        tried = self.in_turn(job)[:most]
        if known := next((case for case in tried if self.found.get(job.title, case)), None):
            return known, 0
        folder = self.place.in_front(f"drop-{job.number}", job.text, NUMBER=job.number)
        self.table.save(folder / "table")
        try:
            return next((case for case in tried if self.notices(job.title, case, folder)), None), len(tried)
        finally:
            shutil.rmtree(folder)

    def jobs(self, wanted):
        variables = {}
        for number, use in enumerate(self.table.uses):
            variables |= dict.fromkeys(use.option.variables)
            if not wanted or set(wanted) & set(use.option.names):
                yield Job(str(use), str(number), DROPS_OPTION,
                          [case for case in self.cases if any(line.has(use) for line in case.lines)])
        for variable in variables:
            if not wanted or variable in wanted:
                yield Job(variable, variable, DROPS_VARIABLE, [case for case in self.cases if variable in case.variables])


def drop(place, wanted):
    drops = Drops(place)
    left = sorted(drops.jobs(wanted), key=lambda job: job.using[0].cost if job.using else (False, 0))
    total, noticed, wrong = len(left), 0, []
    with concurrent.futures.ThreadPoolExecutor(DROPS_AT_ONCE) as pool:
        for most in (QUICK_CASES, None):
            begun = {pool.submit(drops.find, job, most): job for job in left}
            left = []
            for done in concurrent.futures.as_completed(begun):
                job, (case, tried) = begun[done], done.result()
                if case:
                    noticed += 1
                    print(f"{noticed + len(wrong)}/{total}: noticed: {job.title}: by {case.name}", flush=True)
                elif most and len(job.using) > most:
                    left.append(job)
                else:
                    wrong.append(job.title)
                    print(f"{noticed + len(wrong)}/{total}: not noticed: {job.title}: {len(job.using)} cases give it, {tried} were tried",
                          flush=True)
    unexplained = sorted(set(wrong) - UNNOTICED.keys())
    for title in sorted(set(wrong) & UNNOTICED.keys()):
        print(f"nothing has to notice {title}: {UNNOTICED[title]}")
    needless = [] if wanted else sorted(UNNOTICED.keys() - set(wrong))
    for title in needless:
        print(f"{title} is noticed, or is not in the table: it needs no reason")
    for title in unexplained:
        print(f"nothing notices {title}")
    print(f"{noticed} noticed, {len(unexplained)} not without a reason")
    sys.exit(bool(unexplained or needless))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("what", choices=("record", "drop"))
    parser.add_argument("--no-cluster", action="store_true")
    parser.add_argument("--folder", type=pathlib.Path, default=FOLDER)
    parser.add_argument("names", nargs="*")
    asked, others = parser.parse_known_args()
    place, names = Place(asked.folder.resolve()), asked.names + others
    with run.folders_in_memory():
        if asked.what == "drop":
            drop(place, names)
        else:
            known = read(place.record)
            record(place, names or [file for file in played.test_files()
                                    if not (asked.no_cluster and "cluster" in played.needs(file)) and is_left(file, known.get(file))])


if __name__ == "__main__":
    main()
