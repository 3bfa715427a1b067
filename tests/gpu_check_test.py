# ctest: TIMEOUT 600
"""tools/gpu_check without a GPU: its rehearsal, and that a check that fails or hangs stops no other."""

import json
import os
import pathlib
import signal
import sys
import tarfile
import unittest

import support

PROGRAM = pathlib.Path(__file__).resolve().parent.parent / "tools/gpu_check"
BUDGET_S = 300
MOST_FILES = 8
NEEDS_A_GPU = {"binding", "hang-size", "hang-type", "hang-kernel", "watchdog", "ras"}
NEEDS_STAND_INS = {"bench-1", "bench-2"}  # which only builds with the tests have


class GpuCheck(support.TestCase):
    def begin_check(self, *words, python=None, toprun=support.TOPRUN):
        folder = self.folder() / "seen"
        run = self.begin(sys.executable, "-B", PROGRAM, "--toprun", toprun, "--python", python or support.python(),
                         "--rehearse", *words, folder)
        return run, folder

    def report(self, folder):
        report = json.loads((folder / "report.json").read_text())
        return report, {one["check"]: one for one in report["findings"]}

    def without_torch(self):
        python = self.folder() / "python3"
        python.write_text("#!/bin/sh\necho no torch here >&2\nexit 1\n")
        python.chmod(0o755)
        return python

    def test_the_rehearsal(self):
        run, folder = self.begin_check("--budget", str(BUDGET_S))
        done = run.wait(BUDGET_S + 60)
        report, found = self.report(folder)
        differs = [one for one in found.values() if one["verdict"] == "differs"]
        self.assertEqual(done.code, 0, f"{differs}\n{done}\n{(folder / 'report.md').read_text()}")
        self.assertEqual(report["counts"]["differs"], 0)
        not_run = {name for name, one in found.items() if one["verdict"] == "not run"}
        self.assertLessEqual(not_run, NEEDS_A_GPU | NEEDS_STAND_INS, report)
        self.assertLessEqual(NEEDS_A_GPU, not_run)
        for name in not_run:
            self.assertTrue(found[name]["seen"], name)  # says why
        hangs = [name for name in found if name.startswith("hang-")]
        self.assertEqual(len(hangs), 12)
        for name in set(hangs) - NEEDS_A_GPU:
            self.assertEqual(found[name]["verdict"], "ok", found[name])
        self.assertLess(len(list(folder.iterdir())), MOST_FILES)
        with tarfile.open(folder / "evidence.tar.gz") as archive:
            self.assertIn("hang-sleeps/report.json", archive.getnames())
        self.assert_nothing_left(run)

    def test_a_program_that_fails_is_named_and_the_rest_goes_on(self):
        wrapper = self.folder() / "toprun"
        wrapper.write_text(f'#!/bin/sh\n[ "$1" != doctor ] || exit 9\nexec {support.TOPRUN} "$@"\n')
        wrapper.chmod(0o755)
        run, folder = self.begin_check("--only", "doctor,count", toprun=wrapper)
        done = run.wait(60)
        report, found = self.report(folder)
        self.assertEqual(done.code, 1, done)
        self.assertEqual({name: one["verdict"] for name, one in found.items()}, {"doctor": "differs", "count": "ok"})

    def test_a_program_that_hangs_costs_its_limit_and_leaves_nothing(self):
        wrapper = self.folder() / "toprun"
        wrapper.write_text("#!/bin/sh\ntrap '' TERM\n[ \"$1\" != version ] || exit 0\nsleep 600 &\nwait\nwait\n")
        wrapper.chmod(0o755)
        run, folder = self.begin_check("--only", "count,doctor", "--budget", "8", python=self.without_torch(),
                                       toprun=wrapper)
        done = run.wait(120)
        report, found = self.report(folder)
        self.assertEqual(done.code, 1, done)
        self.assertEqual(found["count"]["verdict"], "differs")
        self.assertEqual(found["doctor"]["verdict"], "not run")
        self.assert_nothing_left(run)

    def test_ended_early_it_writes_what_it_knows(self):
        run, folder = self.begin_check("--only", "count,terminated,stacks")
        run.says("count: ok")
        run.signal(signal.SIGTERM)
        run.wait(90)
        report, found = self.report(folder)
        self.assertEqual(found["count"]["verdict"], "ok")
        self.assertEqual(len(found), 3)
        self.assertNotEqual(found["stacks"]["verdict"], "ok")
        self.assert_nothing_left(run)

    def test_without_torch_it_says_so_and_does_the_rest(self):
        python = self.without_torch()
        run, folder = self.begin_check("--only", "count,ddp-1", python=python)
        done = run.wait(60)
        report, found = self.report(folder)
        self.assertEqual(done.code, 0, done)
        self.assertEqual(found["count"]["verdict"], "ok")
        self.assertEqual(found["ddp-1"]["seen"], f"no Python with torch: {python}: no torch here")

    def test_a_program_may_be_named_from_the_current_folder(self):
        run, folder = self.begin_check("--only", "killed", toprun=os.path.relpath(support.TOPRUN),
                                       python=os.path.relpath(support.python()))
        done = run.wait(60)
        _, found = self.report(folder)
        self.assertEqual((done.code, found["killed"]["verdict"]), (0, "ok"), found)

    def test_no_program(self):
        run, _ = self.begin_check(toprun="/nowhere/toprun")
        done = run.wait(30)
        self.assertEqual(done.code, 2)
        self.assertIn("gpu_check: /nowhere/toprun is not a program", done.err)


if __name__ == "__main__":
    unittest.main()
