# ctest: TIMEOUT 180
"""Options of `toprun bench` and its verbs, each with what it changes."""

import json
import os
import pathlib
import signal
import unittest

import named_agents
import support

PLACES = "".join(f"a{number} /c/r{2 - number % 2}/a{number}\n" for number in range(1, 5))
TWO_PLACES = "".join(PLACES.splitlines(keepends=True)[:2])
SMALL = ["-b", "64K", "-n", "3"]
ENDLESS = ["-b", "4M", "-n", "1000000"]
SUPERBENCH = "nccl-bw/{}_8388608_busbw:0=12.5\n"
ROW = "  8388608  2097152  float  sum  -1  {} 32.0 32.0 0  {} 32.0 32.0 0\n"


def measuring(run):
    """The ranks of a run that are connected: to listen, to the store, to another."""
    return [pid for pid, line in run.processes().items()
            if "bench-worker" in line and "--no-python" not in line and support.sockets_of(pid) >= 3]


class Here(support.TestCase):
    def bench(self, *words, **options):
        done = self.toprun("bench", *words, **options)
        self.assert_ok(done)
        return done

    def ranks(self, *words):
        """The pids of two ranks that measure for ever."""
        run = self.begin(support.binary(), "bench", "all_reduce", "--nproc-per-node", 2, *ENDLESS, *words)
        return support.wait_until(lambda: len(found := measuring(run)) == 2 and found, 60, "two ranks")

    def test_env(self):
        for pid in self.ranks("--env", "PROBE=1"):
            self.assertIn(b"PROBE=1", pathlib.Path(f"/proc/{pid}/environ").read_bytes().split(b"\0"))

    def test_connections(self):
        """Each to the other: of which a rank has two, one to send and one to receive, without the option."""
        pids = self.ranks("--connections", 5)
        support.wait_until(lambda: all(support.sockets_of(pid) >= 7 for pid in pids), 60, "five connections of each rank")

    def test_redirects(self):
        logs = self.folder()
        done = self.bench("all_reduce", "--nproc-per-node", 2, *SMALL, "--redirects", 3, "--log-dir", logs)
        self.assertEqual(done.out, "")
        self.assertIn("all_reduce over tcp, 2 ranks", "".join(path.read_text() for path in logs.rglob("stdout.log")))

    def test_steps(self):
        for words, sizes in ((["-i", "64K"], [64, 128, 192, 256]), (["-f", 4], [64, 256]), ([], [64])):
            with self.subTest(words):
                done = self.bench("all_reduce", "--nproc-per-node", 2, "-b", "64K", "-e", "256K", "-n", 2, *words, "--format", "json")
                self.assertEqual([result["size"] // 1024 for result in json.loads(done.out)["results"]], sizes)

    def test_plugins_are_refused(self):
        for words in (["all_reduce"], ["pairs"]):
            with self.subTest(words):
                done = self.toprun("bench", *words, "--nproc-per-node", 2, *SMALL, "--logs-specs", "x")
                self.assertEqual(done.code, 2)
                self.assertIn("--logs-specs x: toprun does not load Python code", done.err)

    def test_rounds_may_be_too_few(self):
        done = self.bench("pairs", "--nproc-per-node", 4, *SMALL, "--rounds", 1)
        self.assertRegex(done.out, r"\A4 ranks: too few pairs to tell whether one is slower, 2 of 6 pairs measured\n")

    def test_no_bad_host(self):
        bad = self.folder() / "bad"
        done = self.bench("pairs", "--nproc-per-node", 2, *SMALL, "--exclude-bad", bad)
        self.assertIn(f"toprun: {bad} is empty: no host is known to be slow\n", done.err)
        self.assertEqual(bad.read_text(), "")

    def test_last(self):
        state = {"XDG_STATE_HOME": str(self.folder())}
        for _ in range(3):
            self.bench("all_reduce", "--nproc-per-node", 2, *SMALL, "--history", env=state)
        for words, count in ((["--last", 2], 2), ([], 3)):
            with self.subTest(words):
                self.assertEqual(self.bench("history", *words, env=state).out.count(" GB/s"), count)


class Collective(support.TestCase):
    """What was measured, where a file does not say it."""

    def test_files_that_cannot_be_written_are_refused_first(self):
        for words in (["all_reduce", "--save", "/nonexist/a.json"], ["all_reduce", "--plot", "/nonexist/a.svg"], ["pairs", "--save", "/tmp"],
                      ["pairs", "--exclude-bad", "/nonexist/bad"]):
            with self.subTest(words):
                finished = self.run_to_end(support.binary(), "bench", *words, "--nproc-per-node", "2")
                self.assertEqual(finished.code, 2, finished)
                self.assertRegex(finished.err, rf"\Atoprun: {words[1]} {words[2]}: cannot write {words[2]}: .*\n")
                self.assertNotIn("MiB", finished.out)

    def test_of_import(self):
        file = self.folder() / "result.txt"
        file.write_text("# size count type redop root time algbw busbw #wrong time algbw busbw #wrong\n" + ROW.format(262, 261))
        done = self.toprun("bench", "import", file, "--collective", "reduce_scatter")
        self.assertIn("reduce_scatter over", done.out)


class Several(named_agents.TestCase):
    def ends(self, agents, code=0):
        """What they print together."""
        ended = [agent.wait(90) for agent in agents]
        self.assertEqual({end.code for end in ended}, {code}, ended[0])
        return "".join(end.out for end in ended), "".join(end.err for end in ended)

    def test_uplink_gbps(self):
        _, told = self.ends(self.agents(PLACES, "bench", "all_reduce", *SMALL, "--uplink-gbps", 10))
        self.assertRegex(told, r"the uplink of /c/r1 sends .* so busbw is at most 1\.(19|25) GB/s(\n|;)")

    def test_an_uplink_that_cannot_have_carried_it(self):
        _, told = self.ends(self.agents(PLACES, "bench", "all_reduce", *SMALL, "--uplink-gbps", 0.0001))
        self.assertRegex(told, r"at most \S+ GB/s; the measured \S+ GB/s is more, so --uplink-gbps or the topology is wrong\n")

    def test_link_gbps(self):
        two = self.agents(TWO_PLACES, "bench", "all_reduce", *SMALL, "--link-gbps", 37,
                          "--format", "json")
        self.assertEqual(json.loads(self.ends(two)[0])["results"][0]["line_gbps"], 37)

    def test_rounds_and_bad_hosts(self):
        saved, bad = self.here / "saved.json", self.here / "bad.txt"
        for agent in self.agents(PLACES, "bench", "pairs", *SMALL, "--save", saved, "--rounds", 1, "--exclude-bad", bad):
            self.assertIn(agent.wait(90).code, (0, 3))  # any may be slow here
        self.assertEqual(len(json.loads(saved.read_text())["pairs"]), 4, "a round within each rack and one across: of 6")
        self.assertTrue(bad.exists())

    def test_two_nodes_are_too_few_to_compare(self):
        two = self.agents(TWO_PLACES, "bench", "pairs", *SMALL)
        self.assertRegex(self.ends(two)[0], r"\A2 nodes: too few to tell whether one is slower, 1 pair measured\n"
                                            r"  between racks  .* Gbps \(1 pair\)\n\Z")

    def stopped(self, *words):
        """A run of two nodes of which the rank of one stands still in the midst of their pair."""
        agents = self.agents(TWO_PLACES, "bench", "pairs", *ENDLESS, *words)
        os.kill(support.wait_until(lambda: measuring(agents[1]), 60, "a rank")[0], signal.SIGSTOP)
        return agents

    def test_stall_timeout_of_pairs(self):
        """A patient run and one that is begun later: of which only the later one ends."""
        patient = self.stopped("--stall-timeout", 600)
        hasty = self.stopped("--stall-timeout", 1)
        told, _ = self.ends(hasty, 3)
        self.assertEqual(told, "a1 – a2: hung\n")
        self.assertEqual([run.process.poll() for run in patient], [None] * 2)


if __name__ == "__main__":
    unittest.main()
