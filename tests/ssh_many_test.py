# ctest: SERIAL FIRST TIMEOUT 240 LABELS cluster
"""toprun --hosts over a real sshd on each of 64 virtual hosts, one of which, drawn by TEST_SEED, is
dead: it answers nothing and refuses nothing."""

import os
import random
import unittest

import support
from cluster import column, shown, shows
from ssh_cases import SshCase

TOPRUN = support.TOPRUN
HOSTS = [f"n{i}" for i in range(64)]
ALL = "n[0-63]"
NAMED_WITHIN_S = 30.0  # after the time that the logins take: ssh gives a dead host up after 8 s, TCP after 127


class Many(SshCase):
    UP = ("--hosts", "64", "--racks", "8")
    HOSTS = HOSTS

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.seed = int(os.environ.get("TEST_SEED", random.randrange(1_000_000)))
        cls.dead = random.Random(cls.seed).choice(HOSTS)

    def launch(self, *words):
        return self.on("ctl", TOPRUN, "--hosts", ALL, *words, limit=100,
                       env={"TOPRUN_SSH": self.daemons.ssh()})

    def test_a_dead_host_is_named_in_time(self):
        whole = self.launch(*shows("RANK"))
        self.assert_ok(whole)
        self.assertEqual(len(shown(whole.out)), 64)
        self.cluster.cut(self.dead)
        try:
            with self.subTest(f"refused; TEST_SEED={self.seed}: {self.dead}"):
                finished = self.launch(*shows("RANK"))
                self.assertEqual(finished.code, 1, finished)
                self.assertEqual(shown(finished.out), [])
                self.assertRegex(
                    finished.err,
                    rf"\Atoprun: no agent on {self.dead}: connection timed out; .*\n"
                    r"toprun: 63 of 64 hosts answered: the job needs all nodes; .*\n\Z")
                self.assertLess(finished.seconds, NAMED_WITHIN_S + whole.seconds)
            with self.subTest(f"shrunk; TEST_SEED={self.seed}: {self.dead}"):
                finished = self.launch("--nnodes", "60:64", *shows("RANK", "WORLD_SIZE",
                                                                   "TOPRUN_NODE_NAME"))
                self.assert_ok(finished)
                rows = shown(finished.out)
                self.assertEqual(column(rows, "TOPRUN_NODE_NAME"),
                                 [host for host in HOSTS if host != self.dead])
                self.assertEqual(set(column(rows, "WORLD_SIZE")), {"63"})
                self.assertIn(f"toprun: no agent on {self.dead}: connection timed out", finished.err)
        finally:
            self.cluster.join(self.dead)


if __name__ == "__main__":
    unittest.main()
