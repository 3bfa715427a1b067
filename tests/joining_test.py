# ctest: TIMEOUT 400 LABELS cluster
"""Agents that end before they have joined: the others learn it within seconds, with the reason, and not
after join_timeout's ten minutes."""

import os
import signal
import unittest

import cluster
import support
from mpi_test import AGENTS, MpiCase, counts

TOPRUN = support.TOPRUN
SOON_S = 40  # well below join_timeout, on a slow machine too
HOSTS = ["n0", "n1", "n2"]


class Missing:
    """What a host lacks; start_all() starts toprun on n0, n1 and n2, with n0's agent the root."""

    def hidden(self, host):
        """A script that all hosts have but this one."""
        folder = self.folder()
        script = folder / "train.sh"
        script.write_text("#!/bin/sh\nexec sleep 60\n")
        script.chmod(0o755)
        self.assert_ok(self.run_to_end(*self.cluster.on(host, "mount", "-t", "tmpfs", "none", folder)))
        self.addCleanup(self.run_to_end, *self.cluster.on(host, "umount", folder))
        return script

    def test_a_script_that_one_host_lacks(self):
        for host in ("n2", "n0"):
            with self.subTest(host):
                script = self.hidden(host)
                finished = self.start_all("--no-python", script)
                self.assertEqual(finished.code, 2, finished)
                self.assertRegex(finished.err, rf"(?m)^toprun: .*{host}.*{script}.*: No such file or directory")
                self.assertEqual(finished.err.count("No such file or directory; check the path"), 1, finished)


class InSlurm(Missing, cluster.SlurmCase):
    UP = ("--hosts", "3", "--racks", "1", "--slurm")

    def start_all(self, *words):
        return self.srun("-N3", TOPRUN, *words, limit=SOON_S)

    def each(self, *words):
        """The words on each node, with $NODE for its number."""
        return ["-N3", "bash", "-c", 'NODE=$SLURM_NODEID; eval "$0"', " ".join(words)]

    def test_a_step_of_toprun_s_own(self):
        script = self.hidden("n2")
        finished = self.on("ctl", "salloc", "-N3", TOPRUN, "--no-python", script, limit=SOON_S)
        self.assertEqual(finished.code, 2, finished)
        self.assertRegex(finished.err, f"n2.*{script}.*: No such file or directory")

    def test_an_end_without_a_word(self):
        for node, words in [(2, "n2 has ended before it joined"),
                            (0, "n0 has ended before this node, n1, could join")]:
            with self.subTest(node):
                finished = self.srun(*self.each(
                    f"[ $NODE != {node} ] || exit 0;", "exec", TOPRUN, "--no-python", "true"), limit=SOON_S)
                self.assertEqual(finished.code, 1, finished)
                self.assertIn(words, finished.err)

    def test_an_agent_that_is_killed(self):
        pids = self.folder()
        run = self.start("ctl", "srun", *self.each(
            f"[ $NODE != 0 ] || until [ -e {pids}/go ]; do sleep 0.1; done;",
            f"[ $NODE != 2 ] || echo $$ >{pids}/keeper;", "exec", TOPRUN, "--no-python", "true"))
        keeper = cluster.wait_for(lambda: (pids / "keeper").exists() and (pids / "keeper").read_text(),
                                  "the keeper").strip()
        agent = cluster.wait_for(lambda: support.children(int(keeper)), "the agent")[0]
        os.kill(agent, signal.SIGKILL)
        (pids / "go").touch()
        finished = run.wait(SOON_S)
        self.assertEqual(finished.code, 1, finished)
        self.assertIn(f"n2: the agent (pid {agent}) was killed by signal 9", finished.err)

    def test_a_root_that_is_killed_with_its_keeper(self):
        pids = self.folder()
        run = self.start("ctl", "srun", *self.each(
            f"[ $NODE = 0 ] || until [ -e {pids}/go ]; do sleep 0.1; done;",
            f"[ $NODE != 0 ] || echo $$ >{pids}/keeper;", "exec", TOPRUN, "--no-python", "true"))
        keeper = cluster.wait_for(lambda: (pids / "keeper").exists() and (pids / "keeper").read_text(),
                                  "the keeper").strip()
        agent = cluster.wait_for(lambda: support.children(int(keeper)), "the agent")[0]
        os.kill(int(keeper), signal.SIGKILL)
        os.kill(agent, signal.SIGKILL)
        (pids / "go").touch()
        finished = run.wait(SOON_S)
        self.assertIn("n0 has ended before this node", finished.err)


class OverSsh(Missing, MpiCase):
    def start_all(self, *words):
        return self.on("ctl", TOPRUN, "--hosts", ",".join(HOSTS), *words, limit=SOON_S,
                       env={"TOPRUN_SSH": self.daemons.ssh()})


class UnderMpirun(Missing, MpiCase):
    def start_all(self, *words):
        return self.mpirun("--host", counts(n0=1, n1=1, n2=1), *AGENTS, TOPRUN, *words, limit=SOON_S)


class ByHand(cluster.TestCase):
    """The same node rank twice, as scripts give it that expand $SLURM_NODEID too early."""
    UP = ("--hosts", "2", "--racks", "1")

    def both(self, *options, ranks=("0", "0")):
        return [self.start(host, TOPRUN, "--nnodes", "2", *options, "--node-rank", rank,
                           *cluster.shows("RANK", "TOPRUN_NODE_NAME"))
                for host, rank in zip(("n0", "n1"), ranks)]

    def test_with_c10d_the_endpoint_decides(self):
        for endpoint, ranks in [("n0", "00"), ("n1", "00"), ("n1", "01"), ("n0", "10"), ("n0", "55")]:
            with self.subTest((endpoint, ranks)):
                runs = self.both("--rdzv-backend", "c10d", "--rdzv-endpoint", f"{endpoint}:29400", ranks=ranks)
                ended = [run.wait(SOON_S) for run in runs]
                for finished in ended:
                    self.assert_ok(finished)
                rows = cluster.shown("".join(finished.out for finished in ended))
                self.assertEqual(cluster.column(rows, "RANK"), ["0", "1"])
                if ranks in ("01", "10"):  # each another: then it is the order
                    self.assertEqual(cluster.column(rows, "TOPRUN_NODE_NAME"),
                                     ["n0", "n1"] if ranks == "01" else ["n1", "n0"])
                root = ended[int(endpoint[1])]
                self.assertEqual("--node-rank" in root.err, ranks in ("00", "55"), root)

    def test_two_that_disagree_about_restarts(self):
        meet = ["--rdzv-backend", "c10d", "--rdzv-endpoint", "n0:29400"]
        root = self.start("n0", TOPRUN, "--nnodes", "2", *meet, "--max-restarts", "3", *cluster.shows("RANK"))
        other = self.start("n1", TOPRUN, "--nnodes", "2", *meet, "--max-restarts", "1", *cluster.shows("RANK"))
        refused = other.wait(SOON_S)
        self.assertEqual(refused.code, 1, refused)
        self.assert_one_line(refused, "refused by .* n0.*: n1 was started with --max-restarts 1, but the root agent "
                                      "on n0 with 3: give all nodes the same value")
        # The first goes on waiting for one that agrees.
        agreed = self.start("n1", TOPRUN, "--nnodes", "2", *meet, "--max-restarts", "3", *cluster.shows("RANK"))
        self.assert_ok(agreed.wait(SOON_S))
        finished = root.wait(SOON_S)
        self.assert_ok(finished)
        self.assertIn("toprun: refused an agent on n1: n1 was started with --max-restarts 1", finished.err)

    def test_a_late_one_that_disagrees_about_restarts(self):
        folder = self.folder()
        words = ["--rdzv-backend", "c10d", "--rdzv-endpoint", "n0:29400", "--rdzv-conf", "last_call_timeout=1",
                 "--no-python", "sh", "-c", f">{folder}/began; while [ ! -e {folder}/end ]; do sleep 0.1; done"]
        root = self.start("n0", TOPRUN, "--nnodes", "1:2", "--max-restarts", "3", *words)
        self.wait_for_files(folder, 1)
        late = self.start("n1", TOPRUN, "--nnodes", "1:2", "--max-restarts", "1", *words)
        self.assertIn(b"waiting as a spare", late.process.stderr.readline())
        (folder / "end").touch()
        late.wait(SOON_S)
        finished = root.wait(SOON_S)
        self.assert_ok(finished)
        self.assertIn("toprun: n1 has --max-restarts 1; the 3 of the root agent on n0 is used", finished.err)

    def test_two_of_one_host(self):
        runs = [self.start("n0", TOPRUN, "--nnodes", "2", "--rdzv-backend", "c10d", "--rdzv-endpoint",
                           "n0:29400", "--node-rank", "0", *cluster.shows("RANK")) for _ in range(2)]
        ended = [run.wait(SOON_S) for run in runs]
        for finished in ended:
            self.assert_ok(finished)
        rows = cluster.shown("".join(finished.out for finished in ended))
        self.assertEqual(cluster.column(rows, "RANK"), ["0", "1"])

    def test_two_static_roots_find_each_other(self):
        first, second = self.both("--master-addr", "n0", "--master-port", "29500")
        finished = second.wait(SOON_S)
        self.assertEqual(finished.code, 1, finished)
        self.assertIn("this node, n1, was started as the job's root: the root is already at n0; give each node a "
                      "different --node-rank", finished.err)
        # The first goes on waiting, and works once the other is given its own number.
        other = self.start("n1", TOPRUN, "--nnodes", "2", "--node-rank", "1", "--master-addr", "n0",
                           "--master-port", "29500", *cluster.shows("RANK"))
        self.assert_ok(other.wait(SOON_S))
        self.assert_ok(first.wait(SOON_S))


class VariablesOfOthers(support.TestCase):
    """RANK and WORLD_SIZE that nobody set whom toprun knows."""

    def world(self, rank, **more):
        return {"RANK": str(rank), "WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1",
                "MASTER_PORT": str(support.free_port()), **more}

    def test_two_worlds_of_one_are_refused(self):
        finished = self.toprun("--no-python", "true", env=self.world(1))
        self.assertEqual(finished.code, 2, finished)
        self.assert_one_line(finished, r"RANK=1 and WORLD_SIZE=2 are set: another program has started 2 processes, .*"
                                       r"--nnodes 2 --node-rank 1 --master-addr 127\.0\.0\.1 .*--ranks-in-place.*")

    def test_one_node_by_wish(self):
        finished = self.toprun("--standalone", *cluster.shows("RANK", "WORLD_SIZE"), env=self.world(1))
        self.assert_ok(finished)
        self.assertEqual(cluster.shown(finished.out), [{"RANK": "0", "WORLD_SIZE": "1"}])

    def test_ranks_in_place_take_them(self):
        world = self.world(0)
        runs = [self.begin(support.binary(), "--ranks-in-place", *cluster.shows("RANK", "LOCAL_RANK", "WORLD_SIZE"),
                           env={**world, "RANK": rank, "LOCAL_RANK": rank}) for rank in "01"]
        ended = [run.wait(SOON_S) for run in runs]
        for finished in ended:
            self.assert_ok(finished)
        rows = cluster.shown("".join(finished.out for finished in ended))
        self.assertEqual([(row["RANK"], row["LOCAL_RANK"], row["WORLD_SIZE"]) for row in rows],
                         [("0", "0", "2"), ("1", "1", "2")])


if __name__ == "__main__":
    unittest.main()
