# ctest: TIMEOUT 240 SANITIZED EMULATED LABELS torch
"""Two agents, each started by hand on this host, as in two terminals."""

import os
import re
import signal
import time
import unittest

import support
from support import EXAMPLES, two_nodes

NOTICE_LIMIT_S = 5      # from a failure on one node to the end of all, graces not used
STALL_LIMIT_S = 3       # after which a keeper kills an agent that does not move: 2 s and two beats
IDENTITY = ["--no-python", "sh", "-c", "echo rank=$RANK/$WORLD_SIZE local=$LOCAL_RANK "
            "group=$GROUP_RANK/$GROUP_WORLD_SIZE master=$MASTER_ADDR:$MASTER_PORT"]


class TwoAgents(support.TestCase):
    def setUp(self):
        self.port = support.free_port()
        self.ready = self.folder()

    def agent(self, *argv, node_rank=None, nproc=2, **options):
        return self.begin(support.binary(), *two_nodes(self.port, node_rank, nproc), *argv,
                          **options)

    def both(self, *argv, limit=60, ranks=(0, 1), **options):
        """Starts an agent for each node rank, in this order, and awaits both."""
        return self.ends([self.agent(*argv, node_rank=rank, **options) for rank in ranks], limit)

    def ends(self, runs, limit):
        finished = [run.wait(limit) for run in runs]
        for run in runs:
            self.assert_nothing_left(run)
        return finished

    def waiting(self, then=support.OBEDIENT):
        """A program that says in a file that it runs, then waits."""
        return ["--no-python", "sh", "-c", f'>"{self.ready}/$RANK"; {then}']


class Meeting(TwoAgents):
    def test_by_node_rank_in_either_start_order(self):
        for ranks in ((0, 1), (1, 0)):
            with self.subTest(started=ranks):
                self.port = support.free_port()
                finished = dict(zip(ranks, self.both(*IDENTITY, ranks=ranks)))
                for node, end in finished.items():
                    self.assert_ok(end)
                    self.assertEqual(sorted(end.out.splitlines()), [
                        f"rank={2 * node + local}/4 local={local} group={node}/2 "
                        f"master=127.0.0.1:{self.port}" for local in (0, 1)])
                self.assertRegex(finished[0].err, r"4 ranks on 2 nodes, all ended with 0\n\Z")

    def test_by_endpoint_the_first_to_bind_is_the_root(self):
        finished = self.both(*IDENTITY, ranks=(None, None))
        lines = sorted("".join(end.out for end in finished).splitlines())
        for end in finished:
            self.assert_ok(end)
        self.assertEqual([line.split()[0] for line in lines], [f"rank={r}/4" for r in range(4)])
        self.assertEqual(len({line.split()[3] for line in lines}), 1, lines)
        told = [end for end in finished if "4 ranks on 2 nodes" in end.err]
        self.assertEqual(len(told), 2, "each terminal is told the end")

    def test_nodes_may_have_different_numbers_of_processes(self):
        runs = [self.agent(*IDENTITY, node_rank=0, nproc=1),
                self.agent(*IDENTITY, node_rank=1, nproc=3)]
        first, second = self.ends(runs, 60)
        self.assertEqual([line.split()[0] for line in first.out.splitlines()], ["rank=0/4"])
        self.assertEqual(sorted(line.split()[0] for line in second.out.splitlines()),
                         ["rank=1/4", "rank=2/4", "rank=3/4"])

    def test_roles_count_their_own_ranks(self):
        parts = (("trainer", 2), ("reader", 1), ("trainer", 3))
        show = ["--no-python", "sh", "-c",
                "echo $RANK/$WORLD_SIZE $ROLE_NAME $ROLE_RANK/$ROLE_WORLD_SIZE $LOCAL_WORLD_SIZE"]
        finished = self.ends(
            [self.begin(support.binary(), *two_nodes(self.port, node_rank, nproc), "--nnodes", 3,
                        "--role", role, *show) for node_rank, (role, nproc) in enumerate(parts)], 60)
        for end in finished:
            self.assert_ok(end)
        self.assertEqual(sorted("".join(end.out for end in finished).splitlines()), [
            "0/6 trainer 0/5 2", "1/6 trainer 1/5 2", "2/6 reader 0/1 1",
            "3/6 trainer 2/5 3", "4/6 trainer 3/5 3", "5/6 trainer 4/5 3"])

    def test_workers_of_several_nodes_have_no_standard_input(self):
        read, write = os.pipe()
        try:
            os.write(write, b"typed\n")
            for end in self.both("--no-python", "sh", "-c", "read line; echo got=$line",
                                 stdin=read):
                self.assert_ok(end)
                self.assertEqual(end.out, "got=\n" * 2)
        finally:
            os.close(read)
            os.close(write)

    def test_a_shared_secret(self):
        for end in self.both("--no-python", "sh", "-c", "echo secret=$TOPRUN_SECRET",
                             env={"TOPRUN_SECRET": "between us"}):
            self.assert_ok(end)
            self.assertEqual(end.out, "secret=\n" * 2)


class Failing(TwoAgents):
    def test_a_failure_ends_the_other_node_with_the_same_code(self):
        program = self.waiting(f'[ $RANK = 3 ] || exec sleep 60; '
                               f'while [ $(ls "{self.ready}" | wc -l) -lt 4 ]; do sleep 0.1; done; '
                               'echo oh dear >&2; exit 9')
        for end in self.both(*program, limit=30):
            self.assertEqual(end.code, 9, end)
        self.assertRegex(end.err, "oh dear")

    def kill_one(self, node_rank, number):
        """Signals one agent while all workers run; returns the end of both runs."""
        conf = "keep_alive_interval=1,keep_alive_max_attempt=2"
        runs = [self.agent("--rdzv-conf", conf, *self.waiting(), node_rank=rank) for rank in (0, 1)]
        support.wait_for_files(self.ready, 4)
        os.kill(runs[node_rank].agent(), number)
        other = runs[1 - node_rank].wait(40)
        return self.ends(runs, 60)[node_rank], other

    def test_a_killed_agent_is_noticed_and_named(self):
        for node_rank, seen in ((1, r"the agent on \S+ was lost\n  reason +the connection"),
                                (0, r"\S+: lost the root agent at \S+: the connection was closed")):
            with self.subTest(killed=node_rank):
                self.setUp()
                killed, other = self.kill_one(node_rank, signal.SIGKILL)
                self.assertEqual((killed.code, other.code), (1, 1))
                self.assertRegex(killed.err, r"the agent \(pid \d+\) was killed by signal 9")
                self.assertRegex(other.err, seen)
                self.assertLess(other.seconds, NOTICE_LIMIT_S + 5)

    def test_a_stopped_agent_is_noticed_and_named(self):
        stopped, other = self.kill_one(1, signal.SIGSTOP)
        self.assertEqual((stopped.code, other.code), (1, 1))
        self.assertRegex(other.err, rf"node {os.uname().nodename} was lost\n  reason +no "
                                    r"message for [2-9]\.\d s")
        self.assertLess(other.seconds, stopped.seconds)
        self.assertRegex(stopped.err, rf"gave no sign of life for [{STALL_LIMIT_S}-9]\.\d s")

    def test_a_stopped_root_is_noticed_by_the_member(self):
        # torchrun's default of 3 attempts
        runs = [self.agent("--rdzv-conf", "keep_alive_interval=1", *self.waiting(), node_rank=rank) for rank in (0, 1)]
        support.wait_for_files(self.ready, 4)
        agent = runs[0].agent()
        runs[0].signal(signal.SIGSTOP)  # its keeper, which would kill it, and close the connection
        os.kill(agent, signal.SIGSTOP)
        other = runs[1].wait(40)
        runs[0].signal(signal.SIGCONT)
        stopped, _ = self.ends(runs, 60)
        self.assertEqual((stopped.code, other.code), (1, 1))
        self.assertRegex(other.err, r"lost the root agent at \S+: no message for [3-9]\.\d s")

    def test_interrupting_one_agent_stops_both(self):
        for node_rank, number, code in ((0, signal.SIGINT, 130), (1, signal.SIGTERM, 143)):
            with self.subTest(node_rank=node_rank, signal=number):
                self.setUp()
                runs = [self.agent(*self.waiting(), node_rank=rank) for rank in (0, 1)]
                support.wait_for_files(self.ready, 4)
                runs[node_rank].signal(number)
                for end in self.ends(runs, 30):
                    self.assertEqual(end.code, code, end)


class Stopping(TwoAgents):
    def test_ctrl_z_on_one_node_is_no_loss_to_the_other(self):
        conf = ["--rdzv-conf", "keep_alive_interval=1,keep_alive_max_attempt=2"]
        program = self.waiting(f'while [ ! -e "{self.ready}/end" ]; do sleep 0.1; done')
        runs = [self.agent(*conf, *program, node_rank=rank, in_session=True) for rank in (0, 1)]
        support.wait_for_files(self.ready, 4)
        runs[1].signal(signal.SIGTSTP)
        support.wait_until(lambda: support.state_of(runs[1].process.pid) == "T", 10,
                           "a stopped keeper")
        (self.ready / "end").touch()
        time.sleep(4)  # twice the silence that is a loss
        self.assertIsNone(runs[0].process.poll())
        runs[1].signal(signal.SIGCONT)
        for end in self.ends(runs, 40):
            self.assert_ok(end)


class Recipes(TwoAgents):
    def setUp(self):
        super().setUp()
        self.python = {"PYTHON_EXEC": support.python(), "OMP_NUM_THREADS": "1", **support.WARM}

    def test_the_flags_of_a_two_node_c10d_recipe(self):
        logs = self.folder()
        runs = [self.begin(
            support.binary(), "--nnodes", 2, "--node_rank", rank, "--nproc_per_node", 3,
            "--rdzv_id", 4711, "--rdzv_endpoint", f"localhost:{self.port}", "--rdzv_backend", "c10d",
            "--max_restarts", 0, "--role", "worker", "--tee", 3, "--log_dir", logs,
            EXAMPLES / "pi.py", "--steps", 20000, env=self.python) for rank in (0, 1)]
        finished = self.ends(runs, 120)
        for end in finished:
            self.assert_ok(end)
        self.assertRegex(finished[0].out, r"(?m)^\[worker0\]:pi = 3\.14159265\d+ .* 6 ranks")
        self.assertEqual(finished[1].out, "")
        kept = [path for path in logs.rglob("stdout.log") if "6 ranks" in path.read_text()]
        self.assertEqual(len(kept), 1)
        self.assertRegex(str(kept[0].relative_to(logs)), r"^4711_\w{8}/attempt_0/0/stdout\.log$")

    def test_tcp_start_with_explicit_ranks_and_script_arguments(self):
        script = self.folder() / "tcp.py"
        script.write_text("""
import os, sys
import torch, torch.distributed as dist
env = os.environ
dist.init_process_group("gloo", init_method="tcp://" + env["MASTER_ADDR"] + ":" + env["MASTER_PORT"],
                        rank=int(env["RANK"]), world_size=int(env["WORLD_SIZE"]))
total = torch.tensor([float(dist.get_rank())])
dist.all_reduce(total)
print(dist.get_rank(), total.item(), sys.argv[1:], flush=True)
dist.destroy_process_group()
""")
        arguments = ["-np", "8", "-n", "2", "--help", "--nnodes"]
        for end, ranks in zip(self.both(script, *arguments, env=self.python, limit=120),
                              ((0, 1), (2, 3))):
            self.assert_ok(end)
            self.assertEqual(sorted(end.out.splitlines()),
                             [f"{rank} 6.0 {arguments}" for rank in ranks])

    def test_standalone_with_the_other_flags_of_the_rendezvous(self):
        finished = self.toprun("--standalone", "--nnodes", 1, "--node_rank", 0, "--master_addr",
                               "no-such-host.invalid", "--master_port", self.port,
                               "--nproc_per_node", 2, *IDENTITY)
        self.assert_ok(finished)
        self.assertEqual(sorted(re.findall(r"rank=\d/\d", finished.out)), ["rank=0/2", "rank=1/2"])


if __name__ == "__main__":
    unittest.main()
