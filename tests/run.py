"""Runs ctest in each build folder, then names every skipped test and counts all cases.

    run.py build/release build/asan:unit     everything in one, only the label `unit` in the other
    run.py build/release build/asan:unit:unit_tests   … whose target `unit_tests` is built and then tested
                                             beside the tests of the folder before it

The last line is `N passed, N failed, N skipped`; the exit code is 0 if nothing failed. A test program that
cannot be started, or that reports no case, is one that failed, and so is a ctest that ends otherwise than its
report lets expect.
"""

import concurrent.futures
import contextlib
import ctypes
import dataclasses
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as xml

# How our Python tests (report.py) and GoogleTest report a case.
PASSED = re.compile(r"^(?:PASS: |\[       OK \] )", re.M)
FAILED = re.compile(r"^(?:FAIL: |\[  FAILED  \] \S+ \()", re.M)
SKIPPED = re.compile(r"^SKIP: (.+)$", re.M)
SKIPPED_BY_GTEST = re.compile(
    r"^\[ RUN      \] (\S+)\n(?:(?!\[).*\n)*?.*: Skipped\n(.*)\n(?:(?!\[).*\n)*?\[  SKIPPED \]", re.M)
SLEEPERS = 2  # of the end-to-end tests, half of whose time is waiting
WHOLE_OUTPUT = "100000000"  # bytes; ctest would cut what passed tests print


@dataclasses.dataclass
class Judged:
    """What a test program, or what runs them, came to."""
    passed: int = 0
    skips: list = dataclasses.field(default_factory=list)  # of each skipped case: which, and why
    failures: list = dataclasses.field(default_factory=list)  # of each failed case: which
    what_else: str = ""  # failed though no case says so

    @property
    def failed(self):
        return len(self.failures) + bool(self.what_else)


def judged(case):
    """Of a test program's part of ctest's report."""
    output = case.findtext("system-out") or ""
    found = Judged(len(PASSED.findall(output)), [
        *SKIPPED.findall(output), *(f"{name}: {why}" for name, why in SKIPPED_BY_GTEST.findall(output))],
        FAILED.findall(output))
    skipped = case.find("skipped")
    if found.failures:
        return found
    if case.find("failure") is not None:
        found.what_else = "its program failed"  # it may have crashed before a case could say so
    elif skipped is not None and not found.skips:
        found.what_else = skipped.get("message") or "it was not run"
    elif not found.passed and not found.skips:
        found.what_else = "it reported no case"
    return found


def run_ctest(folder, *selection, parallel=os.cpu_count() + SLEEPERS, log=None):
    """Runs the tests and returns a pair of name and Judged for each test program. With a log other tests run
    beside it."""
    report = pathlib.Path(folder, "tests.xml").resolve()
    report.unlink(missing_ok=True)
    command = ["ctest", "--test-dir", folder, "--output-on-failure", "--no-tests=error",
               "--parallel", str(parallel), "--output-junit", report,
               "--test-output-size-passed", WHOLE_OUTPUT, "--test-output-size-failed", WHOLE_OUTPUT,
               *selection]
    if log:
        code = beside(command, log).wait()
    else:
        code = subprocess.run(command).returncode
    if not report.exists():
        return [("ctest", Judged(what_else=f"it ended with {code} and wrote no report"))]
    found = [(case.get("name"), judged(case)) for case in xml.parse(report).getroot().iter("testcase")]
    if code != 0 and not any(each.failed for _, each in found):
        found.append(("ctest", Judged(what_else=f"it ended with {code}, though no test failed")))
    return found


def give_way():
    """To all else, whether Linux weighs processes or, as with autogroups, sessions."""
    os.nice(19)
    with contextlib.suppress(OSError):
        pathlib.Path("/proc/self/autogroup").write_text("19")


processes_beside = []


def beside(command, log, prepare=None):
    with log.open("wb") as out:
        process = subprocess.Popen(command, stdout=out, stderr=subprocess.STDOUT,
                                   start_new_session=True, preexec_fn=prepare)
    processes_beside.append(process)
    return process


def stop_beside():
    for process in processes_beside:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGTERM)


class Beside:
    """The tests of a target: built with what others leave of the processors, then run one by one."""

    def __init__(self, folder, label, target):
        self.folder, self.label = pathlib.Path(folder), label
        self.what = f"target {target} in {folder}"
        self.log = self.folder / "build.log"  # of the build, then of the tests
        self.build = beside(["cmake", "--build", folder, "--target", target, "--parallel",
                             str(os.cpu_count())], self.log, give_way)

    def judged(self):
        if self.build.wait() != 0:
            return [("build", Judged(what_else=f"{self.what} could not be built"))]
        self.log = self.folder / "tests.log"
        return run_ctest(self.folder, *selected(self.label), parallel=1, log=self.log)


def selected(label):
    return ["--label-regex", f"^{label}$"] if label else []


CLONE_NEWNS = 0x00020000


@contextlib.contextmanager
def folders_in_memory():
    """Where that is allowed, a file system in memory for TMPDIR, seen by the tests alone: on ext4 without a
    journal a fifth of the processors' time went into making files (docs/internals/decisions/build.md)."""
    place = tempfile.mkdtemp(prefix="t-")  # short: paths of sockets have a limit
    libc = ctypes.CDLL(None, use_errno=True)
    made = libc.unshare(CLONE_NEWNS) == 0 and all(subprocess.run(command).returncode == 0 for command in (
        ["mount", "--make-rprivate", "/"], ["mount", "-t", "tmpfs", "-o", "mode=1777", "tests", place]))
    if made:
        os.environ["TMPDIR"] = place
    else:
        print("run.py: no mount of our own is allowed here; the tests' folders are on the disk", flush=True)
    try:
        yield
    finally:
        if made:
            subprocess.run(["umount", "--lazy", place])
        os.rmdir(place)


def main():
    signal.signal(signal.SIGTERM, lambda number, _: sys.exit(128 + number))  # so that nothing is left
    with folders_in_memory():
        try:
            run([(*argument.split(":"), "", "")[:3] for argument in sys.argv[1:]])
        finally:
            stop_beside()


def results(parts):
    """A folder, a test program's name and Judged, of each."""
    others = [Beside(*part) for part in parts if part[2]]
    with concurrent.futures.ThreadPoolExecutor() as pool:
        try:
            later = [(other, pool.submit(other.judged)) for other in others]
            for folder, label, target in parts:
                if not target:
                    yield from ((folder, *found) for found in run_ctest(folder, *selected(label)))
            for other, found in later:
                print(f"waiting for {other.what}: its log is {other.log}", flush=True)
                found = found.result()
                print(other.log.read_text(errors="replace"), flush=True)
                yield from ((other.folder, *each) for each in found)
        finally:
            stop_beside()  # the pool waits for them


def run(parts):
    passed = failed = 0
    skips, others = [], []
    for folder, name, found in results(parts):
        passed += found.passed
        failed += found.failed
        skips += [f"{folder} {name}: {skip}" for skip in found.skips]
        others += [f"{folder} {name}: {found.what_else}"] if found.what_else else []
    print()
    for skip in skips:
        print(f"skipped: {skip}")
    for other in others:
        print(f"failed: {other}")
    print(f"{passed} passed, {failed} failed, {len(skips)} skipped")
    sys.exit(failed > 0)


if __name__ == "__main__":
    main()
