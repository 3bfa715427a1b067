# ctest: TIMEOUT 240 EMULATED LABELS torch
"""One node: which failure counts, what stops whom, and that nothing outlives a run."""

import json
import os
import pty
import random
import select
import shlex
import signal
import time
import unittest

import support

SH = ["--no-python", "sh", "-c"]
FIND_RANKS_CHILDREN = "grep -lzs ^TORCHELASTIC_RUN_ID= /proc/[0-9]*/environ"
GRACE_S = 2
SHORT_GRACE = {"TORCH_ELASTIC_SHUTDOWN_TIMEOUT": str(GRACE_S)}
SAME_SIGNAL_S = 1  # signals of this span count as one
SLACK_S = 8  # for a loaded machine, on top of a grace

# Rank 1 fails first, but its interpreter takes 2 s to exit; its peers sit in a collective and fail
# as soon as gloo's connections to it are closed.
SLOW_TO_EXIT = """
import atexit, os, time
import torch, torch.distributed as dist
from torch.distributed.elastic.multiprocessing.errors import record

@record
def main():
    dist.init_process_group("gloo")
    tensor = torch.zeros(1)
    dist.all_reduce(tensor)
    if dist.get_rank() == 1:
        atexit.register(time.sleep, 2)
        dist.destroy_process_group()  # closes the connections at once
        raise ValueError("the step went wrong")
    dist.all_reduce(tensor)

main() if os.environ["RECORD"] == "1" else main.__wrapped__()
"""


# Rank 2 does something else while the others wait for it in a collective, until their patience ends.
ABSENT = """
import datetime, sys, time
import torch, torch.distributed as dist

dist.init_process_group("gloo", timeout=datetime.timedelta(seconds=60))
impatient = dist.new_group(timeout=datetime.timedelta(seconds=8))
dist.all_reduce(torch.zeros(1), group=impatient)
if dist.get_rank() == 2:
    print("reading the next file", flush=True)
    time.sleep(600)
dist.all_reduce(torch.zeros(1), group=impatient)
"""


class ExitCodes(support.TestCase):
    def test_codes(self):
        cases = [("exit 0", 0), ("exit 1", 1), ("exit 7", 7), ("exit 255", 255),
                 ("exit 93", 93),               # means: do not restart
                 ("kill -KILL $$", 128 + 9), ("kill -SEGV $$", 128 + 11), ("kill -TERM $$", 128 + 15),
                 ("[ $RANK = 1 ] || exec sleep 60; exit 4", 4)]
        for program, code in cases:
            with self.subTest(program):
                finished = self.toprun("--nproc-per-node", 2, *SH, program, limit=20)
                self.assertEqual(finished.code, code, finished)

    def test_the_earliest_failure_counts(self):
        ready = self.folder()
        finished = self.toprun(
            "--nproc-per-node", 3, *SH,
            f'trap "sleep 0.3; exit 22" TERM; >"{ready}/$RANK"; '
            f'while [ $(ls "{ready}" | wc -l) -lt 3 ]; do sleep 0.1; done; '
            '[ $RANK = 2 ] && exit 11; while :; do sleep 0.1; done', limit=30)
        self.assertEqual(finished.code, 11, finished)
        self.assertRegex(finished.err, r"toprun: rank 2 on \S+ ended with exit code 11\n")
        self.assertRegex(finished.err, r"others +2 were stopped")


class WordByWord(support.TestCase):
    """Python's -u writes the words of a line one by one; a traceback comes between them."""

    PROGRAM = """
import os, sys, time
os.write(1, b"rank ")
time.sleep(0.05)
os.write(2, b"Traceback (most recent call last):\\n")
time.sleep(0.05)
os.write(1, b"0 loads /data/c4\\n")
time.sleep(0.05)
os.write(2, b"FileNotFoundError: /data/c4\\n")
os._exit(1)
"""

    def test_the_report_keeps_lines_whole(self):
        finished = self.toprun("--no-python", support.python(), "-c", self.PROGRAM, limit=30)
        self.assertRegex(finished.err, r"(?m)^  it said     FileNotFoundError: /data/c4$")
        self.assertRegex(finished.err, r"(?m)^  last lines  Traceback \(most recent call last\):\n"
                                       r" +rank 0 loads /data/c4\n +FileNotFoundError: /data/c4$")


class OfTheText(support.TestCase):
    """What Python cannot run fails in each rank."""

    def test_a_file_that_hides_a_module(self):
        folder = self.folder()
        (folder / "train.py").write_text("import concurrent.futures.thread\n")
        (folder / "queue.py").write_text("1 / 0\n")
        finished = self.toprun("--nproc-per-node", 1, folder / "train.py", limit=30)
        self.assertEqual(finished.code, 1, finished)
        self.assertRegex(finished.err, rf"(?m)^  next        {folder}/queue\.py hides Python's module queue: rename the file$")

    def test_all_ranks_fail_in_the_same_way(self):
        folder = self.folder()
        (folder / "bad.py").write_text("import os\ndef f(:\n")
        for words, said in (([folder / "bad.py"], "SyntaxError: invalid syntax"),
                            (["-m", "nosuchmodule"], r"\S+: No module named nosuchmodule")):
            for attempt in range(5):
                finished = self.toprun("--nproc-per-node", 6, *words, limit=30)
                self.assertEqual(finished.code, 1, finished)
                self.assertRegex(finished.err, rf"(?m)^  it said     {said}$")
                self.assertRegex(finished.err, r"(?m)^  others      5 failed in the same way$")
        self.assertRegex(finished.err, r"(?m)^  next        \S+ does not find the module nosuchmodule: install the module there, or ")
        self.toprun("--nproc-per-node", 6, "--report", folder / "report.json", "-m", "nosuchmodule", limit=30)
        attempt = json.loads((folder / "report.json").read_text())["attempts"][0]
        first = attempt["cause"]["rank"]
        others = [rank for some in attempt["failed_too"] for part in some["ranks"].split(",")
                  for rank in range(int(part.split("-")[0]), int(part.split("-")[-1]) + 1)]
        self.assertEqual(sorted([first, *others]), list(range(6)), attempt)
        self.assertEqual({some["exit_code"] for some in attempt["failed_too"]}, {1})
        self.assertRegex(self.toprun("status", folder / "report.json").out,
                         r"(?m)^ +ranks [0-5,-]+ failed too, exit code 1: .*No module named nosuchmodule$")


class RootCause(support.TestCase):
    def run_slow_to_exit(self, record):
        folder = self.folder()
        (folder / "slow.py").write_text(SLOW_TO_EXIT)
        finished = self.toprun(
            "--nproc-per-node", 3, "--report", folder / "report.json", "--log-dir", folder / "logs",
            folder / "slow.py", limit=100, env={"PYTHON_EXEC": support.python(),
                                                "OMP_NUM_THREADS": "1", "RECORD": record, **support.WARM})
        self.assertEqual(finished.code, 1, finished)
        self.assertRegex(finished.err, r"toprun: rank 1 on \S+ ended with exit code 1\n")
        self.assertRegex(finished.err, r"it said +ValueError: the step went wrong\n")
        self.assertRegex(finished.err, r"others +[12] failed as a consequence")
        return json.loads((folder / "report.json").read_text())["attempts"][0]["cause"]

    def test_is_the_rank_that_raised_although_its_peers_ended_first(self):
        cause = self.run_slow_to_exit(record="0")
        self.assertEqual([cause[key] for key in ("kind", "rank", "exit_code", "error_file")],
                         ["exit", 1, 1, None])

    def test_record_s_error_file(self):
        cause = self.run_slow_to_exit(record="1")
        self.assertEqual([cause[key] for key in ("kind", "rank", "exit_code", "message")],
                         ["exit", 1, 1, "ValueError: the step went wrong"])
        with open(cause["error_file"]) as file:
            self.assertIn("the step went wrong", file.read())


UNEVEN = """
import os, sys, torch, torch.distributed as dist
dist.init_process_group("gloo")
steps = 6 if dist.get_rank() == 1 else 10
for _ in range(steps):
    dist.all_reduce(torch.ones(4))
if sys.argv[1] == "exit":
    os._exit(0)
if sys.argv[1] == "well":
    dist.destroy_process_group()
"""


# Native code aborts as Python exits, or while the ranks go on after an exception that was logged.
ABORTS = """
import atexit, os, traceback
import torch.distributed as dist

dist.init_process_group("gloo")
dist.barrier()
if os.environ["RAISES"] == "1":
    atexit.register(os.abort)
    raise ValueError("bad loss")
try:
    raise ValueError("bad loss")
except ValueError:
    traceback.print_exc()
os.abort()
"""


class Aborts(support.TestCase):
    def test_an_exception_before_the_abort_is_the_cause_if_it_ended_python(self):
        for raises, headline, advice in [
                ("1", r"failed with ValueError \(and SIGABRT as Python exited\)", r"see \S+, line 9"),
                ("0", r"was killed by SIGABRT \(aborted\)", "native code crashed: PYTHONFAULTHANDLER=1 .*")]:
            with self.subTest(raises):
                script = self.folder() / "aborts.py"
                script.write_text(ABORTS)
                finished = self.toprun("--nproc-per-node", 2, script, limit=100,
                                       env={"PYTHON_EXEC": support.python(), "RAISES": raises, **support.WARM})
                self.assertEqual(finished.code, 134, finished)
                self.assertRegex(finished.err, rf"(?m)^toprun: rank [01] on \S+ {headline}$")
                self.assertRegex(finished.err, rf"(?m)^  next +{advice}$")


class EndedEarly(support.TestCase):
    """Uneven shards: rank 1 ends with 0, and the others lose it."""

    def test_the_rank_that_ended_with_0_is_named(self):
        folder = self.folder()
        (folder / "uneven.py").write_text(UNEVEN)
        for how in ("exit", "well"):
            with self.subTest(how):
                finished = self.toprun("--nproc-per-node", 3, "--report", folder / "report.json", folder / "uneven.py", how,
                                       limit=150, env={"PYTHON_EXEC": support.python(), "OMP_NUM_THREADS": "1",
                                                       **support.WARM, **SHORT_GRACE})
                self.assertEqual(finished.code, 1, finished)
                self.assertRegex(finished.err, r"(?m)^toprun: rank 1 on \S+ had ended with 0 while [12] ranks? still "
                                               r"(called all_reduce|ran)$")
                self.assertRegex(finished.err, r"(?m)^  reason      rank [02] on \S+ failed as a consequence: RuntimeError")
                self.assertRegex(finished.err, r"(?m)^  next        do the ranks have different numbers of steps\?")
                cause = json.loads((folder / "report.json").read_text())["attempts"][0]["cause"]
                self.assertEqual((cause["kind"], cause["rank"], cause["exit_code"]), ("ended_early", 1, None))


    def test_without_the_end_of_its_process_group_it_may_be_aborted(self):
        """The same abort in the program's middle looks alike: both are said, and the exit code is the signal's."""
        script = self.folder() / "uneven.py"
        script.write_text(UNEVEN)
        for _ in range(6):  # every other time: PyTorch's threads are still there when Python ends
            finished = self.toprun("--nproc-per-node", 3, script, "open", limit=100,
                                   env={"PYTHON_EXEC": support.python(), "OMP_NUM_THREADS": "1", **SHORT_GRACE})
            if "terminate called without an active exception" in finished.err:
                break
            self.assertIn("had ended with 0 while", finished.err)
        else:
            self.skipTest("PyTorch ended its threads in time")
        self.assertEqual(finished.code, 134, finished)
        self.assertRegex(finished.err, r"(?m)^toprun: rank 1 on \S+ was killed by SIGABRT \(aborted\), perhaps as "
                                       r"Python exited$")
        self.assertRegex(finished.err, r"(?m)^  next +C\+\+ threads still ran .* different numbers of steps\?")


MISMATCH = """
import torch, torch.distributed as dist
dist.init_process_group("gloo")
def step():
    dist.all_reduce(torch.ones(4000 if dist.get_rank() == 1 else 10))
step()
"""


class Mismatch(support.TestCase):
    """Rank 1 calls all_reduce with another size; Gloo aborts a rank that is not wrong."""

    def run_mismatch(self, **env):
        folder = self.folder()
        (folder / "mismatch.py").write_text(MISMATCH)
        finished = self.toprun("--nproc-per-node", 3, "--report", folder / "report.json", folder / "mismatch.py", limit=150,
                               env={"PYTHON_EXEC": support.python(), "OMP_NUM_THREADS": "1", **support.WARM, **SHORT_GRACE,
                                    **env})
        self.assertRegex(finished.err, r"(?m)^toprun: ranks made different calls of a collective, as rank \d on \S+ noticed$")
        self.assertRegex(finished.err, r"(?m)^  reason .*; the calls: ranks? [0-2,-]+ at \S+mismatch.py, line 5, in step$")
        cause = json.loads((folder / "report.json").read_text())["attempts"][0]["cause"]
        self.assertEqual(cause["kind"], "mismatch")
        return finished

    def test_no_rank_is_accused(self):
        finished = self.run_mismatch()
        self.assertEqual(finished.code, 134, finished)
        self.assertRegex(finished.err, r"(?m)^  reason .*this does not tell which rank is wrong")
        self.assertRegex(finished.err, r"(?m)^  next .*TORCH_DISTRIBUTED_DEBUG=DETAIL")

    def test_pytorch_s_comparison_is_shown(self):
        finished = self.run_mismatch(TORCH_DISTRIBUTED_DEBUG="DETAIL")
        self.assertEqual(finished.code, 1, finished)
        self.assertRegex(finished.err, r"(?m)^  reason .*TensorShape=\[4000\]")
        self.assertRegex(finished.err, r"(?m)^  next +compare the two calls in the message, and see \S+mismatch.py, line 5")
        self.assertNotRegex(finished.err, "start the job again with TORCH_DISTRIBUTED_DEBUG")


class Hang(support.TestCase):
    def test_the_rank_that_did_not_come_is_named(self):
        folder = self.folder()
        (folder / "absent.py").write_text(ABSENT)
        finished = self.toprun("--nproc-per-node", 4, "--report", folder / "report.json",
                               folder / "absent.py", limit=150,
                               env={"PYTHON_EXEC": support.python(), "OMP_NUM_THREADS": "1",
                                    **support.WARM, **SHORT_GRACE})
        self.assertEqual(finished.code, 1, finished)
        self.assertRegex(finished.err, r"(?m)^toprun: rank 2 on \S+ did not come to a collective in "
                                       "which others timed out$")
        self.assertRegex(finished.err, r"(?m)^  reason      rank 2 on \S+ did not come to the collective "
                                       r"in which rank \d on \S+ timed out: .*Timed out waiting 8000ms")
        self.assertRegex(finished.err, "(?m)^  last lines  reading the next file$")
        self.assertRegex(finished.err, "(?m)^  others      3 failed as a consequence$")
        cause = json.loads((folder / "report.json").read_text())["attempts"][0]["cause"]
        self.assertEqual((cause["kind"], cause["rank"], cause["exit_code"]), ("hang", 2, None))
        self.assertRegex(cause["message"], "Timed out waiting 8000ms for (recv|send) operation to complete")


class LaunchersErrorFile(support.TestCase):
    """TORCHELASTIC_ERROR_FILE of the launcher itself, as another launcher may set it."""

    def run_workers(self, program):
        file = self.folder() / "error.json"
        file.write_text("what was there before")
        finished = self.toprun("--nproc-per-node", 2, *SH, program, limit=20,
                               env={"TORCHELASTIC_ERROR_FILE": str(file)})
        return finished, file.read_text()

    def write(self, message):
        return ('echo "{\\"message\\": {\\"message\\": \\"' + message + '\\", \\"extraInfo\\": '
                '{\\"timestamp\\": \\"$(date +%s)\\"}}}" >"$TORCHELASTIC_ERROR_FILE"')

    def test_gets_the_first_failure_s(self):
        ends = ((":", 5, 5), ("kill -SEGV $$", 128 + 11, -11))
        for end, code, written in ends:
            with self.subTest(end):
                finished, text = self.run_workers(
                    f'[ $RANK = 0 ] && exec sleep 60; {self.write("ValueError: of $RANK")}; '
                    f'{end}; exit {code}')
                self.assertEqual(finished.code, code, finished)
                message = json.loads(text)["message"]
                self.assertEqual([message["message"], message["errorCode"]],
                                 ["ValueError: of 1", written])

    def test_stays_as_it_was(self):
        for program, code in (("exit 0", 0), ("exit 3", 3),
                              ('echo "not JSON" >"$TORCHELASTIC_ERROR_FILE"; exit 3', 3)):
            with self.subTest(program):
                finished, text = self.run_workers(program)
                self.assertEqual((finished.code, text), (code, "what was there before"), finished)


class Signals(support.TestCase):
    def setUp(self):
        self.ready = self.folder()

    def start(self, then, *flags, nproc=2, **options):
        run = self.begin(support.binary(), "--nproc-per-node", nproc, *flags, *SH,
                         f'{then[0]}; >"{self.ready}/$RANK"; {then[1]}', **options)
        support.wait_for_files(self.ready, nproc)
        return run

    def end(self, run, limit):
        finished = run.wait(limit)
        self.assert_nothing_left(run)
        return finished

    def test_they_stop_all_workers(self):
        for number, code in ((signal.SIGINT, 130), (signal.SIGTERM, 143)):
            with self.subTest(number):
                self.setUp()
                run = self.start((":", support.OBEDIENT))
                run.signal(number)
                finished = self.end(run, 20)
                self.assertEqual(finished.code, code, finished)
                self.assertLess(finished.seconds, SLACK_S)
                self.assertRegex(finished.err, rf"\(.*\): 2 ranks on 1 node, .*exit code {code}\n\Z")

    def test_workers_that_end_with_0_make_it_0(self):
        for number in (signal.SIGINT, signal.SIGTERM):
            with self.subTest(number):
                self.setUp()
                run = self.start(("trap 'exit 0' TERM INT", "while :; do sleep 0.1; done"))
                run.signal(number)
                self.assert_ok(self.end(run, 20))

    def test_the_grace_is_kept_and_then_over(self):
        run = self.start(("trap '' TERM INT", "while :; do sleep 0.1; done"), env=SHORT_GRACE)
        run.signal(signal.SIGTERM)
        finished = self.end(run, 30)
        self.assertEqual(finished.code, 143, finished)
        self.assertGreater(finished.seconds, GRACE_S)
        self.assertLess(finished.seconds, GRACE_S + SLACK_S)

    def test_no_grace_at_all(self):
        run = self.start(("trap '' TERM INT", "while :; do sleep 0.1; done"), "--shutdown-timeout", 0,
                         env={"PET_SHUTDOWN_TIMEOUT": "60", "TORCH_ELASTIC_SHUTDOWN_TIMEOUT": "60"})
        run.signal(signal.SIGTERM)
        self.assertEqual(self.end(run, 40).code, 143)

    def test_a_second_interrupt_does_not_wait_for_the_grace(self):
        run = self.start((f"trap '>\"{self.ready}/told.'$RANK'\"' TERM INT",
                          "while :; do sleep 0.1; done"))
        run.signal(signal.SIGINT)
        support.wait_for_files(self.ready, 4)
        time.sleep(SAME_SIGNAL_S + 0.3)
        run.signal(signal.SIGINT)
        finished = self.end(run, 25)  # the grace is 30 s
        self.assertEqual(finished.code, 130, finished)

    def test_who_pressed_ctrl_c_in_vain_is_told_how_to_go_on(self):
        run = self.start(("trap '' INT", "while :; do sleep 0.1; done"))
        run.signal(signal.SIGINT)
        line = run.process.stderr.readline()
        while line and b"again to kill" not in line:
            line = run.process.stderr.readline()
        self.assertRegex(line.decode(), r"\Atoprun: 2 of 2 ranks still run after SIGINT, for \d+ s at most: press "
                                        r"Ctrl-C again to kill them\n\Z")
        run.signal(signal.SIGINT)
        finished = self.end(run, 25)  # the grace is 30 s
        self.assertEqual(finished.code, 130, finished)

    def test_user_signals_are_passed_on(self):
        run = self.start(("trap 'echo got USR1; exit 0' USR1", "while :; do sleep 0.1; done"))
        run.signal(signal.SIGUSR1)
        finished = self.end(run, 20)
        self.assert_ok(finished)
        self.assertEqual(finished.out, "got USR1\n" * 2)


class CtrlZ(support.TestCase):
    """SIGTSTP stops the workers and then the keeper; SIGCONT lets them go on."""

    LONGEST_STOP_S = 0.001  # of those that are taken back: the keeper is anywhere on its way

    def setUp(self):
        self.ready = self.folder()
        # No shell's loop: one that waits for a vfork() to end is stopped, but not in state T.
        self.program = [support.binary(), "--nproc-per-node", 2, *SH,
                        f'echo $$ >"{self.ready}/$RANK.new"; '
                        f'mv "{self.ready}/$RANK.new" "{self.ready}/$RANK"; exec sleep 300']

    def start(self, in_session=True):
        run = self.begin(*self.program, in_session=in_session)
        self.learn_workers()
        return run

    def learn_workers(self):
        support.wait_until(lambda: all((self.ready / rank).exists() for rank in "01"), 30, "ranks")
        self.workers = [int((self.ready / rank).read_text()) for rank in "01"]

    def stopped(self, *pids):
        return ["T" == support.state_of(pid) for pid in pids]

    def await_all(self, stopped, *pids):
        support.wait_until(lambda: self.stopped(*pids) == [stopped] * len(pids), 10,
                           f"{pids} {'stopped' if stopped else 'running'}")

    def test_stop_and_go_on(self):
        run = self.start()
        agent = run.agent()
        for _ in range(3):
            run.signal(signal.SIGTSTP)
            self.await_all(True, run.process.pid, *self.workers)
            self.assertEqual(self.stopped(agent), [False], "it beats on")
            run.signal(signal.SIGCONT)
            self.await_all(False, run.process.pid, *self.workers)
        run.signal(signal.SIGTERM)
        finished = run.wait(40)
        self.assert_nothing_left(run)
        self.assertEqual(finished.code, 143, finished)

    def test_longer_than_any_limit(self):
        run = self.start()
        run.signal(signal.SIGTSTP)
        self.await_all(True, run.process.pid)
        time.sleep(12)  # a stall or a silence is one after 10 s
        run.signal(signal.SIGCONT)
        self.await_all(False, run.process.pid, *self.workers)
        run.signal(signal.SIGINT)
        finished = run.wait(60)
        self.assertEqual(finished.code, 130, finished)
        self.assertNotRegex(finished.err, "sign of life|lost")

    def test_a_stop_that_is_taken_back_at_once(self):
        for in_session in (True, False):
            self.setUp()
            run = self.start(in_session)
            for _ in range(200):
                run.signal(signal.SIGTSTP)
                until = time.monotonic() + random.uniform(0, self.LONGEST_STOP_S)
                while time.monotonic() < until:
                    pass
                run.signal(signal.SIGCONT)
                time.sleep(0.01)
                self.await_all(False, run.process.pid, *self.workers)
            run.signal(signal.SIGTERM)
            self.assertEqual(run.wait(40).code, 143)

    def test_in_an_orphaned_process_group_the_workers_alone_stop(self):
        run = self.start(in_session=False)
        run.signal(signal.SIGTSTP)
        self.await_all(True, *self.workers)
        self.assertEqual(self.stopped(run.process.pid), [False])
        run.signal(signal.SIGCONT)
        self.await_all(False, *self.workers)
        run.signal(signal.SIGTERM)
        self.assertEqual(run.wait(40).code, 143)

    def test_ended_while_stopped(self):
        run = self.start()
        run.signal(signal.SIGTSTP)
        self.await_all(True, run.process.pid, *self.workers)
        run.signal(signal.SIGTERM)  # as a shell's kill does
        run.signal(signal.SIGCONT)
        self.assertEqual(run.wait(40).code, 143)
        self.assert_nothing_left(run)

    def test_at_a_shell(self):
        support.needs_program("bash")
        run = Shell(self)
        run.type(shlex.join(map(str, self.program)))
        self.learn_workers()
        run.press(b"\x1a")
        run.expect("Stopped")
        self.await_all(True, *self.workers)
        run.type("fg")
        self.await_all(False, *self.workers)
        run.press(b"\x03")
        run.expect("exit code 130")
        support.wait_until(lambda: not any(map(os.path.exists, (f"/proc/{pid}" for pid in
                                                                self.workers))), 10, "all gone")


class Shell:
    """An interactive bash on a terminal of its own."""

    def __init__(self, test):
        self.seen = ""
        self.pid, self.terminal = pty.fork()
        if self.pid == 0:
            os.execvp("bash", ["bash", "--norc", "--noprofile", "-i"])
        test.addCleanup(self.end)

    def press(self, keys):
        os.write(self.terminal, keys)

    def type(self, line):
        self.press(line.encode() + b"\n")

    def expect(self, text, limit=30):
        deadline = time.monotonic() + limit
        while text not in self.seen:
            left = deadline - time.monotonic()
            if left <= 0 or not select.select([self.terminal], [], [], left)[0]:
                raise AssertionError(f"no {text!r} within {limit} s in {self.seen!r}")
            self.seen += os.read(self.terminal, 4096).decode(errors="replace")

    def end(self):
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)
        os.close(self.terminal)


class OutOfMemory(support.TestCase):
    LIMIT = 96 << 20
    EATER = "blocks = []\nwhile True: blocks.append(bytearray(1 << 20))\n"

    def cgroup(self):
        """A memory cgroup below ours with a limit: its cgroup.procs, or a skip."""
        support.needs_root()
        with open("/proc/self/cgroup") as file:
            ours = dict(line.split(":", 2)[1:] for line in file.read().split())
        v1 = "memory" in ours
        base = "/sys/fs/cgroup" + ("/memory" if v1 else "") + ours.get("memory" if v1 else "", "")
        folder = f"{base.rstrip('/')}/toprun-test-{os.getpid()}"
        try:
            os.mkdir(folder)
            self.addCleanup(os.rmdir, folder)
            with open(f"{folder}/memory.{'limit_in_bytes' if v1 else 'max'}", "w") as file:
                file.write(str(self.LIMIT))
        except OSError as error:
            self.skipTest(f"no memory cgroup of our own: {error}")
        return folder + "/cgroup.procs"

    def test_the_report_names_the_kernel(self):
        procs = self.cgroup()
        folder = self.folder()
        (folder / "eat.py").write_text(self.EATER)
        report = folder / "report.json"
        finished = self.run_to_end(
            "sh", "-c", f'echo $$ >"{procs}"; exec "$@"', "sh", support.binary(), "--report", report,
            "--nproc-per-node", 1, folder / "eat.py", limit=60, env=support.without_torch())
        self.assertEqual(finished.code, 128 + 9, finished)
        self.assertRegex(finished.err, r"  kernel +the kernel's out-of-memory killer ended ")
        self.assertRegex(finished.err, r"  next +use less memory per rank")
        cause = json.loads(report.read_text())["attempts"][0]["cause"]
        self.assertIn("out-of-memory", cause["kernel_evidence"])

    def test_a_plain_kill_is_not_blamed_on_it(self):
        finished = self.toprun("--nproc-per-node", 1, *SH, "kill -KILL $$")
        self.assertNotIn("  kernel ", finished.err)
        self.assertIn("toprun did not send it", finished.err)


class NothingOutlivesARun(support.TestCase):
    """Each worker has a grandchild in a session of its own."""

    def start(self, then):
        ready = self.folder()
        def wait_for(count):
            return f'while [ $(ls "{ready}" | wc -l) -lt {count} ]; do sleep 0.1; done; '
        run = self.begin(support.binary(), "--nproc-per-node", 2, *SH,
                         f"setsid sh -c '>\"{ready}/grandchild.'$RANK'\"; exec sleep 300' & "
                         f'{wait_for(2)} >"{ready}/worker.$RANK"; {wait_for(4)} {then}')
        support.wait_for_files(ready, 4)
        return run

    def test_the_agent_is_killed(self):
        support.needs_real_processor("PR_SET_CHILD_SUBREAPER")
        run = self.start("sleep 300")
        os.kill(run.agent(), signal.SIGKILL)
        finished = run.wait(20)
        self.assert_nothing_left(run)
        self.assertEqual(finished.code, 1)
        self.assert_one_line(finished, r"(OMP_NUM_THREADS.*\ntoprun: )?\S+: the agent \(pid \d+\) was killed "
                                       r"by signal 9.*")

    def test_the_keeper_is_killed(self):
        support.needs_real_processor("PR_SET_CHILD_SUBREAPER")
        run = self.start("sleep 300")
        run.signal(signal.SIGKILL)
        self.assertEqual(run.wait(20).code, -signal.SIGKILL)
        self.assert_nothing_left(run)

    def test_keeper_and_agent_are_killed_at_once(self):
        """Only what workers had started is left, and is found as docs/guides/failures.md says."""
        run = self.start("exec sleep 301")
        support.wait_until(lambda: list(run.processes().values()).count("sleep 301") == 2, 30,
                           "workers work")
        agent = run.agent()
        # Not the agent first: the kernel wakes a stopped process whose group is orphaned.
        run.signal(signal.SIGSTOP)
        os.kill(agent, signal.SIGKILL)
        run.signal(signal.SIGKILL)
        deadline = time.monotonic() + 30
        while set((left := run.processes()).values()) != {"sleep 300"}:
            self.assertLess(time.monotonic(), deadline, left)
            time.sleep(0.05)
        found = self.run_to_end("sh", "-c", FIND_RANKS_CHILDREN).out.split()
        self.assertLessEqual({f"/proc/{pid}/environ" for pid in left}, set(found))

    def test_the_workers_end(self):
        support.needs_real_processor("PR_SET_CHILD_SUBREAPER")
        run = self.start("exit 0")
        self.assert_ok(run.wait(20))
        self.assert_nothing_left(run)

    def test_a_worker_fails(self):
        support.needs_real_processor("PR_SET_CHILD_SUBREAPER")
        run = self.start("[ $RANK = 1 ] && exit 3; sleep 300")
        self.assertEqual(run.wait(20).code, 3)
        self.assert_nothing_left(run)

    def test_the_agent_stalls(self):
        run = self.start("sleep 300")
        os.kill(run.agent(), signal.SIGSTOP)
        finished = run.wait(40)
        self.assert_nothing_left(run)
        self.assertEqual(finished.code, 1)
        self.assertRegex(finished.err, r"gave no sign of life for 1\d\.\d s")


if __name__ == "__main__":
    unittest.main()
