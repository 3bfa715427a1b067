# ctest: TIMEOUT 300 LABELS cluster
"""--warm on several nodes: in a real Slurm, and over a real sshd. A module of the environment writes a
line whenever a Python imports it: where ranks are forks there is one for each warm parent and none for a rank."""

import os
import signal
import sys
import unittest

import cluster
import support
from ssh_cases import SshCase

TOPRUN = support.TOPRUN
LIMIT_S = 60

MODULE = """
import os
with open(os.path.join(os.path.dirname(__file__), 'imports'), 'a') as file:
    file.write(f"{os.uname().nodename} {os.getpid()}\\n")
"""
# The first attempt's rank 1 fails once the test says so; the ranks of the second end by themselves.
SCRIPT = """
import os, pathlib, sys, time
import odd
folder, attempt, rank = pathlib.Path(sys.argv[1]), os.environ['TOPRUN_ATTEMPT'], os.environ['RANK']
(folder / f'{attempt}.{rank}').write_text(f"{os.getpid()} {hash('text')} {os.environ['TOPRUN_NODE_NAME']}")
while attempt == '0' and not (rank == '1' and (folder / 'go').exists()):
    time.sleep(0.05)
sys.exit(7 if attempt == '0' else 0)
"""


class Job:
    """A job's files: what its parents and ranks wrote."""

    def __init__(self, folder):
        self.folder = folder
        (folder / "modules").mkdir()
        (folder / "ranks").mkdir()
        (folder / "modules/odd.py").write_text(MODULE)
        (folder / "script.py").write_text(SCRIPT)
        self.words = ["--nproc-per-node", "2", "--max-restarts", "1", "-v", "--warm=odd", folder / "script.py",
                      folder / "ranks"]
        self.env = {"PYTHON_EXEC": sys.executable, "OMP_NUM_THREADS": "1", "PYTHONPATH": str(folder / "modules"),
                    "PYTHONDONTWRITEBYTECODE": "1"}

    def imports(self):
        """[host, pid] of each Python that has imported the module."""
        path = self.folder / "modules/imports"
        return [line.split() for line in path.read_text().splitlines()] if path.exists() else []

    def ranks(self, attempt):
        """{rank: [pid, seed, host]} of those that run or ran in the attempt."""
        return {path.suffix[1:]: path.read_text().split() for path in (self.folder / "ranks").glob(f"{attempt}.*")}

    def wait_for_ranks(self, attempt, count):
        cluster.wait_for(lambda: [len(rank) for rank in self.ranks(attempt).values()] == [3] * count,
                         f"{count} ranks of attempt {attempt}", LIMIT_S)

    def fail(self):
        (self.folder / "ranks/go").touch()

    def seeds(self, attempt):
        """{host: the seeds of its ranks' hashes}, which forks of one parent have in common."""
        found = {}
        for _, seed, host in self.ranks(attempt).values():
            found.setdefault(host, set()).add(seed)
        return found


class WarmNodes:
    """The cases; `begin_job` starts toprun on n0 and n1."""

    def setUp(self):
        self.job = Job(self.folder())

    def finish(self, run, imports):
        finished = run.wait(LIMIT_S)
        self.assert_ok(finished)
        self.assertNotIn("left out", finished.err)
        self.assertEqual(sorted(host for host, _ in self.job.imports()), imports, finished)
        for host in set(imports):
            self.assertRegex(finished.err, rf"{host}: the imports for --warm took \d+\.\d s: odd")
        self.assert_nothing_left(run)
        return finished

    def test_a_restart_forks_from_the_same_parents(self):
        run = self.begin_job()
        self.job.wait_for_ranks(0, 4)
        parents = {pid for _, pid in self.job.imports()}
        self.assertFalse(parents & {pid for pid, _, _ in self.job.ranks(0).values()}, "ranks are forks")
        self.job.fail()
        self.finish(run, ["n0", "n1"])
        self.assertEqual(sorted(self.job.ranks(1)), ["0", "1", "2", "3"])
        for host, seeds in self.job.seeds(0).items():
            self.assertEqual(len(seeds), 1, host)
            self.assertEqual(self.job.seeds(1)[host], seeds, host)

    def test_a_parent_that_was_killed_is_replaced(self):
        run = self.begin_job()
        self.job.wait_for_ranks(0, 4)
        _, pid = next(parent for parent in self.job.imports() if parent[0] == "n1")
        os.kill(int(pid), signal.SIGKILL)
        self.job.fail()
        self.finish(run, ["n0", "n1", "n1"])
        before, after = self.job.seeds(0), self.job.seeds(1)
        self.assertEqual(before["n0"], after["n0"])
        self.assertNotEqual(before["n1"], after["n1"])
        self.assertEqual([len(after["n0"]), len(after["n1"])], [1, 1])


class InSlurm(WarmNodes, cluster.SlurmCase):
    UP = ("--hosts", "2", "--slurm")

    def begin_job(self):
        return self.start("ctl", "srun", "-N2", TOPRUN, *self.job.words, env=self.job.env)


class OverSsh(WarmNodes, SshCase):
    UP = ("--hosts", "3")
    HOSTS = ["n0", "n1", "n2"]

    def begin_job(self):
        return self.start("ctl", TOPRUN, "--hosts", "n[0-1]", *self.job.words,
                          env={**self.job.env, "TOPRUN_SSH": self.daemons.ssh()})


class Elastic(cluster.TestCase):
    UP = ("--hosts", "3")

    def test_a_spare_imports_while_it_waits(self):
        job = Job(self.folder())

        def agent(host):
            return self.start(host, TOPRUN, "--nnodes", "2:2", "--rdzv-backend", "c10d", "--rdzv-endpoint", "n0:29741",
                              "--rdzv-conf", "last_call_timeout=1", *job.words, env=job.env)

        runs = {host: agent(host) for host in ("n0", "n1")}
        job.wait_for_ranks(0, 4)
        runs["n2"] = agent("n2")
        cluster.wait_for(lambda: "n2" in [host for host, _ in job.imports()], "the spare imports", LIMIT_S)
        self.assertEqual(set(job.seeds(0)), {"n0", "n1"}, "it has no ranks yet")
        self.cluster.power_off("n1")
        job.wait_for_ranks(1, 4)
        self.assertEqual(set(job.seeds(1)), {"n0", "n2"})
        for host in ("n0", "n2"):
            self.assert_ok(runs[host].wait(LIMIT_S))
            self.assertEqual(len(job.seeds(1)[host]), 1, host)
        self.assertEqual(sorted(host for host, _ in job.imports()), ["n0", "n1", "n2"], "no rank has imported")
        self.assertEqual(job.seeds(0)["n0"], job.seeds(1)["n0"])


if __name__ == "__main__":
    unittest.main()
