"""The rules of tools/language.py: what each finds and what it leaves alone, where it looks, and that tools/lint asks it."""

import re
import shutil
import subprocess
import sys
import unittest
import unittest.mock

import support

sys.path.insert(0, str(support.REPOSITORY / "tools"))
import language  # noqa: E402

# rule: (what breaks it, what does not)
CASES = {
    "is no": [
        ("toprun.toml is no file", "toprun.toml is not a file"),
        ("they are no folders", "there are no folders"),
        ("\\\"x\\\" is no {}", "the job is no longer there"),
        ("racks are no more than names, and this is no level", "the figure is no better, there is no port"),
    ],
    "is none": [
        ("its kind is none", "it has an invalid kind"),
        ("a file whose end is none", "there is none"),
    ],
    "there are": [
        ("there are {}", "choose one of: {}"),
        ("there are {}, or a file", "there are {} nodes"),
        ("there are {} and {}", "there are {} and {} nodes"),
        ("there are ", "how many there are"),
    ],
    "in place of": [("plain sockets in place of the plugin", "plain sockets instead of the plugin")],
    "anew": [("build it anew", "build it again")],
    "of which": [
        ("images, of which none is here", "images, but none is here"),
        ("the user of whom it is", "the user whose it is"),
    ],
    "is told": [
        ("this node was told to end", "the engine told this node to end"),
        ("what NCCL is told", "the two cannot be told apart, nor be told from a third"),
    ],
    "somebody": [
        ("somebody else holds the port", "another program holds the port"),
        ("Nobody listens there", "no process listens there"),
        ("whoever knows the id may join", "anyone who knows the id may join"),
        ("everybody may write to it", "every user may write to it"),
    ],
    "either": [
        ("either decides the order", "both decide the order"),
        ("the two options: either names the hosts", "either names or numbers, the nearer that either reaches"),
    ],
    "who": [
        ("who failed first", "which rank failed first"),
        ("Who pays", "users who pay"),
        ("Whose job it is", "a file whose name is wrong"),
        ("check who may read it", "anyone who may read it, and those who may not"),
        ("nodes who come late", "another user, who could change it"),
    ],
}


def broken(kind, words):
    return {name for _, name in language.broken(kind, words)}


def found(name, text):
    texts = language.texts_of_page(text) if name.endswith(".md") else language.texts_of_source(text, name.endswith(".h"))
    return [line.split(": ")[0] for line in language.look_at(name, texts, set())]


class Rules(unittest.TestCase):
    def test_each_rule_has_cases(self):
        self.assertEqual(CASES.keys(), language.RULES.keys())

    def test_each_finds_what_it_is_for_and_nothing_else(self):
        for name, cases in CASES.items():
            for bad, good in cases:
                with self.subTest(bad):
                    self.assertIn(name, broken(language.MESSAGE, bad))
                with self.subTest(good):
                    self.assertNotIn(name, broken(language.MESSAGE, good))

    def test_a_rule_looks_at_its_kinds_only(self):
        self.assertIn("who", broken(language.MESSAGE, "who failed"))
        self.assertEqual(broken(language.PAGE, "who failed"), set())
        self.assertIn("who", broken(language.NOTE, "who failed"))
        self.assertEqual(broken(language.NOTE, "there are {}"), set())


class Places(unittest.TestCase):
    def test_messages_and_comments(self):
        text = '#include "is no file.h"\nf("it is "\n  "no file");  // it is no file\nint of = 1\'000; g(\'"\', "anew");\n'
        self.assertEqual(found("src/a/b.cc", text), ["src/a/b.cc:2", "src/a/b.cc:3", "src/a/b.cc:4"])
        self.assertEqual(found("src/a/b.h", text), ["src/a/b.h:2", "src/a/b.h:3", "src/a/b.h:4"])

    def test_a_phrase_that_goes_on_in_the_next_line(self):
        self.assertEqual(found("src/a.h", "// This is\n// no file.\nint a;  // That is\nint no;  // no file\n"), ["src/a.h:1"])
        self.assertEqual(found("a.md", "Words\nin\nplace of others\n\nin\n\nplace of\n"), ["a.md:2"])

    def test_raw_strings(self):
        self.assertEqual(found("src/a.cc", 'f(R"(# it\nis no file)");'), ["src/a.cc:1"])

    def test_code_on_a_page_is_left_alone(self):
        self.assertEqual(found("a.md", "`it is no file` and\n\n```sh\nit is no file\n```\nbut it is no file\n"), ["a.md:6"])

    def test_an_exception_excuses_its_words_and_has_to_be_needed(self):
        with unittest.mock.patch.dict(language.EXCEPTIONS, {("a.md", "is no file"): "…"}, clear=True):
            self.assertEqual(found("a.md", "it is no file"), [])
            self.assertEqual(found("b.md", "it is no file"), ["b.md:1"])
            self.assertIn("breaks no rule", " ".join(language.check(support.REPOSITORY, [])))


class Lint(support.TestCase):
    """tools/lint in a repository of its own."""

    def test_it_applies_the_rules_and_looks_at_the_subjects_of_new_commits(self):
        folder = self.folder()
        (folder / "tools").mkdir()
        for name in ("lint", "language.py"):
            shutil.copy(support.REPOSITORY / "tools" / name, folder / "tools")
        (folder / "README.md").write_text("# Words\n\nThis is no page.\n")
        git = ["git", "-C", folder, "-c", "user.name=n", "-c", "user.email=e"]
        subprocess.run([*git, "init", "-q"], check=True)
        subprocess.run([*git, "add", "."], check=True)
        for subject in ("docs: a page", "docs: SSH, too", "Docs: Another page", "docs: " + "a" * 70):
            subprocess.run([*git, "commit", "-q", "--allow-empty", "-m", subject], check=True)
        done = subprocess.run([folder / "tools/lint"], capture_output=True, text=True, timeout=60)
        self.assertEqual(done.returncode, 1, done)
        self.assertIn("README.md:3: “This is no page.”: ", done.stdout)
        self.assertEqual(re.findall(r"(?m)^[0-9a-f]+: “(\w+: \w{7})", done.stdout), ["docs: aaaaaaa", "Docs: Another"])


if __name__ == "__main__":
    unittest.main()
