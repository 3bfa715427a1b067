"""A job of either launcher on two virtual hosts, and when its processes ended."""

import contextlib
import dataclasses
import itertools
import os
import pathlib
import re
import select
import shutil
import signal
import sys
import tempfile
import threading
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent.parent / "tests"))

import cluster
import support

NPROC = 2
SET_UP_S = 60  # until all workers run: torchrun imports torch first
PORTS = itertools.count(29_600)
TICK_HZ = os.sysconf("SC_CLK_TCK")

# A worker that does nothing until it is told to fail. In a file: torchrun expands $ in arguments.
IDLE = """\
trap {on_term} TERM
echo $$ $(hostname) >"$ROOT/worker.$RANK"
while [ ! -e "$ROOT/fail.$RANK" ]; do sleep 0.02; done
exit 7
"""


@dataclasses.dataclass(frozen=True)
class Launcher:
    name: str
    command: tuple
    environment: tuple = ()  # of (name, value)

    def words(self, nnodes, endpoint, *options):
        return [*self.command, "--nnodes", str(nnodes), "--nproc-per-node", str(NPROC),
                "--rdzv-backend", "c10d", "--rdzv-endpoint", endpoint, "--rdzv-id", "failures",
                *options]


def toprun():
    return Launcher("toprun", (support.binary(),))


def torchrun():
    return Launcher("torchrun", tuple(support.torchrun()))


class Hosts(cluster.Cluster):
    def __enter__(self):
        self.up()
        return self

    def __exit__(self, *_):
        self.down()


class Watched(support.Run):
    """A command whose lines of output are kept with the time at which they came."""

    def __init__(self, argv, **options):
        super().__init__(argv, **options)
        self.lines = []  # (seconds after the start, text)
        self.readers = [threading.Thread(target=self._read, args=(stream,), daemon=True)
                        for stream in (self.process.stdout, self.process.stderr)]
        for reader in self.readers:
            reader.start()

    def _read(self, stream):
        for line in stream:
            self.lines.append((time.monotonic() - self.start, line.decode(errors="replace")))

    def text(self):
        return "".join(line for _, line in list(self.lines))

    def first(self, pattern):
        """When a line of this form first came; None if it never did."""
        return next((at for at, line in list(self.lines) if re.search(pattern, line)), None)

    def ended(self, limit):
        """(seconds from the start, exit code), both None if it runs longer than `limit` seconds."""
        with contextlib.suppress(Exception):
            self.process.wait(max(0, self.start + limit - time.monotonic()))
        if self.process.returncode is None:
            return None, None
        return time.monotonic() - self.start, self.process.returncode


class Job:
    """One run; everything of it is gone after `with`."""

    def __init__(self, hosts, launcher, nodes=2):
        self.hosts, self.launcher, self.nodes = hosts, launcher, nodes
        self.port = next(PORTS)
        self.root = pathlib.Path(tempfile.mkdtemp(prefix="toprun-bench-"))
        self.runs = []

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for run in self.runs:
            while run.processes():
                run.kill_all()
                time.sleep(0.02)
            run.process.wait()
        shutil.rmtree(self.root, ignore_errors=True)

    def start(self, *program, options=(), endpoint="n0", environment=None, hosts=None):
        """The launcher on each of the hosts; the program's words follow --no-python and the like."""
        ours = {"ROOT": str(self.root), "OMP_NUM_THREADS": "1", "TMPDIR": str(self.root),
                "PYTHON_EXEC": support.python(),
                **dict(self.launcher.environment), **(environment or {})}
        for host in hosts or [f"n{i}" for i in range(self.nodes)]:
            words = self.launcher.words(self.nodes, f"{endpoint}:{self.port}", *options)
            self.runs.append(Watched(self.hosts.on(host, *words, *program), env=ours))
        return self

    def start_idle(self, on_term="-", **more):
        """Idle workers; `on_term` is what the shell's trap does."""
        script = self.root / "idle.sh"
        script.write_text(IDLE.replace("{on_term}", on_term))
        return self.start("--no-python", "sh", script, **more)

    def idle(self, **more):
        """Idle workers, all of them running."""
        self.start_idle(**more)
        support.wait_until(lambda: len(self.workers()) == self.nodes * NPROC, SET_UP_S,
                           "all workers run")
        return self

    def workers(self):
        """{rank: (pid, host)}."""
        found = {}
        for path in self.root.glob("worker.*"):
            if len(words := path.read_text().split()) == 2:
                found[int(path.suffix[1:])] = (int(words[0]), words[1])
        return found

    def pids_on(self, host):
        return [pid for pid, where in self.workers().values() if where == host]


class Ends:
    """When processes end, whoever's children they are."""

    def __init__(self, pids):
        self.at = {}
        self.open = {os.pidfd_open(pid): pid for pid in pids}
        self.poll = select.poll()
        for fd in self.open:
            self.poll.register(fd, select.POLLIN)

    def wait(self, limit, until=()):
        """Until all of them, or those in `until`, have ended, or the limit is over."""
        wanted = set(until) or set(self.open.values())
        deadline = time.monotonic() + limit
        while not wanted <= self.at.keys() and (left := deadline - time.monotonic()) > 0:
            for fd, _ in self.poll.poll(left * 1000):
                self.at[self.open.pop(fd)] = time.monotonic()
                self.poll.unregister(fd)
                os.close(fd)
        return self

    def last(self, pids, since):
        """When the last of them ended, in seconds after `since`; None if one still runs."""
        if not all(pid in self.at for pid in pids):
            return None
        return max(0.0, max(self.at[pid] for pid in pids) - since)

    def close(self):
        for fd in self.open:
            os.close(fd)


def started_at(pid):
    """When a process was made, in seconds of CLOCK_MONOTONIC's suspending twin, BOOTTIME."""
    stat = pathlib.Path(f"/proc/{pid}/stat").read_text()
    return int(stat.rpartition(")")[2].split()[19]) / TICK_HZ


def boot_time():
    return time.clock_gettime(time.CLOCK_BOOTTIME)


def names_the_failure(text):
    """Whether it says which rank, on which host, with which exit code."""
    return all(re.search(pattern, text, re.I) for pattern in (
        r"rank\s*:?\s*3\b", r"\bn1\b", r"exit ?code\D{0,4}7\b"))


def kill(pid):
    os.kill(pid, signal.SIGKILL)
