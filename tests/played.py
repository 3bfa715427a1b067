"""Runs cases against another program in toprun's place, each with a limit, and keeps what became of each.

    played.py FILE OUTCOMES LIMIT_S [Class.test_x …]

play() does that in a process of its own. OUTCOMES gets a JSON object a line, and holds the name of the case
that runs now in OUTCOMES.now, for a program that keeps a record of its calls.
"""

import concurrent.futures
import dataclasses
import importlib
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

import report
import support

TESTS = pathlib.Path(__file__).resolve().parent
FILES_AT_ONCE = os.cpu_count() + 2  # much of their time is waiting
FILE_LIMIT_S = 900  # beside the limits of its cases: clusters are made and taken down


@dataclasses.dataclass(frozen=True)
class Outcome:
    """`became`: passed, failed, skipped, or overran, which is a failure as well."""
    file: str
    case: str
    became: str
    seconds: float
    why: str = ""

    @property
    def name(self):
        return f"{self.file}: {self.case}"


class Overran(BaseException):
    """No case catches it by accident."""


class Result(unittest.TestResult):
    def __init__(self, module, outcomes, limit):
        super().__init__()
        self.failfast = True  # ends a case with its first subtest that fails
        self.module, self.outcomes, self.limit = module, outcomes, limit
        self.now = pathlib.Path(f"{outcomes.name}.now")

    def stop(self):
        """What failfast asks for: the other cases are run all the same."""

    def startTest(self, test):
        super().startTest(test)
        self.began, self.became, self.why = time.monotonic(), "passed", ""
        self.now.write_text(self.case(test))
        signal.setitimer(signal.ITIMER_REAL, self.limit, self.limit)

    def stopTest(self, test):
        signal.setitimer(signal.ITIMER_REAL, 0)
        self.say(self.case(test), self.became, time.monotonic() - self.began, self.why)
        super().stopTest(test)

    def case(self, test):
        return test.id().removeprefix(self.module + ".")

    def say(self, case, became, seconds, why):
        outcome = Outcome(self.module.removesuffix("_test"), case, became, round(seconds, 2), why[-2000:])
        print(json.dumps(dataclasses.asdict(outcome)), file=self.outcomes, flush=True)

    def note(self, test, became, why):
        if isinstance(test, unittest.TestCase):
            self.became, self.why = became, why
        else:  # of a whole class or module: `setUpClass (file.Class)`
            self.say(re.sub(r"^(\w+) \((.*)\)$", r"\2.\1", test.id()).removeprefix(self.module + "."), became, 0, why)

    def addSkip(self, test, reason):
        super().addSkip(test, reason)
        self.note(test, "skipped", reason)

    def failed(self, test, error):
        self.note(test, "overran" if issubclass(error[0], Overran) else "failed",
                  self._exc_info_to_string(error, test))

    def addFailure(self, test, error):
        super().addFailure(test, error)
        self.failed(test, error)

    def addError(self, test, error):
        super().addError(test, error)
        self.failed(test, error)

    def addSubTest(self, test, subtest, error):
        super().addSubTest(test, subtest, error)
        if error:
            self.failed(test, error)


def overran(*_):
    raise Overran


def main(file, outcomes, limit, *names):
    report.hear_signals()
    report.spare_processors()
    signal.signal(signal.SIGALRM, overran)
    path = pathlib.Path(file)
    sys.path.insert(0, str(path.parent))
    module, loader = importlib.import_module(path.stem), unittest.defaultTestLoader
    suite = loader.loadTestsFromNames(names, module) if names else loader.loadTestsFromModule(module)
    with open(outcomes, "a") as out:
        suite.run(Result(path.stem, out, float(limit)))


def play(file, program, limit_s, names=(), folder=None):
    """What became of a file's cases with this program in toprun's place; None where the file did not end. They run in a
    folder of their own: without the option that names a file, toprun may write one there that others would read."""
    with tempfile.TemporaryDirectory(prefix="played-") as own:
        outcomes = pathlib.Path(folder or own, "outcomes")
        process = subprocess.Popen(
            [sys.executable, "-B", __file__, str(TESTS / f"{file}_test.py"), outcomes, str(limit_s), *names],
            env={**os.environ, "TOPRUN": str(program)}, cwd=own, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, start_new_session=True)
        try:
            said, _ = process.communicate(timeout=FILE_LIMIT_S)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            said, _ = process.communicate()
        if process.returncode != 0:
            print(f"{file}: ended with {process.returncode}\n{said.decode(errors='replace')[-2000:]}", flush=True)
            return None
        return [Outcome(**json.loads(line)) for line in outcomes.read_text().splitlines()]


def stand_in(folder, text):
    """A program of this text in an empty folder, with all that stands beside toprun: only toprun is missed."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    real = pathlib.Path(support.TOPRUN).resolve()
    for sibling in real.parent.iterdir():
        if sibling.name != real.name:
            (folder / sibling.name).symlink_to(sibling)
    program = folder / "toprun"
    program.write_text(text)
    program.chmod(0o755)
    return program


def needs(file):
    """The words of its `# ctest:` line (CMakeLists.txt)."""
    found = re.search(r"^# ctest: (.*)$", (TESTS / f"{file}_test.py").read_text(), re.M)
    return found[1].split() if found else []


def test_files():
    return sorted(path.stem.removesuffix("_test") for path in TESTS.glob("*_test.py"))


def for_each(files, work, at_once=FILES_AT_ONCE):
    """Pairs of a file and work(file), several at once; those that ask to run alone come last."""
    alone = [file for file in files if "SERIAL" in needs(file)]
    with concurrent.futures.ThreadPoolExecutor(at_once) as pool:
        begun = {pool.submit(work, file): file for file in files if file not in alone}
        for done in concurrent.futures.as_completed(begun):
            yield begun[done], done.result()
    for file in alone:
        yield file, work(file)


if __name__ == "__main__":
    main(*sys.argv[1:])
