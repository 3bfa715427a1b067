# ctest: TIMEOUT 300
"""--prefetch: what ranks import is recorded by one run and read into the page cache by later ones."""

import ctypes
import json
import mmap
import os
import re
import subprocess
import unittest

import support

LIMIT_S = 120
ON_A_DISK = "/var/tmp"  # what is in memory cannot be taken out of the page cache

# Its ranks come to the store, and end when there is a record, or a file that says so.
WAITS = """
import glob, os, sys, time
import torch.distributed as dist
dist.init_process_group("gloo")
dist.barrier()  # Gloo's start is over on every rank: none may end before
while len(glob.glob(sys.argv[1])) < int(*sys.argv[2:] or "1"):
    time.sleep(0.05)
dist.destroy_process_group()
"""
PLAIN = "import os; print('rank', os.environ['RANK'])"


def forget(path):
    """Takes the file out of the page cache, if that can be."""
    file = os.open(path, os.O_RDONLY)
    os.fsync(file)  # what is not written yet stays
    os.posix_fadvise(file, 0, 0, os.POSIX_FADV_DONTNEED)
    os.close(file)


def cached_share(path):
    """How much of it is in the page cache, as mincore(2) tells: 0 to 1."""
    libc = ctypes.CDLL(None, use_errno=True)
    libc.mmap.restype = ctypes.c_void_p
    libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]
    libc.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
    libc.mincore.argtypes = [*libc.munmap.argtypes, ctypes.c_char_p]
    with open(path, "rb") as file:
        size = os.fstat(file.fileno()).st_size
        at = libc.mmap(None, size, mmap.PROT_READ, mmap.MAP_SHARED, file.fileno(), 0)
    pages = ctypes.create_string_buffer(-(-size // mmap.PAGESIZE))
    told = libc.mincore(at, size, pages)
    libc.munmap(at, size)
    assert told == 0, os.strerror(ctypes.get_errno())
    return sum(page & 1 for page in pages.raw) / len(pages)


class Prefetch(support.TestCase):
    def setUp(self):
        self.path = self.folder(within=ON_A_DISK)
        self.cache = self.path / "cache"
        self.modules = self.path / "modules"
        self.modules.mkdir()
        (self.path / "waits.py").write_text(WAITS)
        (self.path / "plain.py").write_text(PLAIN)

    def words(self, *more, env=None, python=None):
        return {"argv": (support.binary(), "--nproc-per-node", 2, *more), "cwd": self.path, "env": {
            "PYTHON_EXEC": python or support.python(), "OMP_NUM_THREADS": "1", "PYTHONPATH": str(self.modules),
            "XDG_CACHE_HOME": str(self.cache), **(env or {})}}

    def launch(self, *more, **how):
        words = self.words(*more, **how)
        return self.run_to_end(*words.pop("argv"), limit=LIMIT_S, **words)

    def records(self):
        return sorted((self.cache / "toprun/prefetch").glob("*.files"))

    def record(self, module="odd", text="x = 1\n"):
        """Has a run make a record of this module; returns its path and what the run said."""
        (self.modules / f"{module}.py").write_text(text)
        subprocess.run([support.python(), "-m", "compileall", "-q", self.modules], check=True)
        finished = self.launch(f"--prefetch={module}", "waits.py", f"{self.cache}/toprun/prefetch/*.files")
        self.assert_ok(finished)
        path, = self.records()
        return path, finished


class Records(Prefetch):
    def test_what_one_run_records_later_runs_read(self):
        large = "x = '" + "x" * 3_000_000 + "'\n"
        path, finished = self.record(text=large)
        self.assertNotIn("prefetch", finished.err)
        self.assertEqual(path.parent.stat().st_mode & 0o777, 0o700)
        lines = re.findall(r"(?m)^(whole|look|part \d+ \d+) (.*)$", path.read_text())
        files = {name: kind for kind, name in lines}
        compiled, = (name for name in files if name.startswith(str(self.modules)) and name.endswith(".pyc"))
        self.assertEqual(files[compiled], "whole")
        self.assertEqual(files[str(self.modules / "odd.py")], "look")
        self.assertTrue(any(kind.startswith("part") for kind in files.values()), "parts of libraries")
        self.assertNotIn(str(self.path / "waits.py"), files)

        # Parts have small holes that no import has read, and the kernel may have dropped something: one run may read.
        for _ in range(5):
            again = self.launch("-v", "--prefetch=odd", "plain.py")
            if "nothing to read" in again.err:
                break
        self.assertRegex(again.err, r"--prefetch on \S+ has nothing to read: all is in the page cache")
        self.assertEqual(self.records(), [path])
        report = self.path / "report.json"
        for _ in range(3):  # the kernel may drop at any time what a run has read
            for name in filter(os.path.isfile, files):
                forget(name)
            if cached_share(compiled) > 0.5:
                self.skipTest("files of this folder are in memory")
            cold = self.launch("-v", "--prefetch=odd", "--report", report, "waits.py", path)
            self.assert_ok(cold)
            self.assertRegex(cold.err, r"--prefetch on \S+ read \d+ MiB of \d+ files? in \d+\.\d s")
            # A page that was in use when it was to be forgotten may be forgotten later.
            if (share := cached_share(compiled)) > 0.9:
                break
        self.assertGreater(share, 0.9, f"no rank has imported it: {cold}")
        attempt, = json.loads(report.read_text())["attempts"]
        self.assertEqual(attempt["slowest"]["prefetch"]["counted"], 1)

    def test_another_environment_has_a_record_of_its_own(self):
        self.record()
        python = self.path / "other/bin/python"
        python.parent.mkdir(parents=True)
        python.write_text(f"#!/bin/sh\nexec {support.python()} \"$@\"\n")
        python.chmod(0o755)
        finished = self.launch("--prefetch=odd", "waits.py", f"{self.cache}/toprun/prefetch/*.files", "2",
                               python=str(python))
        self.assert_ok(finished)
        self.assertEqual(len(self.records()), 2)


class BadInput(Prefetch):
    """None of it ends a job or keeps it waiting."""

    def assert_runs(self, finished, said=None):
        self.assert_ok(finished)
        self.assertEqual(sorted(finished.out.splitlines()), ["rank 0", "rank 1"], finished)
        lines = [line for line in finished.err.splitlines() if "prefetch" in line]
        if said is None:
            self.assertEqual(lines, [], finished)
        else:
            self.assertEqual(len(lines), 1, finished)
            self.assertRegex(lines[0], rf"\Atoprun: --prefetch on \S+ {said}")

    def test_a_record_that_is_cut_off_is_made_anew(self):
        path, _ = self.record()
        whole = path.read_text()
        path.write_text(whole[:len(whole) // 2])
        done = self.path / "done"
        words = self.words("--prefetch=odd", "waits.py", done)
        run = self.begin(*words.pop("argv"), **words)
        support.wait_until(lambda: len(path.read_text()) > len(whole) // 2, LIMIT_S, "a new record")
        done.touch()
        finished = run.wait(LIMIT_S)
        self.assert_ok(finished)
        self.assertNotIn("prefetch", finished.err)
        self.assertTrue(path.read_text().endswith("\nend\n"))

    def test_a_record_of_files_that_are_gone_or_elsewhere(self):
        path, _ = self.record()
        os.mkfifo(self.path / "pipe")
        for lines in ("whole /no/such/file\npart 0 4096 /no/such.so", f"whole {self.path}/pipe", "whole /dev/zero",
                      "whole /v/../../etc/passwd", "whole relative"):
            with self.subTest(lines):
                path.write_text(f"toprun prefetch 1\n{lines}\nend\n")
                self.assert_runs(self.launch("--prefetch=odd", "plain.py"))

    def test_a_folder_of_somebody_else(self):
        path, _ = self.record()
        path.parent.chmod(0o777)
        self.assert_runs(self.launch("--prefetch=odd", "plain.py"), r"is left out: .*every user may write to it")
        if os.geteuid() == 0:
            path.parent.chmod(0o700)
            os.chown(path.parent, 4711, 4711)
            self.assert_runs(self.launch("--prefetch=odd", "plain.py"), "is left out: .*it belongs to user 4711")

    def test_a_folder_that_cannot_be_written(self):
        self.cache.write_text("a file in its place")
        (self.modules / "odd.py").write_text("x = 1\n")
        done = self.path / "done"
        run = self.begin(*(words := self.words("--prefetch=odd", "waits.py", done)).pop("argv"), **words)
        run.says(r"--prefetch on \S+ (cannot record what imports read|is left out): ", LIMIT_S)
        done.touch()
        self.assert_ok(run.wait(LIMIT_S))

    def test_modules_that_cannot_be_imported(self):
        done = self.path / "done"
        run = self.begin(*(words := self.words("--prefetch=no_such_module", "waits.py", done)).pop("argv"), **words)
        run.says(r"--prefetch on \S+ cannot record what imports read: its Python: ModuleNotFoundError: No module named "
                 "'no_such_module'", LIMIT_S)
        done.touch()
        self.assert_ok(run.wait(LIMIT_S))
        self.assertEqual(self.records(), [])

    def test_a_run_does_not_wait_for_its_record(self):
        there = self.path / "there"
        (self.modules / "odd.py").write_text(f"import pathlib, time; pathlib.Path({str(there)!r}).touch(); time.sleep(99)")
        words = self.words("--prefetch=odd", "waits.py", there)
        run = self.begin(*words.pop("argv"), **words)
        finished = run.wait(LIMIT_S)
        self.assert_ok(finished)
        self.assertTrue(there.exists(), "the record was begun")
        self.assertNotIn("prefetch", finished.err)
        self.assertEqual(self.records(), [])
        self.assert_nothing_left(run)

    def test_where_it_is_left_out(self):
        self.assert_runs(self.launch("--prefetch", "--no-python", "sh", "-c", 'echo "rank $RANK"'),
                         "is left out: --no-python starts a program")
        self.assert_runs(self.launch("--prefetch", "plain.py", env={"XDG_CACHE_HOME": "", "HOME": ""}),
                         "is left out: neither HOME nor XDG_CACHE_HOME is set")
        self.assert_runs(self.launch("--prefetch=off", "plain.py"))

    def test_values(self):
        for value in "torch,,numpy", "-x", "a b":
            with self.subTest(value):
                finished = self.launch(f"--prefetch={value}", "plain.py")
                self.assertEqual(finished.code, 2)
                self.assert_one_line(finished, "--prefetch .*: must be off, or names of modules .*")


if __name__ == "__main__":
    unittest.main()
