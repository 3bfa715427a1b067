"""What the end-to-end tests share: running a command with a limit, finding what it left behind.

A test file is an ordinary unittest module; ctest runs it by report.py.
"""

import dataclasses
import datetime
import functools
import os
import pathlib
import re
import select
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import unittest
import uuid

REPOSITORY = pathlib.Path(__file__).resolve().parent.parent
EXAMPLES = REPOSITORY / "examples"
TOPRUN = os.environ.get("TOPRUN", str(REPOSITORY / "build/release/toprun"))

# The toprun under test is a sanitizer's: it takes more memory and time, and says what it finds.
SANITIZED = "SANITIZED_BUILD" in os.environ
FOUND = re.compile(r"(ERROR|WARNING): \w+Sanitizer: |: runtime error: ")

TIME_TO_VANISH_S = 3.0  # for processes that were killed, until the kernel has removed them
# A shell's loop that every signal ends. `sleep 60` is none: a shell that gets SIGINT just before it
# starts a program waits for that program, which has got none.
OBEDIENT = "while :; do sleep 0.1; done"
# Each node imports torch once for all of its ranks and restarts: in the environment of cases whose
# imports are not what is tried. Those that leave it out see the start that is the default.
WARM = {"TOPRUN_WARM": "torch"}
# … and the compiler, which PyTorch imports when an optimizer is made: a second of each rank; and the examples' data.
WARM_TRAINING = {"TOPRUN_WARM": "torch,torch._dynamo"}
WARM_DIGITS = {"TOPRUN_WARM": "torch,torch._dynamo,sklearn.datasets"}
MARK = "TEST_RUN_MARK"  # in the environment of everything that one run() starts


def has_module(python, name):
    """Whether this Python finds a module. To import torch, or what imports it, takes seconds."""
    code = f"import importlib.util, sys; sys.exit(importlib.util.find_spec({name!r}) is None)"
    return subprocess.run([python, "-c", code], capture_output=True).returncode == 0


@functools.cache
def python():
    """A Python that has torch; skips the case where there is none."""
    for name in (os.environ.get("PYTHON"), str(REPOSITORY / "build/venv/bin/python")):
        path = name and shutil.which(name)
        if path and has_module(path, "torch"):
            return path
    raise unittest.SkipTest("no Python with torch: run `tools/setup --python` or set PYTHON")


def torchrun():
    return [python(), "-m", "torch.distributed.run"]


def binary():
    """The toprun under test. Where there is none a case fails: skipped, all of them would look well."""
    if not os.access(TOPRUN, os.X_OK):
        raise AssertionError(f"TOPRUN={TOPRUN} is no program that can be run: `make` builds one")
    return TOPRUN


def seed():
    """TOPRUN_SEED, or the day's: what is tried changes and can be tried again. It is printed."""
    number = int(os.environ.get("TOPRUN_SEED") or datetime.date.today().toordinal())
    print(f"TOPRUN_SEED={number}", flush=True)
    return number


def needs_root():
    if os.geteuid() != 0:
        raise unittest.SkipTest("needs root")


def needs_real_processor(what):
    """Of what qemu-user, which runs a program of another architecture, does not do."""
    if os.environ.get("EMULATED"):
        raise unittest.SkipTest(f"qemu-user does not do this: {what}")


def needs_program(name):
    if not shutil.which(name):
        raise unittest.SkipTest(f"{name} is not installed")


def has_rdma():
    folder = pathlib.Path("/sys/class/infiniband")
    return folder.is_dir() and any(folder.iterdir())


def without_torch():
    """What starts Python workers that need no torch: any Python will do."""
    return {"PYTHON_EXEC": sys.executable, "OMP_NUM_THREADS": "1"}


def sockets_of(pid):
    """How many sockets a process has open; 0 if it has just ended."""
    try:
        return sum(os.readlink(file).startswith("socket:") for file in pathlib.Path(f"/proc/{pid}/fd").iterdir())
    except OSError:
        return 0


def wait_until(condition, limit, what):
    """The first true value of condition(), asked every 20 ms; less often where it takes long itself."""
    deadline = time.monotonic() + limit
    while True:
        asked = time.monotonic()
        if value := condition():
            return value
        answered = time.monotonic()
        if answered > deadline:
            raise AssertionError(f"not within {limit} s: {what}")
        time.sleep(min(max(0.02, 4 * (answered - asked)), 0.3))


def wait_for_files(folder, count, limit=30):
    """Until so many files are in it: each worker makes one to say that it runs."""
    return wait_until(lambda: len(found := sorted(os.listdir(folder))) >= count and found, limit,
                      f"{count} files in {folder}")


def children(pid):
    """Processes whose parent is `pid`."""
    return [int(child) for child in
            pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def connections(pid, port, side="local"):
    """Established TCP connections on a process's host whose local or remote port is this (proc(5)); 0 once it
    has ended."""
    column = {"local": 1, "remote": 2}[side]
    try:
        lines = [line.split() for name in ("tcp", "tcp6")
                 for line in pathlib.Path(f"/proc/{pid}/net/{name}").read_text().splitlines()[1:]]
    except OSError:
        return 0
    return sum(words[column].endswith(f":{int(port):04X}") and words[3] == "01" for words in lines)


def listens(port):
    """Whether a program of this host listens on this TCP port (proc(5))."""
    lines = [line.split() for name in ("tcp", "tcp6")
             for line in pathlib.Path(f"/proc/net/{name}").read_text().splitlines()[1:]]
    return any(words[1].endswith(f":{int(port):04X}") and words[3] == "0A" for words in lines)


def state_of(pid):
    """As in /proc/PID/stat: R, S, D, T, Z."""
    with open(f"/proc/{pid}/stat") as file:
        return file.read().rpartition(")")[2].split()[0]


def is_running(pid):
    """Or at least has files open, as a process that is about to end may."""
    try:
        return state_of(pid) not in "ZX"
    except OSError:
        return False


def two_nodes(port, node_rank=None, nproc=2):
    """The flags of one of two agents on this host: by node rank, or by an endpoint."""
    meet = (["--rdzv-backend", "c10d", "--rdzv-endpoint", f"localhost:{port}"]
            if node_rank is None else
            ["--node-rank", node_rank, "--master-addr", "127.0.0.1", "--master-port", port])
    return ["--nnodes", 2, "--nproc-per-node", nproc, *meet]


def free_port():
    """A port that was free a moment ago."""
    with socket.socket() as listener:
        listener.bind(("", 0))
        return listener.getsockname()[1]


@dataclasses.dataclass
class Finished:
    code: int       # exit status; -N if signal N ended it
    out: str
    err: str
    seconds: float

    def __str__(self):
        return f"exit code {self.code} after {self.seconds:.1f} s\n{self.out}\n{self.err}"


class Run:
    """A started command. Everything that it starts can be found again by a mark in the environment,
    in whatever session, process group or namespace it is. `in_session`: in ours, as a shell starts
    its jobs; else its process group is an orphaned one, which Ctrl-Z does not stop."""

    def __init__(self, argv, env=None, cwd=None, stdin=subprocess.DEVNULL, in_session=False):
        self.mark = uuid.uuid4().hex
        self.seen = {}  # stream → what read_until() has taken from it
        environment = {**os.environ, **(env or {}), MARK: self.mark}
        self.start = time.monotonic()
        self.process = subprocess.Popen(
            [str(word) for word in argv], stdin=stdin, stdout=subprocess.PIPE, cwd=cwd,
            stderr=subprocess.PIPE, env=environment, start_new_session=not in_session,
            process_group=0 if in_session else None)

    def processes(self):
        """{pid: command line} of what still runs with our mark; zombies do not count."""
        wanted = f"{MARK}={self.mark}".encode()
        found = {}
        for entry in pathlib.Path("/proc").iterdir():
            if entry.name.isdigit():
                try:
                    if wanted in (entry / "environ").read_bytes().split(b"\0"):
                        words = (entry / "cmdline").read_bytes().replace(b"\0", b" ")
                        found[int(entry.name)] = words.decode(errors="replace").strip()
                except OSError:
                    pass  # it ended meanwhile, or is not ours to look at
        return found

    def signal(self, number):
        self.process.send_signal(number)

    def kill_all(self):
        for pid in self.processes():
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass

    def agent(self):
        """The process id of the agent below toprun's keeper."""
        return wait_until(lambda: children(self.process.pid), 10, "an agent")[0]

    def read_until(self, pattern, stream, limit=60):
        """Until it has printed this to its stdout or stderr, which wait() returns all the same."""
        seen = self.seen.setdefault(stream, bytearray())
        deadline = time.monotonic() + limit
        while not re.search(pattern, seen.decode(errors="replace")):
            ready, _, _ = select.select([stream], [], [], max(0, deadline - time.monotonic()))
            part = os.read(stream.fileno(), 65536) if ready else b""
            if not part:
                raise AssertionError(f"not printed within {limit} s: {pattern}\n{seen.decode(errors='replace')}")
            seen.extend(part)

    def says(self, pattern, limit=60):
        self.read_until(pattern, self.process.stderr, limit)

    def prints(self, pattern, limit=60):
        self.read_until(pattern, self.process.stdout, limit)

    def wait(self, limit):
        """Its end, at most `limit` seconds from now; then it is killed and the case fails."""
        try:
            out, err = self.process.communicate(timeout=limit)
        except subprocess.TimeoutExpired:
            self.kill_all()
            out, err = self.process.communicate()
            raise AssertionError(f"not done after {limit} s\n{out.decode(errors='replace')}\n"
                                 f"{err.decode(errors='replace')}") from None
        out = bytes(self.seen.get(self.process.stdout, b"")) + out
        err = bytes(self.seen.get(self.process.stderr, b"")) + err
        finished = Finished(self.process.returncode, out.decode(errors="replace"),
                            err.decode(errors="replace"), time.monotonic() - self.start)
        if SANITIZED and FOUND.search(finished.err):
            raise AssertionError(finished.err)
        return finished


class TestCase(unittest.TestCase):
    maxDiff = None

    def folder(self, within=None):
        """An empty folder that goes away with the case; in memory under `make test`, or within another folder."""
        path = tempfile.mkdtemp(prefix="toprun-test-", dir=within)
        self.addCleanup(shutil.rmtree, path, ignore_errors=True)
        return pathlib.Path(path)

    def begin(self, *argv, **options):
        """Starts a command; whatever it leaves is killed at the end of the case."""
        run = Run(argv, **options)
        self.addCleanup(run.process.communicate)
        self.addCleanup(run.kill_all)
        return run

    def run_to_end(self, *argv, limit=60, **options):
        return self.begin(*argv, **options).wait(limit)

    def toprun(self, *argv, limit=60, **options):
        """Runs toprun to its end and checks that no process is left."""
        run = self.begin(binary(), *argv, **options)
        finished = run.wait(limit)
        self.assert_nothing_left(run)
        return finished

    def assert_nothing_left(self, run):
        deadline = time.monotonic() + TIME_TO_VANISH_S
        while (left := run.processes()) and time.monotonic() < deadline:
            time.sleep(0.05)
        self.assertEqual(left, {}, "processes left behind")

    def assert_ok(self, finished):
        self.assertEqual(finished.code, 0, finished)

    def assert_one_line(self, finished, pattern):
        """All that toprun says is one line, and that is of this form."""
        self.assertRegex(finished.err, rf"\Atoprun: {pattern}\n\Z", finished)
