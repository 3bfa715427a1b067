# ctest: TIMEOUT 240 SANITIZED EMULATED
"""Attempts: what is restarted, how often, with whom. Several agents on this host; no torch."""

import json
import os
import re
import signal
import socket
import time
import unittest

import support

SH = ["--no-python", "sh", "-c"]
LAST_CALL_S = 1
SILENCE_S = 3
SPARE = "waiting as a spare"
PATIENCE_S = 60  # where an agent is stopped for a moment, which a busy machine makes long

# Says who it is by the name of a file, then waits until it is told to fail or to end.
WORKER = """\
me=$TOPRUN_ATTEMPT.$RANK
>"$ROOT/$me-of-$WORLD_SIZE-restarts-$TORCHELASTIC_RESTART_COUNT"
while [ ! -e "$ROOT/end" ]; do
  [ ! -e "$ROOT/fail.$me" ] || exit $(cat "$ROOT/fail.$me")
  sleep 0.05
done
"""


class Elastic(support.TestCase):
    silence_s = SILENCE_S

    def setUp(self):
        self.port = support.free_port()
        self.root = self.folder()

    def agent(self, nnodes, *options, nproc=1, worker=WORKER, program=None, env=()):
        return self.begin(program or support.binary(), "--nnodes", nnodes, "--nproc-per-node", nproc,
                          "--rdzv-backend", "c10d", "--rdzv-endpoint", f"localhost:{self.port}",
                          "--rdzv-conf", f"last_call_timeout={LAST_CALL_S},keep_alive_interval=1,"
                          f"keep_alive_max_attempt={self.silence_s}", *options, *SH, worker, env={"ROOT": str(self.root), **dict(env)})

    def root_agent(self, nnodes, *options, **more):
        """The first of several; the port is its own before another comes."""
        run = self.agent(nnodes, "--report", self.root / "report.json", *options, **more)
        support.wait_until(lambda: support.listens(self.port), 20, "the root listens")
        return run

    def expect(self, attempt, world_size, restarts):
        """Until all ranks of the attempt run; fails if one says something else."""
        def of_attempt():
            return sorted(name for name in os.listdir(self.root) if name.startswith(f"{attempt}."))
        wanted = [f"{attempt}.{rank}-of-{world_size}-restarts-{restarts}"
                  for rank in range(world_size)]
        support.wait_until(lambda: len(of_attempt()) >= world_size, 30, f"{wanted} in {self.root}")
        self.assertEqual(of_attempt(), wanted)

    def shows_status(self, pattern):
        """Its root tells of a change in its own time."""
        seen = ""

        def is_shown():
            nonlocal seen
            seen = self.toprun("status", self.root / "report.json").out
            return re.search(pattern, seen)
        support.wait_until(is_shown, 20, pattern)
        return seen

    def fail_rank(self, attempt, rank, code):
        path = self.root / f"fail.{attempt}.{rank}"
        path.with_suffix(".new").write_text(str(code))
        path.with_suffix(".new").rename(path)

    def end(self, *runs, code=0):
        """The ends of all runs, in their order."""
        (self.root / "end").touch()
        ends = []
        for run in runs:
            finished = run.wait(60)
            self.assert_nothing_left(run)
            self.assertEqual(finished.code, code, finished)
            ends.append(finished)
        return ends

    def report(self):
        return json.loads((self.root / "report.json").read_text())

    def kill_agent(self, run):
        os.kill(run.agent(), signal.SIGKILL)
        self.assertEqual(run.wait(60).code, 1)
        self.assert_nothing_left(run)


class Failures(Elastic):
    def test_all_nodes_restart_and_count_alike(self):
        runs = [self.root_agent(2, "--max-restarts", 2, nproc=2),
                self.agent(2, "--max-restarts", 2, nproc=2)]
        agents = [run.agent() for run in runs]
        self.expect(0, world_size=4, restarts=0)
        self.fail_rank(0, 3, 7)
        self.expect(1, world_size=4, restarts=1)
        self.fail_rank(1, 0, 9)
        self.expect(2, world_size=4, restarts=2)
        self.assertEqual([run.agent() for run in runs], agents)
        self.end(*runs)
        causes = [attempt["cause"] for attempt in self.report()["attempts"]]
        self.assertEqual([cause and (cause["rank"], cause["exit_code"]) for cause in causes],
                         [(3, 7), (0, 9), None])

    def test_the_last_failure_counts_when_restarts_are_used_up(self):
        run = self.root_agent(1, "--max-restarts", 1)
        self.expect(0, world_size=1, restarts=0)
        self.fail_rank(0, 0, 7)
        self.expect(1, world_size=1, restarts=1)
        self.fail_rank(1, 0, 8)
        finished = run.wait(30)
        self.assertEqual(finished.code, 8, finished)
        self.assertIn("all of --max-restarts 1 are used up", finished.err)
        self.assertRegex(finished.err, r"exit code 8 after 1 restart\n\Z")

    def test_93_means_do_not_restart(self):
        run = self.root_agent(1, "--max-restarts", 3)
        self.expect(0, world_size=1, restarts=0)
        self.fail_rank(0, 0, 93)
        finished = run.wait(30)
        self.assertEqual(finished.code, 93, finished)
        self.assertIn("exit code 93 means: do not restart", finished.err)

    def test_the_same_failure_at_once_three_times_is_enough(self):
        count = self.root / "count"
        run = self.root_agent(1, "--max-restarts", 1000, worker=f'echo >>"{count}"; exit 5')
        finished = run.wait(30)
        self.assertEqual(finished.code, 5, finished)
        self.assertEqual(count.read_text(), "\n" * 3)
        self.assertRegex(finished.err, r"not restarted: the job failed 3 times in the same way")

    def test_logs_of_an_earlier_attempt_stay(self):
        logs = self.folder()
        run = self.agent(1, "--max-restarts", 1, "--log-dir", logs, "--redirects", 3,
                         worker="echo attempt $TOPRUN_ATTEMPT; exit $((7 - TOPRUN_ATTEMPT * 7))")
        self.end(run)
        texts = {str(path.relative_to(logs)).split("/", 1)[1]: path.read_text()
                 for path in logs.rglob("stdout.log")}
        self.assertEqual(texts, {f"attempt_{n}/0/stdout.log": f"attempt {n}\n" for n in (0, 1)})

    def test_an_interrupt_is_no_failure(self):
        run = self.root_agent(1, "--max-restarts", 3)
        self.expect(0, world_size=1, restarts=0)
        run.signal(signal.SIGINT)
        self.assertEqual(run.wait(60).code, 130)
        self.assert_nothing_left(run)


class Nodes(Elastic):
    def test_last_call_and_a_late_one_that_comes_in_at_the_next_restart(self):
        start = time.monotonic()
        first = self.root_agent("1:2", "--max-restarts", 1)
        self.expect(0, world_size=1, restarts=0)
        self.assertGreater(time.monotonic() - start, LAST_CALL_S)
        late = self.agent("1:2", "--max-restarts", 1)
        late.says(SPARE)
        self.fail_rank(0, 0, 3)
        self.expect(1, world_size=2, restarts=1)
        self.end(first, late)

    def test_a_lost_node_s_place_goes_to_a_spare(self):
        runs = [self.root_agent(2, "--max-restarts", 1), self.agent(2, "--max-restarts", 1)]
        self.expect(0, world_size=2, restarts=0)
        spare = self.agent(2, "--max-restarts", 1)
        spare.says(SPARE)
        self.kill_agent(runs.pop())
        self.expect(1, world_size=2, restarts=0)
        self.end(runs[0], spare)
        self.assertEqual(self.report()["attempts"][0]["cause"]["kind"], "agent_lost")

    def test_without_a_spare_the_world_shrinks(self):
        runs = [self.root_agent("1:3"), self.agent("1:3"), self.agent("1:3")]
        self.expect(0, world_size=3, restarts=0)
        self.kill_agent(runs.pop())
        self.expect(1, world_size=2, restarts=0)
        root, _ = self.end(*runs)
        self.assertRegex(root.err, r"2 ranks on 2 nodes, all ended with 0 after 1 new attempt \(\S+ was lost\)\n\Z")

    def test_below_the_least_it_waits_for_a_new_one(self):
        runs = [self.root_agent("2:3"), self.agent("2:3")]
        self.expect(0, world_size=2, restarts=0)
        self.kill_agent(runs.pop())
        time.sleep(LAST_CALL_S + 0.5)
        runs.append(self.agent("2:3"))
        self.expect(1, world_size=2, restarts=0)
        self.end(*runs)

    def test_status_says_who_is_here_while_nodes_are_gathered(self):
        root = self.root_agent("3:4")
        host = socket.gethostname()
        one = self.shows_status(r"\n  here       1 of 3 to 4 nodes: ")
        self.assertRegex(one, rf"\n  here       1 of 3 to 4 nodes: {host}\n"
                              r"  waits for  2 more, until [-0-9]+ [:0-9]+; then it ends\n")
        second = self.agent("3:4")
        self.shows_status(rf"\n  here       2 of 3 to 4 nodes: {host}\n  waits for  1 more, until ")
        gathering = self.report()["gathering"]
        self.assertEqual((gathering["here"], gathering["least"], gathering["most"], gathering["missing"]),
                         ([host, host], 3, 4, []))
        third = self.agent("3:4")
        self.expect(0, world_size=3, restarts=0)
        self.assertNotIn("of 3 to 4", self.shows_status("attempt 0: running"))
        self.assertIsNone(self.report()["gathering"])
        self.end(root, second, third)

    def test_a_frozen_node_is_lost_and_fenced(self):
        runs = [self.root_agent("1:2"), self.agent("1:2")]
        self.expect(0, world_size=2, restarts=0)
        frozen = runs.pop()
        os.kill(frozen.agent(), signal.SIGSTOP)
        self.expect(1, world_size=1, restarts=0)
        self.assertEqual(frozen.wait(30).code, 1)  # its keeper ended it
        self.assert_nothing_left(frozen)
        self.end(*runs)
        # The root's patience and the keeper's are the same: either may be first.
        self.assertIn(self.report()["attempts"][0]["cause"]["kind"], ("node_lost", "agent_lost"))

    def test_a_node_that_is_told_to_end_leaves(self):
        runs = [self.root_agent("1:2"), self.agent("1:2")]
        self.expect(0, world_size=2, restarts=0)
        leaver = runs.pop()
        leaver.signal(signal.SIGTERM)
        finished = leaver.wait(20)
        self.assertEqual(finished.code, 143, finished)
        self.assertRegex(finished.err, r"toprun: \S+: this node leaves the job because of SIGTERM\n")
        self.expect(1, world_size=1, restarts=0)
        root, = self.end(*runs)
        self.assertRegex(root.err, r"toprun: node \S+ was asked to leave\n  reason      \S+ leaves: its agent got SIGTERM\n")
        self.assertRegex(root.err, r"after 1 new attempt \(\S+ was asked to leave\)\n\Z")

    def test_a_node_that_leaves_may_die_of_it(self):
        stubborn = "trap : TERM\n" + WORKER
        options = {"worker": stubborn}
        runs = [self.root_agent("2:3", "--max-restarts", "3", "--shutdown-timeout", "4", **options)]
        runs += [self.agent("2:3", "--max-restarts", "3", "--shutdown-timeout", "4", **options)
                 for _ in range(2)]
        self.expect(0, world_size=3, restarts=0)
        leaver = runs.pop()
        agent = leaver.agent()
        leaver.signal(signal.SIGTERM)
        time.sleep(1)  # the others are being stopped, which their ranks put off
        leaver.signal(signal.SIGSTOP)
        os.kill(agent, signal.SIGKILL)
        leaver.signal(signal.SIGKILL)
        self.expect(1, world_size=2, restarts=0)
        self.end(*runs)
        leaver.wait(20)

    def test_a_signal_to_the_root_ends_the_job(self):
        runs = [self.root_agent("1:2"), self.agent("1:2")]
        self.expect(0, world_size=2, restarts=0)
        runs[0].signal(signal.SIGTERM)
        self.end(*runs, code=143)

    def test_the_root_s_end_is_the_job_s(self):
        runs = [self.root_agent("1:2", "--max-restarts", 5), self.agent("1:2", "--max-restarts", 5)]
        self.expect(0, world_size=2, restarts=0)
        os.kill(runs[0].agent(), signal.SIGKILL)
        for run in runs:
            finished = run.wait(20)
            self.assertEqual(finished.code, 1, finished)
            self.assert_nothing_left(run)

    def test_a_spare_may_leave(self):
        run = self.root_agent(1)
        self.assertEqual(self.agent(1).wait(20).code, 1)  # refused: the job has its node
        self.end(run)
        self.setUp()
        runs = [self.root_agent("1:2"), self.agent("1:2")]
        self.expect(0, world_size=2, restarts=0)
        spare = self.agent("1:2")
        spare.says(SPARE)
        self.shows_status(r"\n  1 spare +\S+ waits\n")
        spare.signal(signal.SIGTERM)
        finished = spare.wait(20)
        self.assertEqual(finished.code, 143, finished)
        self.assertRegex(finished.err, "waiting as a spare: the job at .* has all the nodes that it can use now\n"
                                       r"toprun: \S+: this node leaves the job because of SIGTERM\n")
        self.assertNotIn("1 spare", self.shows_status(r"\n  spare gone +\S+ at 20[-0-9]+ [0-9:]+: .*\n"))
        self.end(*runs)
        self.shows_status(r"\n  spare gone ")

    def test_a_spare_is_told_when_it_will_come_in_and_that_it_was_not_needed(self):
        for grow, when in (("at-restart", r"at its next restart \(--grow at-restart\)"),
                           ("on-signal", r"when you ask for it \(`toprun grow`\)")):
            with self.subTest(grow):
                self.setUp()
                run = self.root_agent("1:2", "--grow", grow)
                self.expect(0, world_size=1, restarts=0)
                spare = self.agent("1:2", "--grow", grow)
                spare.says(f"waiting as a spare: the job at .* takes this node in {when}\n")
                (self.root / "end").touch()
                self.assertEqual(run.wait(60).code, 0)
                finished = spare.wait(60)
                self.assertEqual(finished.code, 0, finished)
                self.assertRegex(finished.err, r"toprun: \S+ waited as a spare until the job ended, and was not needed\n\Z")

    def test_a_keeper_s_death_names_its_node(self):
        runs = [self.root_agent(2), self.agent(2)]
        self.expect(0, world_size=2, restarts=0)
        runs[1].signal(signal.SIGKILL)
        finished = runs[0].wait(20)
        self.assertEqual(finished.code, 1, finished)
        self.assertRegex(finished.err, r"the agent on \S+ was lost\n  reason +toprun \(pid \d+\), which started it, was killed\n")
        for run in runs:
            self.assert_nothing_left(run)
        self.assertEqual(self.report()["attempts"][0]["cause"]["kind"], "agent_lost")

    def test_a_keeper_dies_while_its_agent_is_stopped(self):
        """The kernel sends SIGHUP to a stopped group that loses its parent: nobody's interruption."""
        self.silence_s = PATIENCE_S
        runs = [self.root_agent(2), self.agent(2)]
        self.expect(0, world_size=2, restarts=0)
        agent = runs[1].agent()
        os.kill(agent, signal.SIGSTOP)
        support.wait_until(lambda: support.state_of(agent) == "T", 5, "a stopped agent")
        runs[1].signal(signal.SIGKILL)
        finished = runs[0].wait(20)
        self.assertEqual(finished.code, 1, finished)
        self.assertEqual(self.report()["attempts"][0]["cause"]["kind"], "agent_lost")
        for run in runs:
            self.assert_nothing_left(run)


CHECK = 'if [ -e "$ROOT/sick.$NODE" ]; then echo "GPU 4 fell off the bus"; exit 3; fi'
UNFIT = r"\S+: this node is unfit according to --node-check: GPU 4 fell off the bus \(exit code 3\)"


class NodeChecks(Elastic):
    def agents(self, nnodes, count, *options, check=CHECK):
        words = (nnodes, "--node-check", check, *options)
        return [self.root_agent(*words, env={"NODE": "0"}),
                *(self.agent(*words, env={"NODE": str(node)}) for node in range(1, count))]

    def last_attempt(self):
        return max(int(name.split(".")[0]) for name in os.listdir(self.root) if "-of-" in name)

    def test_a_job_begins_without_a_sick_node(self):
        (self.root / "sick.1").touch()
        root, sick = self.agents("1:2", 2)
        root.says(UNFIT + "; the job goes on without it")
        finished = sick.wait(30)
        self.assertEqual(finished.code, 1, finished)
        self.assertRegex(finished.err, f"toprun: {UNFIT}\n")
        support.wait_until(lambda: any("0-of-1-" in name for name in os.listdir(self.root)), 30, "a world of one")
        self.end(root)

    def test_a_spare_replaces_a_node_that_fell_sick(self):
        root, sick = self.agents("1:2", 2, "--max-restarts", "1")
        self.expect(0, world_size=2, restarts=0)
        spare = self.agent("1:2", "--node-check", CHECK, "--max-restarts", "1", env={"NODE": "2"})
        spare.says(SPARE)
        (self.root / "sick.1").touch()
        self.fail_rank(0, 1, 7)
        root.says(UNFIT + "; the job goes on without it")
        finished = sick.wait(30)
        self.assertEqual(finished.code, 1, finished)
        support.wait_until(lambda: len([name for name in os.listdir(self.root)
                                        if name.startswith(f"{self.last_attempt()}.") and "-of-2-" in name]) == 2
                           and self.last_attempt() > 0, 30, "a later attempt of two")
        self.end(root, spare)

    def test_a_node_runs_one_check_at_a_time(self):
        """The next attempt begins, for one node is sick at once, while the others' checks still run."""
        (self.root / "sick.1").touch()
        alone = CHECK + '; mkdir "$ROOT/lock.$NODE" || exit 9; sleep 2.5; rmdir "$ROOT/lock.$NODE"'
        root, sick, sound = self.agents("1:3", 3, check=alone)
        root.says(UNFIT + "; the job goes on without it")
        sick.wait(30)
        support.wait_until(lambda: sum("-of-2-" in name for name in os.listdir(self.root)) == 2, 30, "a world of two")
        self.end(root, sound)

    def test_a_sick_node_that_nothing_can_replace_ends_the_job(self):
        for node in ("0", "1"):
            with self.subTest(node):
                self.setUp()
                (self.root / f"sick.{node}").touch()
                root, other = self.agents("2", 2)
                finished = root.wait(30)
                self.assertEqual(finished.code, 1, finished)
                self.assertRegex(finished.err, UNFIT + "\n")
                self.assertNotEqual(other.wait(30).code, 0)
                self.assertFalse([name for name in os.listdir(self.root) if "-of-" in name])


# A rank of node 1 fails as PyTorch reports it, once there is such a text.
FAILS = WORKER.replace("  sleep", """\
  if [ "$NODE" = 1 ] && [ -e "$ROOT/fault" ]; then
    cat "$ROOT/fault" >&2
    exit 1
  fi
  sleep""")


def traceback(text):
    return ('Traceback (most recent call last):\n  File "/train.py", line 7, in <module>\n    loss.backward()\n'
            f"{text}\n")


@unittest.skipIf(os.geteuid() != 0, "only root can give a process a host name of its own")
class Evictions(Elastic):
    ECC = "torch.AcceleratorError: CUDA error: uncorrectable ECC error encountered"

    def on_its_own(self, *words, node):
        """An agent whose host has a name of its own."""
        named = self.folder() / "toprun"
        named.write_text(f'#!/bin/sh\nexec unshare --uts sh -c "hostname node{node}; exec \\"\\$@\\"" sh "{support.binary()}" "$@"\n')
        named.chmod(0o755)
        return self.agent(*words, worker=FAILS, program=named, env={"NODE": str(node)})

    def failing(self, text, nnodes, *options, spare=False):
        """A root, a node whose rank will have failed with this text, and perhaps a spare."""
        words = (nnodes, "--max-restarts", "1", "--evict", "auto", *options)
        runs = [self.root_agent(*words, worker=FAILS, env={"NODE": "0"}),
                self.on_its_own(*words, node=1)]
        self.expect(0, world_size=2, restarts=0)
        if spare:
            runs.append(self.on_its_own(*words, node=2))
            runs[0].says("waits as a spare")
        (self.root / "new").write_text(traceback(text))
        (self.root / "new").rename(self.root / "fault")
        return runs

    def test_a_spare_takes_the_place_of_a_broken_machine(self):
        root, broken, spare = self.failing(self.ECC, "2", spare=True)
        root.says(r"node1 leaves the job: rank \d failed first, by a fault of this machine \(uncorrectable ECC error encountered\)\n")
        self.expect(1, world_size=2, restarts=1)
        finished = broken.wait(30)
        self.assertEqual(finished.code, 1, finished)
        self.assertIn("toprun: node1 leaves the job: rank ", finished.err)
        self.end(root, spare)

    def test_without_another_node_it_stays_and_that_is_said(self):
        root, broken = self.failing(self.ECC, "2")
        root.says(r"node1 stays, because no other node can take its place: rank \d failed first, by a fault of this machine ")
        root.says("restart 1 of 1")
        self.assertEqual(root.wait(30).code, 1)
        self.assertEqual(broken.wait(30).code, 1)

    def test_an_elastic_job_goes_on_without_it(self):
        root, broken = self.failing(self.ECC, "1:2")
        root.says(r"node1 leaves the job: rank \d failed first, by a fault of this machine")
        self.expect(1, world_size=1, restarts=1)
        self.assertEqual(broken.wait(30).code, 1)
        self.end(root)

    def test_a_program_s_error_and_never_exclude_nothing(self):
        for text, options in (("RuntimeError: CUDA error: unspecified launch failure", ()),
                              (self.ECC, ("--evict", "never"))):
            with self.subTest(text, options=options):
                self.setUp()
                runs = self.failing(text, "2", *options, spare=True)
                runs[0].says("restart 1 of 1")
                finished = runs[0].wait(30)
                self.assertEqual(finished.code, 1, finished)
                self.assertNotRegex(finished.err, "leaves the job|no other node can take its place")
                for run in runs[1:]:
                    run.wait(30)


class Growing(Elastic):
    def told(self, words):
        """Until a line of the root agent says so."""
        support.wait_until(lambda: any(words in path.read_text() for path in self.logs.glob("*.out")),
                           30, words)

    def test_now_takes_a_newcomer_in_at_once(self):
        first = self.root_agent("1:2", "--grow", "now")
        self.expect(0, world_size=1, restarts=0)
        late = self.agent("1:2")
        self.expect(1, world_size=2, restarts=0)
        self.end(first, late)
        self.assertEqual([attempt["cause"] and attempt["cause"]["kind"]
                          for attempt in self.report()["attempts"]], ["grown", None])

    def test_newcomers_after_each_other(self):
        runs = [self.root_agent("1:3", "--grow", "now")]
        for attempt, world_size in ((0, 1), (1, 2), (2, 3)):
            self.expect(attempt, world_size, restarts=0)
            if world_size < 3:
                runs.append(self.agent("1:3"))
        self.end(*runs)

    def test_named_torchrun_it_is_done_as_torchrun_does(self):
        link = self.folder() / "torchrun"
        link.symlink_to(support.binary())
        first = self.agent("1:2", program=link)
        self.expect(0, world_size=1, restarts=0)
        late = self.agent("1:2", program=link)
        self.expect(1, world_size=2, restarts=0)
        self.end(first, late)

    def test_on_signal_a_newcomer_waits_until_the_user_says_so(self):
        for ask in ("by its report", "by a signal"):
            with self.subTest(ask):
                self.setUp()
                self.logs = self.folder()
                first = self.root_agent("1:2", "--grow", "on-signal", "--node-log", self.logs)
                self.expect(0, world_size=1, restarts=0)
                report = self.root / "report.json"
                self.assertIn(f"asked {report} to add the waiting nodes; the job's report names no waiting nodes: ",
                              self.toprun("grow", report).err)
                self.told("the job was asked to take in more nodes, but no node waits")
                late = self.agent("1:2")
                self.told(f"the job can grow by 1: toprun grow {report}")
                self.expect(0, world_size=1, restarts=0)
                if ask == "by a signal":
                    first.signal(signal.SIGURG)
                else:
                    self.assert_ok(self.toprun("grow", report))
                self.expect(1, world_size=2, restarts=0)
                self.end(first, late)
                refused = self.toprun("grow", report)
                self.assertEqual(refused.code, 1, refused)
                self.assertIn("the job has ended", refused.err)

    def test_at_restart_the_user_is_told_what_it_takes(self):
        self.logs = self.folder()
        first = self.root_agent("1:2", "--node-log", self.logs)
        self.expect(0, world_size=1, restarts=0)
        first.signal(signal.SIGURG)
        self.told("the job was asked to take in more nodes, but this requires --grow on-signal")
        report = self.root / "report.json"
        self.assert_one_line(self.toprun("grow", report), f"cannot grow {report}: the job adds nodes at its next "
                                                          r"restart \(--grow at-restart\); to choose the time yourself, "
                                                          "start the job with --grow on-signal")
        self.end(first)

    def test_a_report_that_is_not_there_cannot_grow(self):
        done = self.toprun("grow", "nosuch.json")
        self.assertEqual(done.code, 2, done)
        self.assert_one_line(done, "cannot grow nosuch.json: there is no such file; give the file of the job's --report, "
                                   "or the job's id as squeue shows it")

    def test_who_cannot_be_asked_to_grow_says_so(self):
        for nnodes, options, why in (("1", [], "the job's number of nodes cannot change; "
                                                 "to allow this, start the job with --nnodes MIN:MAX --grow on-signal"),
                                     ("1:2", ["--grow", "now"], r"the job adds nodes by itself .* \(--grow now\)")):
            with self.subTest(why):
                self.setUp()
                first = self.root_agent(nnodes, *options)
                self.expect(0, world_size=1, restarts=0)
                report = self.root / "report.json"
                self.assert_one_line(self.toprun("grow", report), f"cannot grow {report}: {why}")
                self.end(first)


if __name__ == "__main__":
    unittest.main()
