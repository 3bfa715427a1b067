"""Agents of two versions in one job: this one and the next, which tests/next_version.cc makes; torch is not needed."""

import json
import os
import pathlib
import re
import signal
import unittest

import support

THIS = support.TOPRUN
NEXT = str(pathlib.Path(THIS).parent / "tests/toprun_next")
PAIRS = (("this at the root", THIS, NEXT), ("the next at the root", NEXT, THIS))


class Versions(support.TestCase):
    def setUp(self):
        super().setUp()
        if not os.path.exists(NEXT):
            raise unittest.SkipTest("needs a whole build: tests/toprun_next is not beside toprun")

    def both(self, root, other, *words, **options):
        """The agents of two nodes, the root's first."""
        port = support.free_port()
        return [self.begin(toprun, "--nnodes", "2", "--node-rank", str(rank), "--nproc-per-node", "2", "--master-addr",
                           "127.0.0.1", "--master-port", str(port), *words, **options)
                for rank, toprun in enumerate((root, other))]

    def test_each_is_what_it_says(self):
        versions = [self.begin(toprun, "version").wait(20).out for toprun in (THIS, NEXT)]
        numbers = [tuple(map(int, re.fullmatch(r"toprun (\d+)\.(\d+)\.\d+\n", text).groups())) for text in versions]
        self.assertEqual(numbers[1], (numbers[0][0], numbers[0][1] + 1))

    def test_a_run(self):
        for about, root, other in PAIRS:
            with self.subTest(about):
                done = [agent.wait(60) for agent in self.both(root, other, "--no-python", "sh", "-c", "echo rank $RANK of $WORLD_SIZE")]
                for agent in done:
                    self.assert_ok(agent)
                said = "".join(agent.out for agent in done)
                self.assertEqual(sorted(said.splitlines()), [f"rank {rank} of 4" for rank in range(4)])
                self.assertRegex(done[0].err, r"toprun: \S+ runs toprun \S+, and the root's node runs toprun \d+\.\d+\.\d+\S*")
                lacks = "cannot do what only the next version does"
                (self.assertIn if root == NEXT else self.assertNotIn)(lacks, done[0].err)

    def test_a_failure(self):
        for about, root, other in PAIRS:
            with self.subTest(about):
                done = [agent.wait(60) for agent in
                        self.both(root, other, "--no-python", "sh", "-c", "test $RANK != 3 || exit 7; sleep 30")]
                self.assertEqual([agent.code for agent in done], [7, 7], done)
                self.assertRegex(done[0].err, r"rank 3 on \S+")

    def test_a_restart(self):
        for about, root, other in PAIRS:
            with self.subTest(about):
                done = [agent.wait(60) for agent in self.both(
                    root, other, "--max-restarts", "1", "--no-python", "sh", "-c",
                    'test $TORCHELASTIC_RESTART_COUNT = 1 || test $RANK != 2 || exit 7; test $TORCHELASTIC_RESTART_COUNT = 1 || sleep 30')]
                for agent in done:
                    self.assert_ok(agent)

    def test_the_picture_of_a_job(self):
        for about, root, other in PAIRS:
            for client in (THIS, NEXT):
                with self.subTest(f"{about}, {client}"):
                    up = self.folder()
                    agents = self.both(root, other, "--no-python", "sh", "-c", f"touch {up}/$RANK; exec sleep 60")
                    support.wait_for_files(up, 4)
                    seen = self.begin("sh", "-c", '"$0" top --json "$1" | head -n 1', client, str(agents[0].process.pid)).wait(20)
                    self.assertEqual(len(json.loads(seen.out)["nodes"]["name"]), 2, seen)
                    for agent in agents:
                        agent.process.send_signal(signal.SIGTERM)
                    for agent in agents:
                        agent.wait(30)


if __name__ == "__main__":
    unittest.main()
