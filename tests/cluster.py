"""Virtual clusters for the end-to-end tests, one per test class.

    class Cases(cluster.TestCase):
        UP = ("--hosts", "4", "--racks", "2", "--slurm")   # the words of `vcluster up`
"""

import contextlib
import os
import pathlib
import re
import shlex
import signal
import subprocess
import sys
import unittest

import support

sys.path.insert(0, str(support.REPOSITORY / "tools"))
from vcluster_lib import errors, namespaces, slurm, state

VCLUSTER = [sys.executable, "-B", str(support.REPOSITORY / "tools/vcluster")]
UP_LIMIT_S = 90
JOBS_VANISH_S = 20  # Slurm's KillWait and what it takes to tell every node

# A worker in the shell. `shown` is what shows() prints of one: name=value words behind a mark.
SHOWN = re.compile(r"^shown (.*)$", re.M)

# A program of another user's that answers whoever comes to the port, and what it may say there.
PRETENDER = """\
import pathlib, socket, sys
port, folder, answer = sys.argv[1:]
listener = socket.create_server(("", int(port)))
pathlib.Path(folder, socket.gethostname()).touch()
held = []
while True:
    held.append(listener.accept()[0])
    held[-1].sendall(answer.encode() + b"\\n")
"""
PRETENDED = ["toprun/1 refused secret 0.1.0", "toprun/1 refused version 9.9.9",
             f"toprun/1 0.1.0 root {'0' * 32} {'0' * 16} {'0' * 64} munge:MUNGE:AwQFAAB:"]


def reason_not_possible(with_slurm):
    """Why this machine cannot have a cluster, None if it can."""
    try:
        namespaces.check_permitted(os.geteuid() != 0)
        if with_slurm:
            slurm.check_permitted(os.geteuid() != 0)
    except errors.VclusterError as error:
        return str(error)
    return None


def shows(*names, then="true"):
    """The words of a worker that prints these variables, then does something in the shell."""
    words = " ".join(f"{name}=${{{name}-unset}}" for name in names)
    return ["--no-python", "bash", "-c", f'echo "shown {words}"; {then}']


def shown(output):
    """What the workers of shows() printed, by rank."""
    rows = [dict(word.split("=", 1) for word in line.split()) for line in SHOWN.findall(output)]
    return sorted(rows, key=lambda row: int(row.get("RANK", 0)))


def column(rows, name):
    return [row[name] for row in rows]


def wait_for(condition, what, limit=30):
    """The first true value of condition(); fails after `limit` seconds."""
    return support.wait_until(condition, limit, what)


def parent(pid):
    try:
        status = pathlib.Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return None
    return int(re.search(r"^PPid:\t(\d+)$", status, re.M)[1])


def agents(run):
    """The pids of its agents: toprun processes that a toprun process, their keeper, started."""
    ours = {pid for pid, line in run.processes().items()
            if line.split(" ", 1)[0] == support.TOPRUN}
    return sorted(pid for pid in ours if parent(pid) in ours)


class Cluster:
    made = 0

    def __init__(self, *words):
        Cluster.made += 1
        self.name = f"test-{os.getpid()}-{Cluster.made}"
        self.words = words

    def _vcluster(self, verb, *words):
        return subprocess.run([*VCLUSTER, verb, "--name", self.name, *words], text=True,
                              capture_output=True, timeout=UP_LIMIT_S)

    def up(self):
        done = self._vcluster("up", *self.words)
        if done.returncode != 0:
            raise AssertionError(f"vcluster up {' '.join(self.words)}: {done.stderr}")
        self.state = state.load(self.name)

    def down(self):
        self._vcluster("down")

    def cut(self, host):
        subprocess.run([*VCLUSTER, "cut", "--name", self.name, host], check=True)

    def join(self, host):
        subprocess.run([*VCLUSTER, "join", "--name", self.name, host], check=True)

    def power_off(self, host):
        """Nothing of what ran there runs any more, and nobody is told."""
        self.cut(host)
        now = state.load(self.name)
        here = namespaces.netns_of(now.holders[host])
        while left := [pid for pid, space in namespaces.processes(now).items()
                       if space == here and pid != now.holders[host]]:
            for pid in left:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)

    def power_on(self, host):
        self.join(host)
        now = state.load(self.name)
        subprocess.run([*namespaces.inside(now, host), "slurmd", "-N", host], check=True,
                       env=namespaces.environment(now))

    def on(self, host, *command):
        """The words that run a command on a host, in the folder where they are run. As `vcluster exec`,
        but without a Python that starts first: a thousand times in all tests."""
        *enter, _, end = namespaces.inside(self.state, host)
        ours = {"HOSTNAME": host, **namespaces.of_the_cluster(self.state)}
        variables = shlex.join(f"{name}={value}" for name, value in ours.items())
        return ["sh", "-c", f'exec {shlex.join(enter)} --wdns="$PWD" {end} '
                            f'env PATH="$PATH{namespaces.OF_ADMINISTRATORS}" {variables} "$@"', "sh", *command]


class TestCase(support.TestCase):
    UP = ()

    @classmethod
    def setUpClass(cls):
        support.binary()
        reason = reason_not_possible(with_slurm="--slurm" in cls.UP)
        if reason:
            raise unittest.SkipTest(f"no virtual cluster: {reason}")
        cls.cluster = Cluster(*cls.UP)
        cls.addClassCleanup(cls.cluster.down)
        cls.cluster.up()

    def on(self, host, *command, limit=60, **options):
        """Runs a command on a host to its end; nothing of it may be left on any host."""
        run = self.begin(*self.cluster.on(host, *command), **options)
        finished = run.wait(limit)
        self.assert_nothing_left(run)
        return finished

    def start(self, host, *command, **options):
        return self.begin(*self.cluster.on(host, *command), **options)

    def wait_for_files(self, folder, count, limit=30):
        """Until the workers have written that many files: all of them run then."""
        wait_for(lambda: len(list(folder.iterdir())) == count, f"{count} workers", limit)


class SlurmCase(TestCase):
    """Cases on the cluster's Slurm, commands given at its login host."""
    jobs_vanish_s = JOBS_VANISH_S

    def tearDown(self):
        # A job that a failed case left would keep the next one waiting.
        self.login("scancel", "--user=root")
        wait_for(lambda: not self.login("squeue", "--noheader").out, "jobs end", self.jobs_vanish_s)

    def login(self, *command, **options):
        return self.begin(*self.cluster.on("ctl", *command), **options).wait(60)

    def srun(self, *words, **options):
        return self.on("ctl", "srun", *words, **options)

    def sbatch(self, header, *lines, limit=60, env=None):
        """Runs a batch script to its end and returns what it printed."""
        folder = self.folder()
        script, output = folder / "job.sh", folder / "out"
        script.write_text("\n".join(["#!/bin/bash", f"#SBATCH {header}", *lines,
                                     'echo "batch exit code $?"', ""]))
        run = self.begin(*self.cluster.on("ctl", "sbatch", "-o", output, script), env=env)
        submitted = run.wait(30)
        self.assert_ok(submitted)
        wait_for(lambda: output.exists() and "batch exit code" in output.read_text(),
                 f"the job ends\n{output.read_text() if output.exists() else 'not begun'}", limit)
        self.assert_nothing_left(run)
        text = output.read_text()
        return int(re.search(r"^batch exit code (\d+)$", text, re.M)[1]), text
