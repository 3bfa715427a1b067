# ctest: TIMEOUT 100
"""What the pages name is there: links and their headings, options of the verb that a line calls, files,
variables, schemas, make's targets, the limits of the store."""

import pathlib
import re
import shlex
import unittest

import command_lines
import support

REPOSITORY = support.REPOSITORY
PAGES = [REPOSITORY / name for name in ("README.md", "CONTRIBUTING.md", "SECURITY.md", "examples/README.md",
                                        "bench/README.md", "CHANGELOG.md", "RELEASING.md", "CODE_OF_CONDUCT.md",
                                        "src/README.md")] + sorted((REPOSITORY / "docs").rglob("*.md"))
BLOCK = re.compile(r"^```\w*\n(.*?)^```$", re.M | re.S)
SHELL_BLOCK = re.compile(r"^```sh\n(.*?)^```$", re.M | re.S)
CALL = re.compile(r"(?:^|[\s;(|&])(?:[\w./~$-]*/)?toprun (?!docker\.io)(.*)")
README_LINES = 120
CODE_FOLDERS = ("src", "tests", "tools", "python", "cmake")


def of_prose(text):
    return BLOCK.sub("", text)


def heading_names(text):
    """As GitHub makes them of headings."""
    plain = (re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading) for heading in re.findall(r"(?m)^#+ (.*)$", of_prose(text)))
    return {re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-") for heading in plain}


def broken_links(page, text):
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        if re.match(r"https?:|mailto:", target):
            continue
        file, _, heading = target.partition("#")
        path = page.parent / file if file else page
        if not path.exists() and path != page or heading and heading not in heading_names(
                text if path == page else path.read_text()):
            yield target


def calls_in(text):
    """The words behind `toprun` of each line in a block and each piece of code in the prose."""
    lines = [line for block in BLOCK.findall(text) for line in block.replace("\\\n", " ").splitlines()]
    for line in lines + re.findall(r"`([^`\n]+)`", of_prose(text)):
        for rest in CALL.findall(line):
            try:
                words = shlex.split(rest, comments=True)
            except ValueError:  # a part of a line with quotes
                continue
            end = next((at for at, word in enumerate(words) if word in ("|", "||", "&&", ">", "<")), len(words))
            last = next((at + 1 for at, word in enumerate(words) if word.endswith(";")), end)
            yield [word.rstrip(";)") for word in words[:min(end, last)]]


def unknown_options(table, text):
    for words in calls_in(text):
        if not words:
            continue
        for option, piece in command_lines.Line(table, ["toprun", *words]).pieces:
            if option is None and len(piece) == 1 and re.match(r"--?[a-z]", piece[0]):
                yield f"{piece[0]} in: toprun {' '.join(words)}"


def joined_commands(text):
    """Lines of shell blocks that look as if a paragraph's lines had been filled: two calls of toprun without a
    separator, or a line that begins with the rest of another one."""
    for block in SHELL_BLOCK.findall(text):
        for line in block.replace("\\\n", " ").splitlines():
            command = re.sub(r"(^|\s)#.*", "", line)
            calls = (re.findall(r"(?:^|\s)toprun(?=\s)", part) for part in re.split(r"&&|\|\||[;|&]", command))
            if re.match(r"\s*(?:\d|--?\w)", line) or any(len(words) > 1 for words in calls):
                yield line


def absent_names(text, code, targets):
    """Files of the repository, variables, schemas and targets that are nowhere."""
    for file in re.findall(r"`((?:src|tests|tools|bench|examples|python|cmake)/[\w./-]+)`(?! in commit)", text):
        if "NAME" not in file and not list(REPOSITORY.glob(f"{file}*")):
            yield file
    for name in re.findall(r"\bTOPRUN_[A-Z_]*[A-Z]\b|\btoprun\.[a-z_]+/\d\b", text):
        if name not in code:
            yield name
    for target in re.findall(r"`(?:[A-Z_]+=\S+ )*make ([a-z][a-z0-9-]*)", text):
        if target not in targets:
            yield f"make {target}"


class Pages(support.TestCase):
    def on_each_page(self, faults):
        for page in PAGES:
            with self.subTest(page.relative_to(REPOSITORY)):
                self.assertEqual(list(faults(page, page.read_text())), [])

    def test_links(self):
        here = REPOSITORY / "docs/guides/x.md"
        self.assertEqual(list(broken_links(here, "# A `b` c\n[1](#a-b-c) [2](#a) [3](jobs.md#waiting) [4](jobs.md#x) [5](no.md)")),
                         ["#a", "jobs.md#x", "no.md"])
        self.on_each_page(broken_links)

    def test_options(self):
        folder = self.folder()
        for name in ("toprun", "torchrun"):
            (folder / name).symlink_to(pathlib.Path(support.binary()).resolve())
        table = command_lines.table_of(folder / "toprun")
        self.assertEqual(list(unknown_options(table, "`toprun logs -f --rank 3 --ranks 3`\n```\ntoprun jobs --recnt; toprun eta\n```\n")),
                         ["--recnt in: toprun jobs --recnt", "--ranks in: toprun logs -f --rank 3 --ranks 3"])
        self.on_each_page(lambda page, text: unknown_options(table, text))

    def test_commands_of_a_block_are_not_joined(self):
        lines = ["toprun topo order --nnodes 64   # prints their order toprun --nnodes", "64 train.py  # uses the same nodes",
                 "toprun jobs toprun eta", "toprun jobs && toprun eta; toprun top", "srun -N 2 \\", "  --mem 0 toprun a.py"]
        self.assertEqual(list(joined_commands("```sh\n" + "\n".join(lines) + "\n```\n")), lines[1:3])
        self.on_each_page(lambda page, text: joined_commands(text))

    def test_names(self):
        code = "".join(path.read_text(errors="replace") for folder in CODE_FOLDERS
                       for path in (REPOSITORY / folder).rglob("*") if path.suffix in (".cc", ".h", ".py", ".cmake", ".txt"))
        targets = re.search(r"(?m)^\.PHONY: (.*)$", (REPOSITORY / "Makefile").read_text())[1].split()
        self.assertEqual(list(absent_names("`apps/toprun/main.cc` `src/no.cc` TOPRUN_VENV " + "TOPRUN_NO" + "THING toprun.live/1 "
                                           "toprun.live" + "/7 `make test` `make tea`", code, targets)),
                         ["src/no.cc", "TOPRUN_NO" + "THING", "toprun.live" + "/7", "make tea"])
        self.on_each_page(lambda page, text: absent_names(text, code, targets))

    def test_readme_is_short_and_the_index_and_the_site_have_every_page(self):
        self.assertLessEqual(len((REPOSITORY / "README.md").read_text().splitlines()), README_LINES)
        docs = REPOSITORY / "docs"
        pages = {str(page.relative_to(docs)) for page in docs.rglob("*.md")} - {"README.md"}
        linked = set(re.findall(r"\]\(([\w/.-]+\.md)\)", (docs / "README.md").read_text()))
        self.assertEqual(pages - linked, set())
        site = re.findall(r": ([\w/.-]+\.md)$", (REPOSITORY / "mkdocs.yml").read_text(), re.M)
        self.assertEqual(sorted(site), sorted(pages | {"README.md"}))

    def test_the_index_of_decisions_has_each_once(self):
        internals = REPOSITORY / "docs/internals"
        listed = [(int(number), title, page) for number, title, page in re.findall(
            r"(?m)^\| (\d+) \| (.*) \| \[.*\]\(decisions/(\w+)\.md#.*\) \|$", (internals / "design.md").read_text())]
        made = [(int(number), " ".join(title.split()).rstrip(".:,;"), page.stem)
                for page in (internals / "decisions").glob("*.md")
                for number, title in re.findall(r"(?ms)^\*\*(\d+)\. (.+?)\*\*", page.read_text())]
        self.assertEqual(listed, sorted(made))
        self.assertEqual(len({number for number, _, _ in made}), len(made))

    def test_limits_of_the_store(self):
        told = dict(re.findall(r"(?m)^  (--max-\S+) .*?\(default:\s+(\w+)\)", re.sub(
            r"\n {20,}", " ", self.toprun("store", "--help").out)))
        units = {" KiB": "K", " MiB": "M", " GiB": "G", ",": ""}
        rows = re.findall(r"(?m)^\| .* \| ([^|]*) \| `(--max-\S+)` \|$", (REPOSITORY / "docs/reference/store.md").read_text())
        page = {}
        for value, option in rows:
            for unit, short in units.items():
                value = value.replace(unit, short)
            page[option] = value
        self.assertEqual(page, told)


if __name__ == "__main__":
    unittest.main()
