"""Plain English: rules for messages, for comments and for the pages. tools/lint applies them.

White space counts as one blank, so a phrase that is broken over two lines, or over two literals, is found too.
Code on a page (blocks and `spans`) is not looked at.
"""

import pathlib
import re
import typing

MESSAGE, COMMENT, NOTE, PAGE = "message", "comment of a header", "comment of a source", "page"
ALL = (MESSAGE, COMMENT, NOTE, PAGE)


class Rule(typing.NamedTuple):
    pattern: str
    advice: str
    kinds: tuple = ALL


class Text(typing.NamedTuple):
    """A message, a comment or a paragraph: what each of its lines adds to it."""
    kind: str
    pieces: list  # (line's number, words)


PEOPLE = "".join(rf"(?<!\b{word} )" for word in ("anyone", "everyone", "no one", "those", "user", "users", "user,", "people", "callers,", "attacker"))

RULES = {
    "is no": Rule(r"(?<!\b[Tt]here )\b(?:is|are|was|were|be|been) no (?!longer\b|more\b|less\b|fewer\b|better\b|other\b|one\b)[\w{$]",
                  "write “is not a …”, or what it is"),
    "is none": Rule(r"\b(?:its|their|whose) [\w -]+ (?:is|are) none\b", "write “has no …” or “has an invalid …”"),
    "there are": Rule(r"\bthere (?:is|are):? (?:\{\}(?:(?: and|, or)\b[^{}]*(?:\{\})?)?\W*)?$", "write “choose one of: …”", (MESSAGE,)),
    "in place of": Rule(r"\bin place of\b", "write “instead of”"),
    "anew": Rule(r"\banew\b", "write “again”"),
    "of which": Rule(r"\bof (?:which|whom)\b", "write “whose …”, or two sentences"),
    "is told": Rule(r"\b(?:is|are|was|were|be|been|being) (?:\w+ )?told\b(?! (?:apart|from)\b)", "begin with what tells it: “X tells Y …”"),
    "somebody": Rule(r"\b(?:some|no|any|every)body\b|\bwhoever\b",
                     "name the thing: “no process”, “another user”; of people “anyone who”, “no one”"),
    "either": Rule(r"(?<!\bthat )(?<!\bthan )\beither [a-z]+s\b(?! (?:or|of)\b)", "write “both …”: “either decides” says that one is enough"),
    "who": Rule(rf"{PEOPLE}\bwhom?\b|(?-i:\bWhose\b)", "ranks, nodes and programs are “which”; of people “anyone who”",
                (MESSAGE, COMMENT, NOTE)),
}

# (file, words as they stand there): why they may stay. What is not needed any more is a finding.
EXCEPTIONS = {
}

TOKEN = re.compile(r"""
    (?P<other>\#[ \t]*include[^\n]* | \d[\w.]*(?:'\w+)+ | '(?:[^'\\\n]|\\.)+' | /\*.*?\*/)
  | //[/!]?<?(?P<comment>[^\n]*)
  | R"(?P<mark>\w*)\((?P<raw>.*?)\)(?P=mark)"
  | "(?P<literal>(?:[^"\\\n]|\\.)*)"
""", re.X | re.S)
NO_PROGRAM = re.compile(r"(_test|_bench|_fuzz)\.cc$|(^|[/_])testing\.h$")


def texts_of_source(source, is_header):
    """The messages of a file of C++, and its comments. Neighbours are one text."""
    comment = COMMENT if is_header else NOTE
    end, line, last = 0, 1, None
    for token in TOKEN.finditer(source):
        between = source[end:token.start()]
        line += between.count("\n")
        kind = {"literal": MESSAGE, "raw": MESSAGE, "mark": MESSAGE, "comment": comment}.get(token.lastgroup)
        words = token["literal"] or token["raw"] or token["comment"] or ""
        if last and (last.kind != kind or between.strip()):
            yield last
            last = None
        if kind:
            last = last or Text(kind, [])
            last.pieces.append((line, words))
        line += token[0].count("\n")
        end = token.end()
    if last:
        yield last


def texts_of_page(page):
    page = re.sub(r"(?ms)^[ \t]*(```+)\w*$.*?^[ \t]*\1$", lambda block: "\n" * block[0].count("\n"), page)
    page = re.sub(r"`[^`\n]+`", "`…`", page)
    text = Text(PAGE, [])
    for number, line in enumerate(page.split("\n"), 1):
        if re.match(r"\s*($|[-*#|] )", line) and text.pieces:  # an empty line, or one that begins something
            yield text
            text = Text(PAGE, [])
        if line.strip():
            text.pieces.append((number, line))
    yield text


def joined(text):
    """Its words, and the offset where each piece begins."""
    words, begins = "", []
    for _, piece in text.pieces:
        piece = re.sub(r"\s+", " ", piece if text.kind == MESSAGE else piece.strip() + " ")
        begins.append(len(words))
        words += piece
    return words, begins


def broken(kind, words):
    """The rules that `words` breaks: (offset, name)."""
    for name, rule in RULES.items():
        if kind in rule.kinds:
            yield from ((match.start(), name) for match in PATTERNS[name].finditer(words))


PATTERNS = {name: re.compile(rule.pattern, re.I) for name, rule in RULES.items()}


def look_at(name, texts, used):
    for text in texts:
        words, begins = joined(text)
        for offset, rule in broken(text.kind, words):
            excuses = [entry for entry in EXCEPTIONS if entry[0] == name and entry[1] in words]
            used.update(excuses)
            if not excuses:
                line = text.pieces[sum(begin <= offset for begin in begins) - 1][0]
                part = words[max(0, offset - 25):offset + 35].strip()
                yield f"{name}:{line}: “{part}”: {RULES[rule].advice}"


def check(folder, names):
    """What breaks a rule in the files of these names, as FILE:LINE: what."""
    found, used = [], set()
    for name in names:
        source = name.startswith(("src/", "apps/")) and name.endswith((".cc", ".h")) and not NO_PROGRAM.search(name)
        if source or name.endswith(".md"):
            text = (pathlib.Path(folder) / name).read_text(errors="replace")
            texts = texts_of_source(text, name.endswith(".h")) if source else texts_of_page(text)
            found += look_at(name, texts, used)
    return found + [f"{name}:1: “{words}” breaks no rule any more: remove it from tools/language.py"
                    for name, words in EXCEPTIONS.keys() - used]
