# ctest: TIMEOUT 180 EMULATED
"""Options of a launch, each with what it changes: on one node, and where ranks stand in jobs of several agents on
this machine, each with a host name of its own."""

import os
import signal
import unittest

import named_agents
import support

# Two blocks of two racks; a1 and a4, a2 and a6, a3 and a5 share a rack.
PLACES = """\
a1 /c/s1/r1/a1
a2 /c/s2/r3/a2
a3 /c/s2/r2/a3
a4 /c/s1/r1/a4
a5 /c/s2/r2/a5
a6 /c/s2/r3/a6
"""
TWO_RACKS = "".join(f"a{number} /c/r{2 - number % 2}/a{number}\n" for number in range(1, 5))
NODES = len(PLACES.splitlines())
PARALLEL = ["--parallel", "pp=3,dp=2"]
TRAFFIC = [*PARALLEL, "--traffic", "pp=3G,dp=1G"]


class Orders(named_agents.TestCase):
    def order(self, *words):
        """The hosts by rank."""
        agents = self.agents(PLACES, *words, after=["--no-python", "sh", "-c", "echo $RANK $(hostname)"])
        ended = [agent.wait(60) for agent in agents]
        for end in ended:
            self.assert_ok(end)
        rows = sorted(end.out.split() for end in ended)
        self.assertEqual([rank for rank, _ in rows], [str(rank) for rank in range(NODES)])
        return " ".join(host for _, host in rows)

    def test_without(self):
        self.assertEqual(self.order(), "a1 a4 a3 a5 a2 a6")

    def test_segment(self):
        self.assertEqual(self.order("--segment", 3), "a3 a5 a2 a1 a4 a6")

    def test_model(self):
        self.assertEqual(self.order(*PARALLEL), "a1 a4 a3 a5 a2 a6")
        self.assertEqual(self.order(*PARALLEL, "--model", "7B"), "a3 a1 a5 a4 a2 a6")

    def test_traffic(self):
        self.assertEqual(self.order(*TRAFFIC), "a1 a4 a3 a2 a5 a6")

    def test_link(self):
        self.assertEqual(self.order(*TRAFFIC, "--link", "rack=100000"), "a1 a4 a2 a3 a6 a5")

    def test_stable(self):
        """After a loss the others keep their ranks; the last one takes the free place."""
        script = "echo $(hostname) >$TOPRUN_ATTEMPT.$RANK-of-$WORLD_SIZE; until [ -e end ]; do sleep 0.1; done"
        agents = self.agents(TWO_RACKS, "--stable", "--rdzv-conf", "last_call_timeout=1", nnodes="3:4",
                             after=["--no-python", "sh", "-c", script])
        support.wait_until(lambda: self.ranks(0, 4), 60, "four ranks")
        self.assertEqual(self.ranks(0, 4), ["a1", "a3", "a2", "a4"])
        os.kill(agents[2].agent(), signal.SIGKILL)
        self.assertEqual(support.wait_until(lambda: self.ranks(1, 3), 60, "three ranks"), ["a1", "a4", "a2"])
        (self.here / "end").touch()
        for number in (0, 1, 3):
            self.assert_ok(agents[number].wait(60))

    def ranks(self, attempt, world):
        """The hosts of this attempt by rank, once all have said theirs."""
        files = [self.here / f"{attempt}.{rank}-of-{world}" for rank in range(world)]
        hosts = [file.read_text().strip() for file in files if file.exists()]
        return hosts if len(hosts) == world and all(hosts) else None


class Alone(support.TestCase):
    """On one node."""

    def setUp(self):
        self.here = self.folder()
        (self.here / "script.py").write_text("print('by Python')\n")
        (self.here / "toprun.toml").write_text("role = 'given'\n")

    def run_here(self, *words, code=0):
        done = self.toprun(*words, cwd=self.here, env={**support.without_torch(), "XDG_CONFIG_HOME": str(self.here)})
        self.assertEqual(done.code, code, done)
        return done

    def test_run_path(self):
        for word in ("--no-python", "--module"):
            with self.subTest(word):
                self.assertEqual(self.run_here(word, "--run-path", "script.py").out, "by Python\n")
        self.assertNotIn("by Python", self.run_here("--no-python", "script.py", code=2).out)

    def test_no_config(self):
        for words, role in (([], "given"), (["--no-config"], "default")):
            with self.subTest(words):
                self.assertEqual(self.run_here(*words, "--no-python", "sh", "-c", "echo $ROLE_NAME").out, f"{role}\n")

    def test_master_addr(self):
        self.assertEqual(self.run_here("--master-addr", "127.0.0.5", "--no-python", "sh", "-c", "echo $MASTER_ADDR").out,
                         "127.0.0.5\n")

    def test_rdzv_conf(self):
        done = self.run_here("--nnodes", 2, "--node-rank", 0, "--master-addr", "127.0.0.1", "--master-port",
                             support.free_port(), "--rdzv-conf", "join_timeout=1", "--no-python", "true", code=1)
        self.assertIn("1 of 2 joined within 1.0 s", done.err)


if __name__ == "__main__":
    unittest.main()
