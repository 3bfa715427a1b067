# ctest: TIMEOUT 300 LABELS cluster
"""How long each phase of an attempt took, and which rank was the slowest, with real PyTorch: in the
report and in what -v says."""

import json
import unittest

import cluster
import support
from store_test import old_python

TOPRUN = support.TOPRUN

# The last rank imports torch only after all others have, by more than is_slow() in src/run/model/phases.cc
# asks for: it is named as the slowest whatever the machine does.
MEETS = """\
import os, pathlib, time
folder, rank, last = pathlib.Path(__file__).parent, os.environ["RANK"], int(os.environ["WORLD_SIZE"]) - 1
began = time.monotonic()
while int(rank) == last and len(list(folder.glob("*.imported"))) < last:
    time.sleep(0.02)
if int(rank) == last:
    time.sleep(max(1.2, time.monotonic() - began))
import torch, torch.distributed as dist
(folder / f"{rank}.imported").touch()
dist.init_process_group("gloo")
dist.all_reduce(torch.ones(1))
dist.destroy_process_group()
"""


# Rank 2 does not import torch before it is told to.
WAITS = """\
import os, pathlib, time
go = pathlib.Path(__file__).parent / "go"
while os.environ["RANK"] == "2" and not go.exists():
    time.sleep(0.02)
import torch, torch.distributed as dist
dist.init_process_group("gloo")
dist.barrier()  # who leaves before another has connected to it makes that one fail
dist.destroy_process_group()
"""


class Phases:
    def script(self):
        path = self.folder() / "meets.py"
        path.write_text(MEETS)
        return path

    def attempt_in(self, report):
        attempt, = json.loads(report.read_text())["attempts"]
        return attempt

    def assert_slowest_to_import(self, attempt, ranks, node):
        times = attempt["phases_ms"]
        order = ["join", "order", "spawn", "first_connect", "import", "first_collective"]
        self.assertEqual(sorted(times[name] for name in order), [times[name] for name in order], times)
        self.assertEqual(times["last_connect"], times["import"])
        slowest = attempt["slowest"]["import"]
        self.assertEqual([slowest["rank"], slowest["node"], slowest["counted"]], [ranks - 1, node, ranks])
        self.assertGreater(slowest["ms"], slowest["median_ms"])
        self.assertEqual(attempt["slowest"]["first_collective"]["counted"], ranks)


class OnTwoHosts(Phases, cluster.TestCase):
    UP = ("--hosts", "2")

    def test_the_slowest_rank_is_named(self):
        script = self.script()
        report = script.parent / "report.json"
        runs = [self.start(f"n{rank}", TOPRUN, *support.two_nodes(29512, rank), "--master-addr", "n0",
                           "-v", "--report", report, script,
                           env={"PYTHON_EXEC": support.python(), "OMP_NUM_THREADS": "1"})
                for rank in (0, 1)]
        finished = [run.wait(120) for run in runs]
        for one in finished:
            self.assert_ok(one)
        attempt = self.attempt_in(report)
        self.assert_slowest_to_import(attempt, 4, "n1")
        for phase in ("join", "spawn"):
            self.assertEqual(attempt["slowest"][phase]["counted"], 2)
        self.assertRegex(finished[0].err, r"(?m)^toprun: all ranks were started after \d")
        slowest = r"rank 3 on n1 took .* to import \(median .*\)$"
        self.assertRegex(finished[0].err, rf"(?m)^toprun: all ranks have connected to the store after .*; {slowest}")
        self.assertRegex(finished[0].err, r"(?m)^toprun: all ranks have reached their first collective after \d")


    def test_a_rank_that_does_not_come_is_named(self):
        folder = self.folder()
        script, report = folder / "waits.py", folder / "report.json"
        script.write_text(WAITS)
        runs = [self.start(f"n{rank}", TOPRUN, *support.two_nodes(29513, rank), "--master-addr", "n0",
                           "-v", "--report", report, script,
                           env={"PYTHON_EXEC": support.python(), "OMP_NUM_THREADS": "1"})
                for rank in (0, 1)]
        cluster.wait_for(lambda: report.exists() and (awaited := self.attempt_in(report)["awaited"]) and
                         awaited["came"] == 3, "a look at who has come", limit=60)
        self.assertEqual(self.attempt_in(report)["awaited"],
                         {"phase": "import", "came": 3, "of": 4, "rank": 2, "node": "n1"})
        (folder / "go").touch()
        finished = [run.wait(120) for run in runs]
        for one in finished:
            self.assert_ok(one)
        self.assertIn("3 of 4 ranks have reached the store, not rank 2 on n1\n", finished[0].err)
        self.assertIsNone(self.attempt_in(report)["awaited"])


class OnOneHost(Phases, support.TestCase):
    def run_with(self, python, *words):
        report = self.folder() / "report.json"
        finished = self.toprun("--nproc-per-node", 2, "-v", "--report", report, *words, limit=120,
                               env={"PYTHON_EXEC": python, "OMP_NUM_THREADS": "1"})
        self.assert_ok(finished)
        attempt = self.attempt_in(report)
        name = attempt["nodes"][0]["name"]
        self.assert_slowest_to_import(attempt, 2, name)
        self.assertIn(f"rank 1 on {name} took", finished.err)

    def test_a_rank_is_a_child_of_the_process_that_was_started(self):
        python = support.python()
        self.run_with(python, "--no-python", "sh", "-c", f"{python} {self.script()}; exit $?")

    # Its clients do not say which process they are.
    def test_an_old_pytorch(self):
        self.run_with(old_python(), self.script())


if __name__ == "__main__":
    unittest.main()
