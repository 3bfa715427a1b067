# ctest: TIMEOUT 300
"""What tests the tests: dummies.py and dropped_options.py find the cases that cannot fail, and no others."""

import json
import pathlib
import re
import shutil
import tempfile
import unittest

import command_lines
import support

TESTS = support.REPOSITORY / "tests"
CASES = """\
import support, unittest
class Cases(support.TestCase):
    def test_reads_what_it_prints(self):
        self.assertIn("toprun", self.toprun("--version").out)
    def test_takes_success_for_work(self):
        self.assert_ok(self.toprun("--version"))
    def test_takes_failure_for_a_reason(self):
        self.assertEqual(self.toprun("--no-such-option").code, 1)
    def test_looks_at_nothing(self):
        self.toprun("--version")
    def test_waits_for_it(self):
        support.wait_until(lambda: self.toprun("--version").out, 600, "words")
    def test_of_which_one_part_notices(self):
        for words in (["--version"], ["--help"], ["--man"]):
            with self.subTest(words):
                print(*words, file=open(__file__ + ".parts", "a"))
                self.assertTrue("--version" in words or self.toprun(*words).out)
    def test_is_skipped(self):
        self.skipTest("not today")
class OfAClass(support.TestCase):
    @classmethod
    def setUpClass(cls): assert support.subprocess.run([support.binary(), "--version"], capture_output=True).stdout
    def test_it(self): pass
"""
USES = """\
import support
RANKS = ("--no-python", "sh", "-c", "echo $RANK $ROLE_NAME")
class Cases(support.TestCase):
    def setUp(self): print(self.id(), file=open(__file__ + ".ran", "a"))
    def test_counts(self):
        self.assertEqual(self.toprun("--nproc-per-node", 2, "--role", "x", *RANKS).out.count("\\n"), 2)
    def test_by_a_variable(self):
        self.assertIn("y", self.toprun(*RANKS, env={"PET_ROLE": "y", "TOPRUN_NO_PREFLIGHT": "1"}).out)
"""


class Dummies(support.TestCase):
    def play(self, text):
        file = self.folder() / "cases_test.py"
        self.file = str(file)
        file.write_text(text)
        finished = self.run_to_end("python3", "-B", TESTS / "dummies.py", "--limit", 3,
                                   str(file).removesuffix("_test.py"), limit=120)
        *self.said, self.counts = finished.out.splitlines()
        return finished

    def test_each_kind_of_case(self):
        finished = self.play(CASES)
        self.assertEqual(finished.code, 1, finished)
        self.assertEqual([line for line in self.said if "passes" in line], [
            f"cases: Cases.{name}: passes with a program that only exits with {code}" for name, code in (
                ("test_looks_at_nothing", 0), ("test_looks_at_nothing", 1),
                ("test_takes_failure_for_a_reason", 1), ("test_takes_success_for_work", 0))], finished)
        self.assertEqual([line for line in self.said if "overran" in line],
                         [f"overran with exit code {code}: cases: Cases.test_waits_for_it" for code in (0, 1)], finished)
        self.assertEqual(self.counts, "8 failed, 2 overran, 4 passed, 2 skipped: 4 wrong")
        parts = pathlib.Path(self.file + ".parts").read_text()
        self.assertEqual((parts.count("--help"), parts.count("--man")), (2, 0), "none is tried after one that fails")

    def test_nothing_is_wrong(self):
        finished = self.play(CASES.split("    def test_takes_success")[0])
        self.assertEqual((finished.code, self.counts), (0, "2 failed: 0 wrong"), finished)

    def test_a_file_that_cannot_be_read(self):
        finished = self.play("import no_such_module\n")
        self.assertEqual(finished.code, 1, finished)
        self.assertIn("cases: its cases did not come to an end with exit code 0", finished.out)


class DroppedOptions(support.TestCase):
    def test_what_is_noticed_and_what_is_not(self):
        place = self.folder()
        (place / "uses_test.py").write_text(USES)

        def run(*words):
            return self.run_to_end("python3", "-B", TESTS / "dropped_options.py", *words, "--folder", place / "made", limit=120)

        def ran():
            return (place / "uses_test.py.ran").read_text().count("\n")

        self.assert_ok(run("record", place / "uses"))
        recorded = json.loads((place / "made/record.json").read_text())[str(place / "uses")]["cases"]
        cases = {case["case"]: case for case in recorded}
        self.assertEqual({case["became"] for case in cases.values()}, {"passed"}, cases)
        self.assertEqual(len(cases["Cases.test_counts"]["calls"]), 1)
        options = ("--nproc-per-node", "--role", "PET_ROLE", "TOPRUN_NO_PREFLIGHT")
        for _ in range(2):  # the second time it says what it knows
            finished = run("drop", *options)
            self.assertEqual(finished.code, 1, finished)
            self.assertRegex(finished.out, rf"(?m)^\d/8: noticed: --nproc-per-node of run, .*: by {place}/uses: Cases.test_counts$")
            self.assertRegex(finished.out, rf"(?m)^\d/8: noticed: PET_ROLE: by {place}/uses: Cases.test_by_a_variable$")
            self.assertRegex(finished.out, r"(?m)^\d/8: not noticed: TOPRUN_NO_PREFLIGHT: 1 cases give it, 1 were tried$")
            self.assertRegex(finished.out, r"(?m)^\d/8: not noticed: --role of run, .*: 1 cases give it, 1 were tried$")
            self.assertEqual(ran(), 2 + 4 + 2)  # recorded, with a drop, and those that noticed without one
        (place / "uses_test.py").write_text(USES + "# changed\n")
        run("drop", *options)
        self.assertEqual(ran(), 2 * (2 + 4 + 2) - 2)


class Lines(support.TestCase):
    """A call without an option is what toprun itself takes for one."""

    @classmethod
    def setUpClass(cls):
        cls.place = pathlib.Path(tempfile.mkdtemp(prefix="toprun-test-"))
        cls.addClassCleanup(shutil.rmtree, cls.place)
        for name in ("toprun", "torchrun"):
            (cls.place / name).symlink_to(pathlib.Path(support.binary()).resolve())
        cls.table = command_lines.table_of(cls.place / "toprun")

    def test_options_and_the_words_that_are_left(self):
        for text, name, left in (
                ("toprun --nnodes=2 --role a s.py --role b", "--role", "toprun --nnodes=2 s.py --role b"),
                ("toprun run --nproc_per_node 2 s.py", "--nproc-per-node", "toprun run s.py"),
                ("torchrun --nproc_per 2 -m x", "--nproc-per-node", "torchrun -m x"),
                ("toprun submit -vW --follow s.py", "--wait", "toprun submit -v --follow s.py"),
                ("toprun submit -N2 -ptest s.py", "--nodes", "toprun submit -ptest s.py"),
                ("toprun --warm s.py", "--warm", "toprun s.py"),
                ("toprun --warm=torch s.py", "--warm", "toprun s.py"),
                ("toprun -e A=1 -e B=2 s.py -e C=3", "--env", "toprun s.py -e C=3"),
                ("toprun bench all_reduce -b 8 -e 1G", "--maxbytes", "toprun bench all_reduce -b 8"),
                ("toprun topo show --json --topology f --all", "--topology", "toprun topo show --json --all"),
                ("toprun bench pairs --rounds 3 -n 2", "--rounds", "toprun bench pairs -n 2"),
                ("toprun --local-ranks-filter -1 s.py", "--local-ranks-filter", "toprun s.py"),
                ("toprun -- --role", "--role", "toprun -- --role"),
                ("toprun jobs --json", "--role", "toprun jobs --json")):
            with self.subTest(text):
                line = command_lines.Line(self.table, text.split())
                uses = [use for use in self.table.uses if use.option.name == name and line.has(use)]
                self.assertEqual(" ".join(line.without(uses[0])) if uses else text, left)

    def test_the_table_has_every_option_of_the_manual(self):
        folder = self.folder()
        self.assert_ok(self.run_to_end(support.binary(), "man", "-o", folder))
        manual = "".join(page.read_text() for page in folder.iterdir()).replace("\\-", "-")
        written = {name for line in re.findall(r"(?m)^\.B (-.*)$", manual) for name in re.findall(r"--[a-z][a-z-]*", line)}
        self.assertGreater(len(written), 200)
        self.assertEqual({name for use in self.table.uses for name in use.option.names if name.startswith("--")},
                         written)


if __name__ == "__main__":
    unittest.main()
