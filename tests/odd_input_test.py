# ctest: TIMEOUT 180 EMULATED
"""What a launcher meets once in a long life: odd names, huge and strange files, many ranks."""

import os
import resource
import shutil
import time
import unittest

import support

SH = ["--no-python", "sh", "-c"]
ODD_NAMES = [b"with space.py", b"quote'\".py", b"new\nline.py", b"not \xff\xfe UTF-8.py", b"$(x);&.py",
             "schön ✓.py".encode()]
RANKS = 1000
ENVIRONMENT_BYTES = 1 << 20
STRING_BYTES = 100_000  # the kernel's limit for one is 128 KiB
ERROR_FILE = """\
import os, sys
path = os.environ["TORCHELASTIC_ERROR_FILE"]
how = sys.argv[1]
if how == "huge":
    with open(path, "w") as file:
        file.write('{"message": {"message": "')
        for _ in range(300):
            file.write("x" * (1 << 20))
        file.write('"}}')
elif how == "link":
    os.symlink("/etc/passwd", path)
elif how == "device":
    os.symlink("/dev/zero", path)
elif how == "pipe":
    os.mkfifo(path)
else:
    with open(path, "w") as file:
        file.write(how)
sys.exit(4)
"""


class Names(support.TestCase):
    def test_scripts(self):
        folder = os.fsencode(self.folder())
        for name in ODD_NAMES:
            with self.subTest(name):
                path = os.path.join(folder, name)
                with open(path, "w") as file:
                    file.write("import os, sys\nprint(os.fsencode(sys.argv[0]).hex())\n")
                finished = self.toprun(os.fsdecode(path), env=support.without_torch())
                self.assert_ok(finished)
                self.assertEqual(finished.out, path.hex() + "\n")
                missing = self.toprun(os.fsdecode(path) + ".no", env=support.without_torch())
                self.assertEqual(missing.code, 2)
                self.assertEqual(missing.err.count("\n"), 1, missing)  # no name breaks a line

    def test_roles_and_run_ids(self):
        for name in ("a/b", "..", "x" * 10_000, "ü\n"):
            with self.subTest(name[:20]):
                logs = self.folder()
                finished = self.toprun("--role", name, "--rdzv-id", name, "--log-dir", logs, "--tee",
                                       1, *SH, "echo x")
                self.assert_ok(finished)
                self.assertEqual([path.read_text() for path in logs.rglob("stdout.log")], ["x\n"])


class ErrorFiles(support.TestCase):
    def test_strange_ones_change_nothing(self):
        script = self.folder() / "fails.py"
        script.write_text(ERROR_FILE)
        for how in ("huge", "link", "device", "pipe", "", "not JSON", "[]", '"text"', '{"message": 1}',
                    '{"message": {"message": null}}', "[" * 100_000):
            with self.subTest(how[:20]):
                finished = self.toprun(script, how, env=support.without_torch(), limit=30)
                self.assertEqual(finished.code, 4, finished)
                self.assertIn("ended with exit code 4", finished.err)
                self.assertLess(len(finished.err), 20_000)
                self.assertNotIn("root:", finished.err)


class Sizes(support.TestCase):
    def test_a_thousand_ranks(self):
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        if hard < 4 * RANKS:
            self.skipTest(f"needs {4 * RANKS} open files, {hard} are allowed")
        finished = self.toprun("--nproc-per-node", RANKS, *SH, "echo $RANK", limit=120,
                               env={"OMP_NUM_THREADS": "1"})
        self.assert_ok(finished)
        self.assertEqual(sorted(map(int, finished.out.split())), list(range(RANKS)))

    def test_a_thousand_ranks_of_which_one_fails(self):
        finished = self.toprun("--nproc-per-node", RANKS, *SH,
                               "[ $RANK = 777 ] && exit 9; exec sleep 60", limit=120,
                               env={"OMP_NUM_THREADS": "1"})
        self.assertEqual(finished.code, 9, finished.err[-2000:])
        self.assertRegex(finished.err, r"rank 777 on \S+ ended with exit code 9\n")
        self.assertLessEqual(finished.err.count("\n"), 26)

    def test_an_environment_of_a_mebibyte(self):
        strings = {f"LARGE_{i}": "x" * STRING_BYTES
                   for i in range(ENVIRONMENT_BYTES // STRING_BYTES + 1)}
        finished = self.toprun("--nproc-per-node", 2, *SH, "env | wc -c", env=strings)
        self.assert_ok(finished)
        sizes = [int(size) for size in finished.out.split()]
        self.assertEqual([size > ENVIRONMENT_BYTES for size in sizes], [True, True], sizes)


class LogFolder(support.TestCase):
    def test_is_removed_while_the_job_runs(self):
        logs = self.folder()
        run = self.begin(support.binary(), "--log-dir", logs, "--tee", 3, "--max-restarts", 1, *SH,
                         f"echo $TOPRUN_ATTEMPT; [ $TOPRUN_ATTEMPT = 0 ] || exit 0; "
                         f"while [ -e {logs} ]; do sleep 0.05; done; echo on; exit 5")
        support.wait_until(lambda: list(logs.rglob("stdout.log")), 20, "a log file")
        time.sleep(0.2)
        shutil.rmtree(logs)
        finished = run.wait(30)
        self.assert_ok(finished)
        self.assertEqual(finished.out.split(), ["[default0]:0", "[default0]:on", "[default0]:1"])


if __name__ == "__main__":
    unittest.main()
