# ctest: TIMEOUT 200
"""toprun where the kernel is of 2018: calls that came later fail with ENOSYS, for toprun and its ranks (older_kernel.py)."""

import os
import pathlib
import signal
import sys
import unittest

import support

OLDER = pathlib.Path(__file__).with_name("older_kernel.py")
WORKS = [sys.executable, "-B", OLDER, "true"]
CALLS = "import os\ntry: os.pidfd_open(os.getpid())\nexcept OSError as error: print(error.strerror)"


class OlderKernel(support.TestCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        if support.Run(WORKS).wait(20).code != 0:
            raise unittest.SkipTest("this machine allows no filter of system calls")

    def older(self, *words, **options):
        return self.begin(sys.executable, "-B", OLDER, support.TOPRUN, *words, **options)

    def test_calls_are_missing(self):
        said = self.begin(sys.executable, "-B", OLDER, sys.executable, "-c", CALLS).wait(20)
        self.assertEqual(said.out, "Function not implemented\n")

    def test_a_run_and_its_exit_code(self):
        done = self.older("--nproc-per-node", "4", "--no-python", "sh", "-c", "echo rank $RANK; ls /proc/$$/fd").wait(30)
        self.assert_ok(done)
        self.assertEqual(sorted(set(done.out.split()) - {"rank"}), ["0", "1", "2", "3"])  # ranks, and the same descriptors
        failed = self.older("--nproc-per-node", "2", "--no-python", "sh", "-c", "test $RANK = 0 || exit 7; sleep 30").wait(30)
        self.assertEqual(failed.code, 7)

    def test_forks_that_toprun_could_not_adopt(self):
        """Their exits would not reach toprun: a fork that ended at once was reported as a success."""
        folder = self.folder()
        script = folder / "rank.py"
        script.write_text("import os, pathlib, time\n"
                          "rank, all = os.environ['RANK'], pathlib.Path(__file__).parent\n"
                          "print('rank', rank, flush=True)\n"
                          "(all / rank).touch()\n"
                          "while not ((all / '0').exists() and (all / '1').exists()): time.sleep(0.01)\n"
                          "os._exit(int(rank))\n")
        done = self.begin(sys.executable, "-B", OLDER, "--no-subreaper", support.TOPRUN, "--warm", "--nproc-per-node", "2",
                          script).wait(60)
        self.assertEqual((done.code, sorted(done.out.split())), (1, ["0", "1", "rank", "rank"]), done)
        self.assertIn("--warm is left out on ", done.err)
        self.assertIn("PR_SET_CHILD_SUBREAPER", done.err)

    def test_a_signal_ends_all(self):
        up = self.folder()
        run = self.older("--nproc-per-node", "2", "--no-python", "sh", "-c", f"touch {up}/$RANK; exec sleep 60")
        support.wait_for_files(up, 2)
        run.process.send_signal(signal.SIGTERM)
        run.wait(30)
        self.assert_nothing_left(run)

    def test_a_program_that_answers_nothing_is_waited_for_until_its_limit(self):
        """scontrol closes its output and goes on: without pidfd_open the wait for its end had no limit."""
        folder = self.folder()
        (folder / "scontrol").write_text("#!/bin/sh\nexec >&- 2>&-\nexec sleep 100\n")
        (folder / "scontrol").chmod(0o755)
        done = self.older("status", "7", env={"PATH": f"{folder}:{os.environ['PATH']}", "TOPRUN_ON": "slurm",
                                              "TOPRUN_ENGINE_TIMEOUT": "2"}).wait(60)
        self.assertIn("still running after 2", done.err)


if __name__ == "__main__":
    unittest.main()
