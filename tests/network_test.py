# ctest: TIMEOUT 300 LABELS cluster
"""Agents started by hand on hosts as real ones are: names that do not resolve, interfaces that lead
nowhere, IPv6 only; and hosts, agents and networks that fail while the job runs."""

import os
import pathlib
import re
import signal
import time
import unittest

import cluster
import support
from cluster import column, shown, shows, wait_for

TOPRUN = support.TOPRUN
PORT = "29511"
# Connects to the store's address, whatever its family is.
CONNECTS = ('python3 -c "import os, socket; socket.create_connection((os.environ[\'MASTER_ADDR\'], '
            'int(os.environ[\'MASTER_PORT\'])), 10)" && echo connected')
VARIABLES = ("RANK", "TOPRUN_NODE_NAME", "MASTER_ADDR", "MASTER_PORT", "GLOO_SOCKET_IFNAME")

SILENCE_S = 3  # keep_alive_interval · keep_alive_max_attempt below
QUICK = ["--rdzv-conf", "keep_alive_interval=1,keep_alive_max_attempt=3"]
SLACK_S = 6     # on two busy cores
STALL_LIMIT_S = 4  # the keeper's: SILENCE_S and two beats

SUM = """\
import os, socket, torch, torch.distributed as dist
dist.init_process_group("gloo")
one = torch.ones(1000) * (dist.get_rank() + 1)
dist.all_reduce(one)
interfaces = [os.environ.get(name + "_SOCKET_IFNAME") for name in ("GLOO", "NCCL")]
print(f"sum {one[-1].item():.0f}", *interfaces, flush=True)
dist.destroy_process_group()
"""


class Agents(cluster.TestCase):
    """Cases on clusters without a scheduler: one toprun on each of the hosts n0 … ."""

    UP = ("--hosts", "2")
    MASTER = "n0"

    def words(self, *options, hosts=2):
        return [TOPRUN, "--nnodes", str(hosts), "--rdzv-backend", "c10d", "--rdzv-endpoint",
                f"{self.MASTER}:{PORT}", *options]

    def everywhere(self, *words, hosts=2, by_rank=False, limit=60, **options):
        """Runs it on all hosts to its end; returns what each of them said."""
        runs = []
        for host in range(hosts):
            rank = ["--node-rank", str(host)] if by_rank else []
            runs.append(self.start(f"n{host}", *self.words(*rank, hosts=hosts), *words, **options))
        finished = [run.wait(limit) for run in runs]
        for run in runs:
            self.assert_nothing_left(run)
        return finished

    def assert_all_ok(self, finished):
        for one in finished:
            self.assert_ok(one)
        return shown("".join(one.out for one in finished))

    def assert_gloo_works(self, expected_interface, by_rank=False, hosts=2, nccl_interface=None):
        program = self.folder() / "sum.py"
        program.write_text(SUM)
        finished = self.everywhere(program, by_rank=by_rank, hosts=hosts, limit=120, env={
            "PYTHON_EXEC": support.python(), "OMP_NUM_THREADS": "1"})
        total = hosts * (hosts + 1) // 2
        for one in finished:
            self.assert_ok(one)
            self.assertEqual(one.out, f"sum {total} {expected_interface} {nccl_interface}\n")


class OwnNameIsLoopback(Agents):
    """127.0.1.1, as Debian's installer leaves it: Gloo alone would bind there and fail."""

    UP = ("--hosts", "2", "--own-name", "127.0.1.1")

    def test_the_way_to_itself_names_no_interface(self):
        finished = self.on("n0", support.binary(), "net", "env", "--to", "n0", "--shell")
        self.assert_ok(finished)
        self.assertNotIn("SOCKET_IFNAME", finished.out)
        self.assertRegex(finished.err, r"(?m)^toprun: --to n0: the name resolves to a loopback address of this host, ")
        other = self.on("n0", support.binary(), "net", "env", "--to", "n1", "--shell")
        self.assertIn("GLOO_SOCKET_IFNAME=", other.out)
        self.assertNotIn("loopback", other.err)

    def test_gloo_between_two_hosts(self):
        self.assert_gloo_works("eth0", by_rank=False)


class OwnNameIsUnknown(Agents):
    UP = ("--hosts", "2", "--own-name", "none")

    def test_gloo_between_two_hosts(self):
        self.assert_gloo_works("eth0", by_rank=True)

    def test_an_interface_of_the_users_own_is_kept(self):
        rows = self.assert_all_ok(self.everywhere(
            *shows(*VARIABLES), by_rank=True, env={"GLOO_SOCKET_IFNAME": "eth7"}))
        self.assertEqual(column(rows, "GLOO_SOCKET_IFNAME"), ["eth7", "eth7"])


class SeveralInterfaces(Agents):
    """eth0 leads nowhere, docker0 has the same address everywhere; only eth1 is the cluster's."""

    UP = ("--hosts", "3", "--nics", "2", "--cluster-nic", "1", "--docker0")

    def test_the_reachable_address_is_found(self):
        for order in (["n0", "n1", "n2"], ["n2", "n0", "n1"]):
            with self.subTest(order):
                listed = self.folder() / "order"
                listed.write_text("\n".join(order))
                finished = self.everywhere("-v", "--order", f"file:{listed}",
                                           *shows(*VARIABLES, then=CONNECTS), hosts=3)
                rows = self.assert_all_ok(finished)
                self.assertEqual(column(rows, "TOPRUN_NODE_NAME"), order)
                first = self.address(order[0])
                # The store moves along with rank 0, the root stays where the endpoint is.
                self.assertEqual(column(rows, "MASTER_ADDR"), [first] * 3)
                self.assertEqual(sum(one.out.count("connected") for one in finished), 3)
                self.assertIn(f"the store is on {order[0]}", finished[0].err)

    def test_a_collective_takes_the_clusters_interface(self):
        self.assert_gloo_works(None, hosts=3, nccl_interface="=eth1")

    def test_nothing_is_set_with_fabric_off(self):
        rows = self.assert_all_ok(self.everywhere("--fabric", "off", *shows("RANK", "NCCL_SOCKET_IFNAME"), hosts=3))
        self.assertEqual(column(rows, "NCCL_SOCKET_IFNAME"), ["unset"] * 3)

    def address(self, host):
        text = self.on(host, "ip", "-4", "-o", "address", "show", "dev", "eth1").out
        return re.search(r"inet ([\d.]+)", text)[1]


class IPv6Only(Agents):
    UP = ("--hosts", "2", "--family", "ipv6")

    def test_master_addr_is_a_literal_with_a_note(self):
        finished = self.everywhere(*shows(*VARIABLES, then=CONNECTS))
        rows = self.assert_all_ok(finished)
        self.assertEqual(len(rows), 2)
        for row, one in zip(rows, finished):
            self.assertRegex(row["MASTER_ADDR"], r"^[0-9a-f:]+$")
            self.assertIn("connected", one.out)
            self.assertIn("reachable by IPv6 only", one.err)

    def test_a_collective_works(self):
        self.assert_gloo_works(None)


class Failures(Agents):
    UP = ("--hosts", "3")

    def running(self, *options):
        """Three agents with two workers each that run until they are stopped."""
        folder = self.folder()
        runs = [self.start(f"n{host}", *self.words(*QUICK, *options, hosts=3), "--nproc-per-node",
                           "2", *shows("RANK", then=f"touch {folder}/$RANK; exec sleep 100"))
                for host in range(3)]
        self.wait_for_files(folder, 6)
        return runs

    def assert_all_end(self, runs, within, *, but=()):
        finished = [run.wait(within + 30) for run in runs]
        for host, run in enumerate(runs):
            self.assert_nothing_left(run)
            if host not in but:
                self.assertNotEqual(finished[host].code, 0, finished[host])
        return finished

    def test_a_host_is_cut_off(self):
        runs = self.running()
        self.cluster.cut("n2")
        self.addCleanup(self.cluster.join, "n2")
        cut = time.monotonic()
        for run in runs:
            wait_for(lambda: not run.processes(), "every host's processes end",
                     SILENCE_S + SLACK_S)
        self.assertGreater(time.monotonic() - cut, SILENCE_S / 2)
        finished = self.assert_all_end(runs, SILENCE_S)
        self.assertEqual([one.code for one in finished], [1, 1, 1])
        self.assertIn("n2 was lost", finished[0].err)
        self.assertIn("n2", finished[1].err)
        self.assertRegex(finished[2].err, "n2: lost the root agent at .*stopping this node's workers")

    def test_a_host_is_cut_off_in_a_measurement(self):
        """Its ranks give up earlier than toprun knows of the loss, which is nevertheless what ended the job."""
        program, *words = self.words(*QUICK, hosts=3)
        runs = [self.start(f"n{host}", program, "bench", "all_reduce", *words, "--node-rank", str(host), "--nproc-per-node", "1",
                           "-b", "4M", "-n", "1000000", "-T", "2") for host in range(3)]
        runs[0].prints("GB/s")
        self.cluster.cut("n2")
        self.addCleanup(self.cluster.join, "n2")
        finished = self.assert_all_end(runs, SILENCE_S)
        self.assertRegex(finished[0].err, r"waiting for bytes from rank 2 on n2: no data was transferred for 2 s")
        self.assertRegex(finished[0].err, r", node n2 was lost, exit code 1\n\Z")

    def test_the_roots_host_is_cut_off(self):
        runs = self.running()
        self.cluster.cut("n0")
        self.addCleanup(self.cluster.join, "n0")
        for run in runs:
            wait_for(lambda: not run.processes(), "every host's processes end",
                     SILENCE_S + SLACK_S)
        finished = self.assert_all_end(runs, SILENCE_S)
        self.assertRegex(finished[0].err, r"toprun: the root agent lost all other nodes\n  reason +n0, where the root is, "
                                          r"lost n\[1-2\] at the same time: the network of n0 ")
        self.assertNotRegex(finished[0].err, r"n[12] was lost")
        for one in finished[1:]:
            self.assertIn("lost the root agent at 10.77.0.1", one.err)
            self.assertEqual(one.code, 1)

    def test_of_two_hosts_either_may_be_cut_off(self):
        folder = self.folder()
        runs = [self.start(f"n{host}", *self.words(*QUICK, hosts=2), "--nnodes", "1:2", "--nproc-per-node", "1",
                           *shows("RANK", then=f"touch {folder}/$TOPRUN_ATTEMPT.$RANK; "
                                               "test $TOPRUN_ATTEMPT = 1 || exec sleep 100"))
                for host in range(2)]
        self.wait_for_files(folder, 2)
        self.cluster.cut("n0")
        self.addCleanup(self.cluster.join, "n0")
        finished = runs[0].wait(SILENCE_S + 60)
        self.assertRegex(finished.err, r"(?m)^  reason +.*: this does not tell whether n1 failed, or the network of n1 or "
                                       r"of n0, where the root is$")
        self.assertRegex(finished.err, r"(?m)^  next +the job goes on; look at n\[0-1\] before another job uses them ")
        self.assertRegex(finished.err, r"(?m)starting again without it; the next attempt waits up to .* for another node$")
        runs[1].wait(SILENCE_S + 60)

    def test_an_agent_is_stopped(self):
        runs = self.running()
        agent, = cluster.agents(runs[1])
        os.kill(agent, signal.SIGSTOP)
        for run in (runs[0], runs[2]):
            wait_for(lambda: not run.processes(), "the others' processes end",
                     SILENCE_S + SLACK_S)
        wait_for(lambda: not runs[1].processes(), "its own keeper ends it",
                 STALL_LIMIT_S + SLACK_S)
        finished = self.assert_all_end(runs, STALL_LIMIT_S)
        self.assertIn("n1 was lost", finished[0].err)
        self.assertIn("n1", finished[2].err)

    def test_an_agent_is_killed(self):
        runs = self.running()
        agent, = cluster.agents(runs[1])
        os.kill(agent, signal.SIGKILL)
        for run in runs:
            wait_for(lambda: not run.processes(), "every host's processes end", SLACK_S)
        finished = self.assert_all_end(runs, 0)
        self.assertIn("the agent on n1 was lost", finished[0].err)
        self.assertIn("n1", finished[2].err)
        self.assertRegex(finished[1].err, r"the agent \(pid \d+\) was killed by signal 9")

    def test_a_keeper_is_killed(self):
        runs = self.running()
        agent, = cluster.agents(runs[1])
        os.kill(cluster.parent(agent), signal.SIGKILL)
        for run in runs:
            wait_for(lambda: not run.processes(), "every host's processes end", SLACK_S)
        finished = self.assert_all_end(runs, 0)
        self.assertEqual([one.code for one in finished], [1, -signal.SIGKILL, 1])
        self.assertRegex(finished[0].err, r"toprun \(pid \d+\), which started it, was killed")

    def test_one_signal_ends_all_hosts(self):
        runs = self.running()
        runs[2].signal(signal.SIGTERM)
        finished = [run.wait(40) for run in runs]
        self.assertEqual([one.code for one in finished], [143, 143, 143])
        for run in runs:
            self.assert_nothing_left(run)

    def test_a_failure_is_told_to_all(self):
        finished = self.everywhere(*shows(
            "RANK", then="test $RANK = 2 && exit 5; exec sleep 100"), hosts=3)
        self.assertEqual([one.code for one in finished], [5, 5, 5])
        self.assertIn("rank 2 on n2 ended with exit code 5", finished[0].err)
        self.assertIn("rank 2 on n2 ended with exit code 5", finished[1].err)

    def test_a_late_agent(self):
        words = shows(*VARIABLES, then=CONNECTS)
        early = [self.start(f"n{host}", *self.words(hosts=3), *words) for host in (0, 1)]
        root = wait_for(lambda: cluster.agents(early[0]), "the root's agent starts")[0]
        # Its own, and the first member's.
        wait_for(lambda: support.connections(root, PORT) >= 1, "n1 joins")
        last = self.on("n2", *self.words(hosts=3), *words)
        finished = [run.wait(40) for run in early] + [last]
        self.assertEqual(len(self.assert_all_ok(finished)), 3)

    def test_agents_before_the_root(self):
        words = shows(*VARIABLES, then=CONNECTS)
        early = [self.start(f"n{host}", *self.words(hosts=3), *words) for host in (1, 2)]
        for run in early:
            agent = wait_for(lambda: cluster.agents(run), "an agent starts")[0]
            wait_for(lambda: self.refused(agent) >= 3, "it has been refused several times")
        root = self.on("n0", *self.words(hosts=3), *words)
        finished = [root] + [run.wait(40) for run in early]
        self.assertEqual(len(self.assert_all_ok(finished)), 3)

    def refused(self, pid):
        """How many connections of a process's host have failed so far."""
        tcp = [line.split() for line in pathlib.Path(f"/proc/{pid}/net/snmp").read_text().splitlines()
               if line.startswith("Tcp:")]
        return int(dict(zip(*tcp))["AttemptFails"])


if __name__ == "__main__":
    unittest.main()
