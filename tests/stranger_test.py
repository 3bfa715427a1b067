# ctest: TIMEOUT 300
"""Who knows a job's name, and joins it without a secret: what it says is bounded, and shown harmless."""

import pathlib
import random
import re
import time
import unittest

import stranger
import support
from trust_test import EVERY_WAY, OBEYED

JOB = "known"
WAITS = ["--no-python", "sh", "-c", "exec sleep 600"]


def high_water_mib(pid):
    status = pathlib.Path(f"/proc/{pid}/status").read_text()
    return int(re.search(r"VmHWM:\s+(\d+) kB", status)[1]) / 1024


class Case(support.TestCase):
    def root(self, *options, nnodes="2"):
        self.port = support.free_port()
        run = self.begin(support.binary(), "--nnodes", nnodes, "--nproc-per-node", 1, "--rdzv-id", JOB, "--node-rank", 0,
                         "--master-addr", "127.0.0.1", "--master-port", self.port, *options, *WAITS)
        run.says("no secret")
        return run

    def stranger(self):
        return stranger.Stranger(self.port, JOB)


class Shown(Case):
    def assert_harmless(self, end, where):
        """Of what toprun says each line is its own."""
        self.assertEqual(OBEYED.findall(end.err), [], (where, end.err))
        self.assertNotRegex(end.err, "\x1b", where)
        self.assertNotRegex(end.err, r"(?m)^FORGED", where)

    def ends(self, where, *messages, **joined):
        """A stranger joins with these members in place of the usual ones, says this and goes."""
        root = self.root("-v")
        other = self.stranger()
        other.begin(other.join(node_rank=1, **joined))
        try:
            other.hear()
            while other.hear()["type"] != "assign":
                pass
            for message in messages:
                other.send({"attempt": 0, **message})
        except (EOFError, ConnectionError):
            pass  # it was refused
        other.close()
        end = self.finish(root)
        self.assertIn("FORGED", end.err, where)
        self.assert_harmless(end, where)

    def finish(self, root):
        root.signal(2)
        return root.wait(60)

    def test_the_names_of_a_node_that_is_lost(self):
        for name in ("host", "role"):
            with self.subTest(name):
                self.ends(name, {"type": "failed", "doing": "preparing", "what": "FORGED", "why": "", "fix": "", "exit_code": 1},
                          **{name: "x" + EVERY_WAY})

    def test_what_a_node_says_of_its_failure(self):
        failed = {"type": "failed", "doing": "preparing", "what": "what", "why": "why", "fix": "fix", "exit_code": 1}
        for name in ("what", "why", "fix"):
            with self.subTest(name):
                self.ends(name, {**failed, name: "x" + EVERY_WAY})
        with self.subTest("orphaned"):
            self.ends("orphaned", {"type": "orphaned", "reason": "x" + EVERY_WAY})

    def test_what_a_node_says_of_its_ranks(self):
        exited = {"type": "exit", "age_ms": 0, "host": "n1", "rank": 1, "local_rank": 0, "pid": 4711, "exit_code": 3,
                  "program": "python", "exception": "it failed", "last_output": ["a line"], "kernel_evidence": "oom"}
        started = {"type": "started", "first_rank": 1, "logs": "/logs", "pids": [4711]}
        for name in ("exception", "kernel_evidence"):
            with self.subTest(name):
                self.ends(name, started, {**exited, name: "x" + EVERY_WAY})
        with self.subTest("last_output"):
            self.ends("last_output", started, {**exited, "exception": "", "last_output": ["x" + EVERY_WAY] * 3})


class Bounded(Case):
    def test_a_frame_of_many_small_lists(self):
        """15 MiB of text would be half a GiB of values."""
        root = self.root("--max-restarts", "1")  # so it waits for another node then
        agent = root.agent()
        other = self.stranger()
        other.begin(other.join(node_rank=1)).hear()
        before = high_water_mib(agent)
        try:
            other.send(b'{"type": "ready", "more": [' + b"[]," * (5 << 20) + b"0]}")
            while True:
                other.hear()
        except (EOFError, ConnectionError):
            pass  # it is turned away
        self.assertLess(high_water_mib(agent) - before, 150)
        root.kill_all()

    def joins(self, **changes):
        """How many of two hundred strangers, each of which goes when it is answered, and how long they took."""
        answers, began = 0, time.monotonic()
        for _ in range(200):
            other = self.stranger()
            try:
                other.begin(other.join(**changes)).hear()
                answers += 1
            except (EOFError, ConnectionError):
                pass
            other.close()
        return answers, time.monotonic() - began

    def ends(self, root):
        root.signal(2)
        end = root.wait(60)
        self.assertNotIn(end.code, (134, 139))
        return end

    def test_names_of_any_length_do_not_fill_the_log(self):
        for nnodes in ("2", "1:2"):
            with self.subTest(nnodes):
                root = self.root(nnodes=nnodes)
                answers, _ = self.joins(nnodes=9, host="h" * 60_000)
                self.assertLess(len(self.ends(root).err), 1 << 20, f"{answers} were answered")

    def test_lines_about_joins_have_a_rate(self):
        """Of refused ones, and of spares of an elastic job; so many lines that an hour of it can be read."""
        for nnodes, what in (("2", "refused an agent"), ("1:2", "waits as a spare")):
            with self.subTest(nnodes):
                root = self.root(nnodes=nnodes)
                answers = seconds = 0
                while answers <= self.lines_within(seconds):  # on a machine so slow the rate is no matter
                    more, took = self.joins(nnodes=9 if nnodes == "2" else 0)
                    self.assertEqual(more, 200)
                    answers, seconds = answers + more, seconds + took
                end = self.ends(root)
                self.assertIn(what, end.err)
                self.assertLessEqual(end.err.count("stranger"), self.lines_within(seconds), f"of {answers}")

    def lines_within(self, seconds):
        """64 in each 10 s (run/conductor/settings.h), which may have begun and ended in the middle."""
        return 64 * (2 + seconds // 10)

    def test_a_first_frame_that_is_too_long_is_said(self):
        """By whom it came: it has no answer, and what sent it may not know why its connection ends."""
        root = self.root()
        began = time.monotonic()
        for _ in range(20):
            other = self.stranger()
            with self.assertRaises((EOFError, ConnectionError)):
                other.begin(b"x" * 70_000).hear()
            other.close()
        most = 1 + (time.monotonic() - began) // 10
        end = self.ends(root)
        said = re.findall(r"rejected the agent at 127\.0\.0\.1: its first message has 70017 bytes, and the maximum is "
                          "65536", end.err)
        self.assertTrue(1 <= len(said) <= most, end.err)

    def test_whatever_it_says_the_root_goes_on(self):
        """Joins of which a member has another type or value; seeded."""
        seed = random.randrange(1 << 32)
        dice = random.Random(seed)
        odd = [None, True, -1, 0, 1 << 31, 1 << 63, -(1 << 63), 1e308, "", "x" * 300, EVERY_WAY, [], {}, [[]], [None] * 9,
               {"a": {}}, "127.0.0.1", ["::1", "x" * 300], "\ud800"]
        root = self.root(nnodes="3")
        names = sorted({**stranger.Stranger(self.port, JOB).join(), "node_rank": 1, "node_index": 1, "local_rank": 1,
                        "task": 1, "max_restarts": 1, "prepares": 1, "location": 1, "location_pattern": 1, "cloud": 1,
                        "nvlink": 1, "kube": 1, "ports": 1, "evidence": 1})
        for _ in range(400):
            other = self.stranger()
            try:
                changes = {name: dice.choice(odd) for name in dice.sample(names, dice.randint(1, 3))}
                other.begin({**other.join(), **changes}).hear()
            except (EOFError, ConnectionError):
                pass
            other.close()
        self.assertIsNone(root.process.poll(), f"seed {seed}")
        last = self.stranger()
        last.begin(last.join(nnodes=3))
        self.assertIn(last.hear()["type"], ("welcome", "refused"), f"seed {seed}")
        root.kill_all()


if __name__ == "__main__":
    unittest.main()
