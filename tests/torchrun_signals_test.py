# ctest: TIMEOUT 180 LABELS torch
"""Signals under the name torchrun, beside PyTorch's own: what a run that is told to end comes to."""

import signal
import unittest

import support

LIMIT_S = 60
# Each rank saves what it has and ends with 0.
SAVES = """
import os, signal, sys, time
for number in (signal.SIGTERM, signal.SIGINT):
    signal.signal(number, lambda *_: sys.exit(0))
open(os.environ["READY"] + "/" + os.environ["RANK"], "w")
time.sleep(300)
"""
# A rank that is told nothing ends by itself, once the test has seen enough.
WAITS = """
import os, sys, time
open(os.environ["READY"] + "/" + os.environ["RANK"], "w")
try:
    while not os.path.exists(os.environ["READY"] + "/end"):
        time.sleep(0.05)
except KeyboardInterrupt:
    sys.exit(7)
"""


class Told(support.TestCase):
    def setUp(self):
        self.here, self.ready = self.folder(), self.folder()
        self.torchrun = self.here / "torchrun"
        self.torchrun.symlink_to(support.binary())

    def start(self, launcher, script, *flags):
        path = self.here / "script.py"
        path.write_text(script)
        run = self.begin(*launcher, "--nproc-per-node", 2, *flags, path,
                         env={**support.without_torch(), "READY": str(self.ready)})
        support.wait_for_files(self.ready, 2)
        return run

    def code_after(self, number, launcher):
        run = self.start(launcher, SAVES)
        run.signal(number)
        code = run.wait(LIMIT_S).code
        for path in self.ready.iterdir():
            path.unlink()
        return code

    def test_a_run_that_was_told_to_end_is_not_a_good_one(self):
        for number in (signal.SIGTERM, signal.SIGINT):
            with self.subTest(number):
                self.assertEqual(self.code_after(number, [self.torchrun]), 1)

    def test_torchrun_says_so_too(self):
        self.assertEqual(self.code_after(signal.SIGTERM, support.torchrun()), 1)

    def test_under_its_own_name_it_is(self):
        self.assertEqual(self.code_after(signal.SIGTERM, [support.binary()]), 0)

    # As a shell without job control starts `torchrun … &`.
    def in_the_background(self):
        return ["sh", "-c", "trap '' INT; exec \"$@\"", "sh", self.torchrun]

    def test_an_ignored_sigint_stays_so(self):
        run = self.start(self.in_the_background(), WAITS)
        run.signal(signal.SIGINT)
        (self.ready / "end").touch()
        self.assert_ok(run.wait(LIMIT_S))

    def test_unless_it_is_named(self):
        run = self.start(self.in_the_background(), WAITS, "--signals-to-handle", "SIGINT")
        run.signal(signal.SIGINT)
        finished = run.wait(LIMIT_S)
        self.assertEqual(finished.code, 130, finished)


if __name__ == "__main__":
    unittest.main()
