"""Runs one unittest file, with one line for each case that run.py counts.

    report.py FILE [Class.test_x …]

    PASS: Class.test_x (0.1 s)
    SKIP: Class.test_y: reason
    FAIL: Class.test_z, and the traceback below
"""

import importlib
import os
import pathlib
import re
import signal
import sys
import time
import unittest

NOTHING_RAN = 77  # exit code: ctest then shows the whole file as skipped


def cases_of(suite):
    for test in suite:
        if isinstance(test, unittest.TestSuite):
            yield from cases_of(test)
        else:
            yield test


class Result(unittest.TestResult):
    """Of the cases in one module."""

    def __init__(self, module, suite):
        super().__init__()
        self.module = module
        self.cases = list(cases_of(suite))
        self.passed = 0
        self.finished = set()  # names of cases

    def startTest(self, test):
        super().startTest(test)
        self.started = time.monotonic()

    def stopTest(self, test):
        super().stopTest(test)
        self.finished.add(test.id())

    def say(self, kind, test, text):
        print(f"{kind}: {test.id().removeprefix(self.module + '.')}{text}", flush=True)

    def stands_for(self, test):
        """Itself; the cases that will not be run where it is the setUpClass() or setUpModule() of a class
        or module: `setUpClass (file.Class)`."""
        where = re.fullmatch(r"setUp(?:Class|Module) \((.*)\)", test.id())
        return [case for case in self.cases if where and case.id() not in self.finished
                and f"{case.id()}.".startswith(f"{where[1]}.")] or [test]

    def addSuccess(self, test):
        super().addSuccess(test)
        self.passed += 1
        self.say("PASS", test, f" ({time.monotonic() - self.started:.1f} s)")

    def addSkip(self, test, reason):
        super().addSkip(test, reason)
        for case in self.stands_for(test):
            self.say("SKIP", case, f": {reason}")

    def addFailure(self, test, error):
        super().addFailure(test, error)
        self.say("FAIL", test, f"\n{self.failures[-1][1]}")

    def addError(self, test, error):
        super().addError(test, error)
        first, *others = self.stands_for(test)
        self.say("FAIL", first, f"\n{self.errors[-1][1]}")
        for case in others:
            self.say("FAIL", case, ": as the one before")

    def addSubTest(self, test, subtest, error):
        super().addSubTest(test, subtest, error)
        if error:
            of_its_kind = self.failures if issubclass(error[0], test.failureException) else self.errors
            self.say("FAIL", subtest, f"\n{of_its_kind[-1][1]}")


def hear_signals():
    """Shells start what runs beside them with these ignored, and so would every program of a case begin."""
    for number in (signal.SIGINT, signal.SIGQUIT, signal.SIGHUP):
        if signal.getsignal(number) is signal.SIG_IGN:
            signal.signal(number, signal.SIG_DFL)


def spare_processors():
    """Most of the tests' CPU time is spent by short-lived Pythons, many of which import torch."""
    os.environ["NO_GARBAGE_COLLECTION"] = "1"  # heard by build/venv (tools/setup)
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)  # what build/venv has not compiled is compiled once
    folder = os.path.dirname(sys.executable)  # a pyenv's `python3` would be a script that looks for one
    os.environ["PATH"] = f"{folder}{os.pathsep}{os.environ.get('PATH', os.defpath)}"


def main():
    hear_signals()
    spare_processors()
    path = pathlib.Path(sys.argv[1])
    sys.path.insert(0, str(path.parent))
    module, loader = importlib.import_module(path.stem), unittest.defaultTestLoader
    suite = (loader.loadTestsFromNames(sys.argv[2:], module) if sys.argv[2:]
             else loader.loadTestsFromModule(module))
    result = Result(path.stem, suite)
    suite.run(result)
    if not result.wasSuccessful():
        sys.exit(1)
    sys.exit(NOTHING_RAN if result.skipped and not result.passed else 0)


if __name__ == "__main__":
    main()
