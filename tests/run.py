"""Runs ctest in each build folder, then names every skipped test and counts all cases.

    run.py build/release build/asan:unit     everything in one, only the label `unit` in the other
    run.py build/release build/asan:unit:unit_tests   … whose target `unit_tests` is built beside the
                                             tests of the folder before it, and tested beside those of
                                             them that have the label `waits`

The last line is `N passed, N failed, N skipped`; the exit code is 0 if nothing failed.
"""

import concurrent.futures
import contextlib
import os
import pathlib
import re
import signal
import subprocess
import sys
import xml.etree.ElementTree as xml

# How our Python tests (report.py) and GoogleTest report a case.
PASSED = re.compile(r"^(?:PASS: |\[       OK \] )", re.M)
FAILED = re.compile(r"^(?:FAIL: |\[  FAILED  \] \S+ \()", re.M)
SKIPPED = re.compile(r"^SKIP: (.+)$", re.M)
SKIPPED_BY_GTEST = re.compile(
    r"^\[ RUN      \] (\S+)\n(?:(?!\[).*\n)*?.*: Skipped\n(.*)\n(?:(?!\[).*\n)*?\[  SKIPPED \]", re.M)
SLEEPERS = 1  # with two, two processors are busy all the time and nothing ends sooner
WHOLE_OUTPUT = "100000000"  # bytes; ctest would cut what passed tests print


def run_ctest(folder, *selection, log=None):
    """Runs the tests and returns the cases of its report, one per test program. With a log, which is
    printed at the end, other tests run beside it."""
    report = pathlib.Path(folder, "tests.xml").resolve()
    report.unlink(missing_ok=True)
    command = ["ctest", "--test-dir", folder, "--output-on-failure", "--no-tests=error",
               "--parallel", str(os.cpu_count() + (0 if log else SLEEPERS)), "--output-junit", report,
               "--test-output-size-passed", WHOLE_OUTPUT, "--test-output-size-failed", WHOLE_OUTPUT,
               *selection]
    if log:
        code = beside(command, log).wait()
        print(log.read_text(errors="replace"), flush=True)
    else:
        code = subprocess.run(command).returncode
    if not report.exists():
        sys.exit(f"run.py: ctest in {folder} ended with {code} and wrote no report")
    return list(xml.parse(report).getroot().iter("testcase"))


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
    """The tests of a target that is built from now on, with what others leave of the processors."""

    def __init__(self, folder, label, target):
        self.folder, self.label = pathlib.Path(folder), label
        self.what = f"target {target} in {folder}"
        self.log = self.folder / "build.log"
        self.build = beside(["cmake", "--build", folder, "--target", target, "--parallel",
                             str(os.cpu_count())], self.log, give_way)

    def cases(self):
        """None if it could not be built."""
        print(f"waiting for {self.what}: its log is {self.log}", flush=True)
        if self.build.wait() != 0:
            print(f"{self.log.read_text(errors='replace')}\nrun.py: {self.what} could not be built", flush=True)
            return None
        return run_ctest(self.folder, *selected(self.label), log=self.folder / "tests.log")


def selected(label):
    return ["--label-regex", f"^{label}$"] if label else []


def main():
    signal.signal(signal.SIGTERM, lambda number, _: sys.exit(128 + number))  # so that nothing is left
    try:
        run([(*argument.split(":"), "", "")[:3] for argument in sys.argv[1:]])
    finally:
        stop_beside()


def results(parts):
    """Pairs of a folder and a test program's case; None for a folder that could not be built."""
    others = [Beside(*part) for part in parts if part[2]]
    for folder, label, target in parts:
        if target:
            continue
        if not others:
            yield from ((folder, case) for case in run_ctest(folder, *selected(label)))
            continue
        yield from ((folder, case) for case in run_ctest(folder, *selected(label), "--label-exclude", "^waits$"))
        with concurrent.futures.ThreadPoolExecutor() as pool:
            try:
                later = [(other.folder, pool.submit(other.cases)) for other in others]
                yield from ((folder, case) for case in run_ctest(folder, *selected("waits")))
                for other, cases in later:
                    yield from ((other, case) for case in cases.result() or [None])
            finally:
                stop_beside()  # the pool waits for them
        others = []


def run(parts):
    passed = failed = 0
    skips = []
    for folder, case in results(parts):
        if case is None:
            failed += 1
            continue
        output = case.findtext("system-out") or ""
        where = f"{folder} {case.get('name')}"
        passed += len(PASSED.findall(output))
        failures = len(FAILED.findall(output))
        if case.find("failure") is not None:
            failures = max(failures, 1)  # it may have crashed before it could say so
        failed += failures
        skips += [f"{where}: {text}" for text in SKIPPED.findall(output)]
        skips += [f"{where}: {name}: {why}" for name, why in SKIPPED_BY_GTEST.findall(output)]
    print()
    for skip in skips:
        print(f"skipped: {skip}")
    print(f"{passed} passed, {failed} failed, {len(skips)} skipped")
    sys.exit(failed > 0)


if __name__ == "__main__":
    main()
