"""Runs ctest in each build folder, then names every skipped test and counts all cases.

    run.py build/release build/asan:unit     everything in one, only the label `unit` in the other
    run.py build/release build/asan:unit:unit_tests   … whose target `unit_tests` is built first:
                                             beside the tests of the folder before it

The last line is `N passed, N failed, N skipped`; the exit code is 0 if nothing failed.
"""

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


def run_ctest(folder, label):
    """Runs the tests and returns the cases of its report, one per test program."""
    report = pathlib.Path(folder, "tests.xml").resolve()
    report.unlink(missing_ok=True)
    command = ["ctest", "--test-dir", folder, "--output-on-failure", "--no-tests=error",
               "--parallel", str(os.cpu_count() + SLEEPERS), "--output-junit", report,
               "--test-output-size-passed", WHOLE_OUTPUT, "--test-output-size-failed", WHOLE_OUTPUT]
    if label:
        command += ["--label-regex", f"^{label}$"]
    code = subprocess.run(command).returncode
    if not report.exists():
        sys.exit(f"run.py: ctest in {folder} ended with {code} and wrote no report")
    return xml.parse(report).getroot().iter("testcase")


def give_way():
    """To all else, whether Linux weighs processes or, as with autogroups, sessions."""
    os.nice(19)
    with contextlib.suppress(OSError):
        pathlib.Path("/proc/self/autogroup").write_text("19")


class Build:
    """A target that is built with what the tests leave of the processors: many of them wait."""

    def __init__(self, folder, target):
        self.log = pathlib.Path(folder, "build.log")
        self.what = f"target {target} in {folder}"
        command = ["cmake", "--build", folder, "--target", target, "--parallel", str(os.cpu_count())]
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT,
                                            start_new_session=True, preexec_fn=give_way)

    def is_made(self):
        print(f"waiting for {self.what}: its log is {self.log}", flush=True)
        if self.process.wait() == 0:
            return True
        print(f"{self.log.read_text(errors='replace')}\nrun.py: {self.what} could not be built", flush=True)
        return False

    def stop(self):
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGTERM)


def main():
    signal.signal(signal.SIGTERM, lambda number, _: sys.exit(128 + number))  # so that no build is left
    parts = [(*argument.split(":"), "", "")[:3] for argument in sys.argv[1:]]
    builds = {folder: Build(folder, target) for folder, _, target in parts if target}
    try:
        run(parts, builds)
    finally:
        for build in builds.values():
            build.stop()


def run(parts, builds):
    passed = failed = 0
    skips = []
    for folder, label, _ in parts:
        if folder in builds and not builds[folder].is_made():
            failed += 1
            continue
        for case in run_ctest(folder, label):
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
