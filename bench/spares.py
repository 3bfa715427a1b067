"""How long a lost node's place is empty when the engine gave more nodes than the job needs.

    PYTHON=… python3 bench/spares.py [--losses 50] [--json FILE]

Jobs of three nodes in steps of eight on the virtual cluster's real Slurm; their ranks import torch and meet in
a barrier (PYTHON names a Python with torch, TOPRUN the binary). One node after the other is lost, never the
root's: its agent is killed, and each fifth time its link is cut, which the root notices after 2 s
(keep_alive_interval=1, two attempts). Figures: from the root's line about the loss until all ranks of the next
attempt have met, once with --warm and once without. Exit code 1 if a median is above 3 s (10 s without --warm).
"""

import argparse
import json
import os
import pathlib
import signal
import statistics
import sys
import time
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "tests"))

import cluster
import support

NODES, SEATS = 8, 3
LOSSES_EACH = NODES - SEATS  # one job has so many spares
MOST_S = {"with --warm": 3.0, "without": 10.0}
WARM_UP_S = 120
RANK = """
import datetime, os, pathlib, sys, time
import torch.distributed as dist
dist.init_process_group("gloo", timeout=datetime.timedelta(seconds=60))
dist.barrier()
folder, last = pathlib.Path(sys.argv[1]), sys.argv[2]
attempt, node = os.environ["TOPRUN_ATTEMPT"], os.environ["TOPRUN_NODE_NAME"]
new = folder / f"{attempt}.{node}.new"
new.write_text(f"{time.time()} {os.getppid()}")
new.rename(folder / f"{attempt}.{node}.met")
while attempt != last:
    time.sleep(0.1)
"""
# Each warm parent that has imported the module says so.
MODULE = """
import os, pathlib
import torch.distributed
pathlib.Path(os.environ["WARMED"], os.uname().nodename).touch()
"""


class Jobs(cluster.SlurmCase):
    UP = ("--hosts", str(NODES), "--slurm")
    losses = 50
    jobs_vanish_s = 150  # Slurm asks a host that was cut off again after a while

    def met(self, folder, attempt):
        """{node: [when all had met there, its agent's pid]}, or None before all have."""
        paths = list(folder.glob(f"{attempt}.*.met"))
        return len(paths) == SEATS and {path.name.split(".")[1]: path.read_text().split() for path in paths}

    def start_job(self, folder, how, losses):
        (folder / "rank.py").write_text(RANK)
        (folder / "modules").mkdir()  # not the script's own folder, of which --warm runs nothing
        (folder / "modules/warmed.py").write_text(MODULE)
        warm = ["--warm=warmed"] if how == "with --warm" else []
        return self.start(
            "ctl", "srun", f"-N{NODES}", "--kill-on-bad-exit=0", "--no-kill", support.TOPRUN, "--nnodes", SEATS,
            "--nproc-per-node", "1", "--max-restarts", "1", *warm, "--rdzv-conf",
            "keep_alive_interval=1,keep_alive_max_attempt=2", folder / "rank.py", folder, losses,
            env={"PYTHON_EXEC": support.python(), "OMP_NUM_THREADS": "1", "PYTHONPATH": str(folder / "modules"),
                 "WARMED": str(folder)})

    def play(self, how, number, losses):
        """Seconds that each lost node's place was empty."""
        folder = self.folder()
        run = self.start_job(folder, how, losses)
        took, cut = [], []
        for loss in range(losses):
            ranks = cluster.wait_for(lambda: self.met(folder, loss), f"attempt {loss} meets", 120)
            if how == "with --warm":
                cluster.wait_for(lambda: len(list(folder.glob("n?"))) == NODES, "all warm parents", WARM_UP_S)
            victim = sorted(set(ranks) - {"n0"})[loss % (SEATS - 1)]
            if (number + loss) % 5 == 4:
                self.cluster.cut(victim)
                cut.append(victim)
            else:
                os.kill(int(ranks[victim][1]), signal.SIGKILL)
            run.says(f"(?s)(starting again without it.*){{{loss + 1}}}", 60)
            noticed = time.time()
            ranks = cluster.wait_for(lambda: self.met(folder, loss + 1), f"attempt {loss + 1} meets", 120)
            took.append(max(float(when) for when, _ in ranks.values()) - noticed)
        finished = run.wait(120)
        for host in cut:
            self.cluster.join(host)
        self.assertIn("all ended with 0", finished.err)  # srun's own code is that of the agents that were killed
        return took

    def test_all(self):
        self.figures = {}
        for how in MOST_S:
            took = []
            while len(took) < self.losses:
                took += self.play(how, len(took), min(LOSSES_EACH, self.losses - len(took)))
            self.figures[how] = took
            print(f"{how:12} {len(took)} losses, each replaced: median {statistics.median(took):.2f} s, "
                  f"longest {max(took):.2f} s (limit {MOST_S[how]:.0f} s), above it "
                  f"{sum(seconds > MOST_S[how] for seconds in took)}", flush=True)
        Jobs.seen = self.figures


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--losses", type=int, default=50)
    parser.add_argument("--json", type=pathlib.Path)
    options = parser.parse_args()
    Jobs.losses = options.losses
    result = unittest.TextTestRunner(stream=sys.stderr).run(unittest.TestSuite([Jobs("test_all")]))
    if not result.wasSuccessful() or result.skipped:
        sys.exit(1)
    if options.json:
        options.json.write_text(json.dumps(Jobs.seen))
    sys.exit(any(statistics.median(took) > MOST_S[how] for how, took in Jobs.seen.items()))


if __name__ == "__main__":
    main()
