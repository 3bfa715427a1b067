"""What MkDocs asks while it makes the site of docs/ (mkdocs.yml).

A page of docs/ is written to be read in the repository. On the site, a link that leaves docs/ becomes the name of the file, or a
link to `repo_url` where the configuration has one; a link whose words are a page's file name shows the page's title; the list of
decisions links to each decision; and reference/commands.md gets what the program says of itself.
"""

import os
import pathlib
import re
import subprocess

REPOSITORY = pathlib.Path(__file__).resolve().parent.parent
COMMANDS = "reference/commands.md"
LINK = re.compile(r"(?<!!)\[((?:[^\[\]]|\[[^\]]*\])*)\]\(([^)\s]+)\)")
FENCE = re.compile(r"(?ms)^[ \t]*(```+).*?^[ \t]*\1$")
EMPTY_HEADINGS = re.compile(r"<thead>\s*<tr>\s*(?:<th[^>]*></th>\s*)+</tr>\s*</thead>\s*")
INLINE_CODE = re.compile(r"(?s)<pre\b.*?</pre>|<code>[^<]*</code>")
IN_ONE_PIECE = re.compile(r"(?<![^\s>])\[?--?[\w-]*|\btoprun\.\w+/\d+")
DECISION = re.compile(r"(?m)^\*\*(\d+)\. ")
LISTED_DECISION = re.compile(r"(?m)^(\| (\d+) \| .*\]\(decisions/\w+\.md)#[^)]*\)")
LIST_BEGINS = re.compile(r"(?m)^(?!\s*(?:[-*|>#]|\d+\.) ?)(\S.*)\n(?=(?:[-*]|1\.) )")


def title(path):
    return (REPOSITORY / path).read_text().partition("\n")[0].lstrip("# ")


def within_the_site(page, text, repo_url=None):
    """The links of a page at docs/PAGE that lead out of docs/, as links to `repo_url` or as names."""
    def replaced(link):
        label, target = link[1], link[2]
        if re.match(r"\w+:|#", target):
            return link[0]
        file, _, _ = target.partition("#")
        path = os.path.normpath(os.path.join("docs", os.path.dirname(page), file))
        if path.startswith("docs/") and path.endswith((".md", ".json", ".yml")):
            return f"[{title(path)}]({target})" if label.endswith(".md") and label == os.path.basename(path) else link[0]
        if repo_url:
            return f"[{label}]({repo_url.rstrip('/')}/blob/main/{path})"
        return f"`{path}`" if label.strip("`") in (path, os.path.basename(path)) else f"{label} (`{path}`)"
    return outside_of_blocks(text, lambda prose: LINK.sub(replaced, prose))


def outside_of_blocks(text, change):
    pieces, end = [], 0
    for block in FENCE.finditer(text):
        pieces += [change(text[end:block.start()]), block[0]]
        end = block.end()
    return "".join(pieces + [change(text[end:])])


def with_room_for_lists(text):
    """GitHub begins a list, or a block, below a line of a paragraph; Python-Markdown wants an empty line between."""
    return outside_of_blocks(text, lambda prose: LIST_BEGINS.sub(r"\1\n\n", prose))


def without_the_build(text):
    """Without the paragraphs on how the site is made: its reader has it."""
    return "\n\n".join(part for part in text.split("\n\n") if "`make docs`" not in part)


def with_linked_decisions(text):
    """Each decision has the id dN, and the list of decisions links to it."""
    return LISTED_DECISION.sub(r"\1#d\2)", DECISION.sub(r'<a id="d\1"></a>**\1. ', text))


def with_linked_verbs(text, verbs):
    """The verbs of the table link to their sections."""
    def cell(row):
        return re.sub(r"`(\w+)[^`]*`", lambda code: f"[{code[0]}](#{'a-launch' if code[1] == 'run' else code[1]})"
                      if code[1] in verbs else code[0], row[0])
    return re.sub(r"(?m)^\| `[^|]*", cell, text)


def plain(troff):
    troff = re.sub(r"\\\[u([0-9A-F]{4})\]", lambda code: chr(int(code[1], 16)), troff)
    for escape, meant in (("\\(aq", "'"), ("\\-", "-"), ("\\&", ""), ("\\f[B]", ""), ("\\f[R]", ""), ("\\e", "\\")):
        troff = troff.replace(escape, meant)
    return re.sub(r"^\.\w+ ", "", troff)


def section(manual, name):
    return manual.partition(f"\n.SH {name}\n")[2].partition("\n.SH ")[0]


def rows_of(manual, name):
    """The rows (.TP) of a section of the manual page."""
    for row in section(manual, name).split(".TP\n")[1:]:
        head, *words = row.strip().split("\n")
        yield plain(head), " ".join(map(plain, words))


def verbs_of(manual):
    return [name.removeprefix("toprun ") for name, _ in rows_of(manual, "VERBS")]


def table(title, rows):
    cells = [tuple(cell.replace("|", "\\|") for cell in row) for row in rows]
    return f"## {title}\n\n| | |\n|---|---|\n" + "".join(f"| `{name}` | {words} |\n" for name, words in cells)


def commands(ask):
    """The page of all verbs; `ask` gives what toprun prints when it is called with these words."""
    manual = ask("man")
    parts = ["## A launch\n\n```{.text .help}\n" + ask("--help") + "```\n"]
    parts += [f"## {verb}\n\n```{{.text .help}}\n" + ask("help", *verb.split()) + "```\n" for verb in verbs_of(manual)]
    parts += [table("Variables", rows_of(manual, "ENVIRONMENT")), table("Files", rows_of(manual, "FILES"))]
    return "\n".join(parts)


def of_the_program(*words):
    program = os.environ.get("TOPRUN", REPOSITORY / "build/release/toprun")
    return subprocess.run([program, *words], capture_output=True, text=True, check=True).stdout


def on_page_markdown(markdown, page, config, **_):
    source = page.file.src_uri
    text = with_room_for_lists(within_the_site(source, markdown, config.repo_url))
    if source.startswith("internals/"):
        return with_linked_decisions(text)
    if source == COMMANDS:
        return with_linked_verbs(without_the_build(text), ["run", *verbs_of(of_the_program("man"))]) + "\n" + commands(of_the_program)
    return without_the_build(text) if source == "README.md" else text


def in_one_piece(html):
    """An option's name in a line does not break behind its dashes, nor a schema's at its slash."""
    return INLINE_CODE.sub(lambda code: code[0] if code[0].startswith("<pre") else
                           IN_ONE_PIECE.sub(r'<span class="nb">\g<0></span>', code[0]), html)


def on_page_content(html, **_):
    """A table whose headings are all empty shows no row for them."""
    return in_one_piece(EMPTY_HEADINGS.sub("", html))
