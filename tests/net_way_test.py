# ctest: LABELS cluster
"""`toprun net show|env --to HOST`: by which interface a machine reaches another one."""

import json
import unittest

import cluster
import support


class Ways(cluster.TestCase):
    """`--to HOST`: the kernel's way to another node, which is not the default route's."""
    UP = ("--hosts", "2")

    def test_the_way_to_a_node(self):
        without = json.loads(self.on("n0", support.binary(), "net", "show", "--json").out)
        self.assertNotIn(True, [one["used"] for one in without["interfaces"]])
        shown = json.loads(self.on("n0", support.binary(), "net", "show", "--to", "n1", "--json").out)
        used, = [one for one in shown["interfaces"] if one["used"]]
        self.assertEqual(used["why"], "to reach the other nodes: the way to n1")
        route = self.on("n0", "sh", "-c", "ip route get $(getent ahostsv4 n1 | head -n 1 | cut -d' ' -f1)").out
        self.assertIn(f"dev {used['name']} ", route)

    def test_refusals(self):
        for words, said in ((["--to", "no-such-host"], "no-such-host"),
                            (["--to", "192.0.2.1"], "--to 192.0.2.1: this host has no route to it"),
                            (["--to", "n1", "--root", "/"], "--to and --root contradict each other")):
            with self.subTest(words):
                finished = self.on("n0", support.binary(), "net", "env", *words)
                self.assertNotEqual(finished.code, 0, finished)
                self.assertIn(said, finished.err)
                self.assertEqual(finished.err.count("\n"), 1, finished.err)


class OfSeveralNodes(cluster.SlurmCase):
    UP = ("--hosts", "2", "--slurm")

    def test_lines_of_several_nodes_say_of_which(self):
        for verb in "env", "show":
            both = self.login("srun", "-N2", support.binary(), "net", verb)
            self.assert_ok(both)
            self.assertEqual({line.split(": ")[0] for line in both.out.splitlines()}, {"n0", "n1"}, both)
            alone = self.login("srun", "-N1", support.binary(), "net", verb)
            self.assertNotIn("n0: ", alone.out)
            self.assertNotIn("is not known", both.out)
        exports = self.login("srun", "-N2", support.binary(), "net", "env", "--shell")
        self.assertNotIn("n0: ", exports.out)


if __name__ == "__main__":
    unittest.main()
