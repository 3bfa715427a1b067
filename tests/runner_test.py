# ctest: TIMEOUT 120
"""The runner of all tests: what it counts, and that nothing which was not tried looks like a success."""

import os
import sys

import support

TESTS = support.REPOSITORY / "tests"
GOOD = "sh -c [[echo 'PASS: A.b (0.1 s)']]"
GTEST = """\
[==========] Running 3 tests from 1 test suite.
[ RUN      ] Room.works
[       OK ] Room.works (0 ms)
[ RUN      ] Room.waits
file.cc:3: Skipped
no such device
[  SKIPPED ] Room.waits (0 ms)
[ RUN      ] Room.fails
[  FAILED  ] Room.fails (0 ms)
[  FAILED  ] 1 test, listed below:
[  FAILED  ] Room.fails
"""
KINDS_OF_CASES = """\
import unittest
class Works(unittest.TestCase):
    def test_a(self): pass
    def test_b(self): self.skipTest("not today")
class Skipped(unittest.TestCase):
    @classmethod
    def setUpClass(cls): raise unittest.SkipTest("no machine")
    def test_a(self): pass
    def test_b(self): pass
    def test_c(self): pass
class Parts(unittest.TestCase):
    def test_each(self):
        with self.subTest(1): self.fail("first")
        with self.subTest(2): raise ValueError("second")
class Broken(Works):
    @classmethod
    def setUpClass(cls): raise ValueError("no cluster")
"""


class Run(support.TestCase):
    """Folders as CMake makes them, with programs of which each does one thing."""

    def run_py(self, **programs):
        """Of programs by name, each the words of CMake's add_test()."""
        folder = self.folder()
        lines = []
        for name, words in programs.items():
            command, _, properties = words.partition(" PROPERTIES ")
            lines.append(f"add_test({name} {command})")
            if properties:
                lines.append(f"set_tests_properties({name} PROPERTIES {properties})")
        (folder / "CTestTestfile.cmake").write_text("\n".join(lines) + "\n")
        finished = self.run_to_end("python3", "-B", TESTS / "run.py", folder)
        *self.said, self.counts = finished.out.splitlines()
        return finished

    def assert_counts(self, counts, **programs):
        finished = self.run_py(**programs)
        self.assertEqual(self.counts, counts, finished)
        self.assertEqual(finished.code, int(" 0 failed" not in counts), finished)

    def assert_fails(self, why, **programs):
        """With one more that passes: a failure is that of a single program."""
        self.assert_counts("1 passed, 1 failed, 0 skipped", good=GOOD, **programs)
        name, = programs
        self.assertRegex("\n".join(self.said), rf"(?m)^failed: /\S+ {name}: {why}$")

    def test_counts_cases_of_both_kinds_of_programs(self):
        gtest = f"printf [==[%s]==] [==[{GTEST}]==]"
        self.assert_counts("2 passed, 1 failed, 1 skipped", good=GOOD, gtest=gtest)
        self.assertTrue([line for line in self.said if line.endswith("gtest: Room.waits: no such device")], self.said)

    def test_all_is_well(self):
        self.assert_counts("2 passed, 0 failed, 0 skipped", good=GOOD, better=GOOD)

    def test_a_program_that_is_missing(self):
        self.assert_fails("Unable to find executable", missing="/no/such/program")

    def test_a_file_that_is_missing(self):
        self.assert_fails("Required Files Missing", missing="true PROPERTIES REQUIRED_FILES /no/such")

    def test_a_program_that_reports_no_case(self):
        self.assert_fails("it reported no case", silent="true")

    def test_a_program_that_is_not_to_run(self):
        self.assert_fails("it reported no case", disabled="true PROPERTIES DISABLED TRUE")

    def test_a_program_that_crashes_between_cases(self):
        self.assert_counts("1 passed, 1 failed, 0 skipped", crash="sh -c [[echo 'PASS: A.b'; kill -9 $$]]")

    def test_a_program_that_does_not_end(self):
        self.assert_fails("its program failed", late="sleep 60 PROPERTIES TIMEOUT 1")

    def test_a_program_whose_cases_are_all_skipped(self):
        self.assert_counts("1 passed, 0 failed, 1 skipped", good=GOOD,
                           skips="sh -c [[echo 'SKIP: A.b: why'; exit 77]] PROPERTIES SKIP_RETURN_CODE 77")

    def test_skips_without_a_case(self):
        self.assert_fails("SKIP_RETURN_CODE=77", skips="sh -c [[exit 77]] PROPERTIES SKIP_RETURN_CODE 77")

    def test_no_test_at_all(self):
        self.run_py()
        self.assertEqual(self.counts, "0 passed, 1 failed, 0 skipped")

    def test_what_ctest_itself_says(self):
        """A report in which all is well does not outweigh ctest's exit code."""
        folder, stand_in = self.folder(), self.folder()
        (stand_in / "ctest").write_text(
            "#!/bin/sh\necho '<testsuite><testcase name=\"a\" status=\"run\"><system-out>PASS: A.b\n"
            f"</system-out></testcase></testsuite>' >{folder}/tests.xml\nexit 8\n")
        (stand_in / "ctest").chmod(0o755)
        finished = self.run_to_end("python3", "-B", TESTS / "run.py", folder,
                                   env={"PATH": f"{stand_in}:{os.environ['PATH']}"})
        self.assertEqual(finished.out.splitlines()[-1], "1 passed, 1 failed, 0 skipped", finished)
        self.assertIn(f"failed: {folder} ctest: it ended with 8, though no test failed\n", finished.out)
        self.assertEqual(finished.code, 1)


class Report(support.TestCase):
    def report(self, text, *names, env=None):
        file = self.folder() / "cases_test.py"
        file.write_text(text)
        return self.run_to_end(sys.executable, "-B", TESTS / "report.py", file, *names,
                               env={"PYTHONPATH": str(TESTS), **(env or {})})

    def lines(self, finished):
        return [line for line in finished.out.splitlines() if line[:4] in ("PASS", "SKIP", "FAIL")]

    def test_each_case_of_a_class_that_cannot_begin(self):
        finished = self.report(KINDS_OF_CASES, "Works", "Skipped", "Broken")
        self.assertEqual(finished.code, 1, finished)
        passed, *others = self.lines(finished)
        self.assertRegex(passed, r"^PASS: Works.test_a \(")
        self.assertEqual(others, [
            "SKIP: Works.test_b: not today", *(f"SKIP: Skipped.test_{name}: no machine" for name in "abc"),
            "FAIL: Broken.test_a", "FAIL: Broken.test_b: as the one before"])

    def test_the_reason_of_each_part(self):
        finished = self.report(KINDS_OF_CASES, "Parts")
        self.assertRegex(finished.out, r"(?s)FAIL: Parts.test_each \[1\]\n.*Error: first\n.*"
                                       r"FAIL: Parts.test_each \[2\]\n.*ValueError: second\n")

    def test_nothing_but_skips(self):
        finished = self.report(KINDS_OF_CASES, "Skipped")
        self.assertEqual((finished.code, len(self.lines(finished))), (77, 3), finished)

    def test_a_case_that_is_not_there(self):
        finished = self.report(KINDS_OF_CASES, "Works.test_z")
        self.assertEqual(finished.code, 1)
        self.assertRegex("".join(self.lines(finished)), "^FAIL: .*test_z")

    def test_a_toprun_that_is_not_there(self):
        finished = self.report("import support\nclass Case(support.TestCase):\n"
                               "    def test_it(self): self.toprun('--version')\n", env={"TOPRUN": "/no/such/toprun"})
        self.assertEqual(finished.code, 1, finished)
        self.assertEqual(self.lines(finished), ["FAIL: Case.test_it"])


if __name__ == "__main__":
    import unittest
    unittest.main()
