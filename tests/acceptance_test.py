# ctest: SERIAL TIMEOUT 900 LABELS acceptance cluster
"""What people's own recipes do, as a whole, on a real Slurm of eight hosts whose names interleave six
racks. Prints the tables that the programs print."""

import os
import pathlib
import re
import unittest

import cluster
import support
from examples_test import ACCURACY_ALONE, accuracy_of_checkpoint, held_out_accuracy
from support import EXAMPLES, TOPRUN

RACKS = ["b", "d", "a", "c", "e", "f", "b", "f"]  # of n0 … n7, as in the recipe's sample
BY_NAME = [0, 1, 2, 3, 4, 5, 6, 7]
BY_TOPOLOGY = [2, 0, 6, 3, 1, 4, 5, 7]
RANKS_LIMIT_S = 280
NEEDED_BYTES = 12 << 30  # for 64 processes with torch


def available_bytes():
    text = pathlib.Path("/proc/meminfo").read_text()
    return int(re.search(r"^MemAvailable: +(\d+) kB", text, re.M)[1]) << 10


def table(nodes, per_node):
    """What topology.py prints of so many ranks per node, cell by cell."""
    return [["rank", "hostname", "physical_host"]] + [
        [str(per_node * place), f"n{node}", f"/core/{RACKS[node]}/n{node}"]
        for place, node in enumerate(nodes)]


class Acceptance(cluster.SlurmCase):
    UP = ("--rack-of", ",".join(RACKS), "--slurm")

    def quote(self, finished, title):
        print(f"{title}: {finished.seconds:.1f} s\n{finished.out}", end="", flush=True)

    def ranks(self, title, *words, env=None):
        """The table of topology.py on eight nodes, by `srun WORDS topology.py`."""
        if available_bytes() < NEEDED_BYTES:
            self.skipTest(f"needs {NEEDED_BYTES >> 30} GiB of free memory")
        finished = self.srun(*words, EXAMPLES / "topology.py", limit=RANKS_LIMIT_S,
                             env={"PYTHON_EXEC": support.python(), "CUDA_VISIBLE_DEVICES": "", **(env or {})})
        self.quote(finished, title)
        self.assert_ok(finished)
        return [line.split() for line in finished.out.splitlines()]

    def test_ranks_by_torchrun(self):
        self.assertEqual(table(BY_NAME, 1), self.ranks(
            "srun … python -m torch.distributed.run …",
            "--ntasks-per-node=1", "--nodes", "8", *support.torchrun(), "--nproc_per_node", "1",
            "--rdzv_endpoint", "n0:6000", "--rdzv_backend", "c10d", "--nnodes", "8"))

    def test_64_ranks_by_toprun(self):
        self.assertEqual(table(BY_TOPOLOGY, 8), self.ranks(
            "srun … toprun --nproc-per-node 8", "--ntasks-per-node=1", "--nodes", "8", TOPRUN,
            "--nproc-per-node", "8", env=support.WARM))

    def test_ranks_in_place(self):
        self.assertEqual(table(BY_TOPOLOGY, 2), self.ranks(
            "srun -n 16 toprun", "--nodes", "8", "-n", "16", "--ntasks-per-node=2", TOPRUN))

    def test_pi_by_the_flags_of_its_recipe(self):
        launcher = (f"{TOPRUN} --nproc_per_node 20 --nnodes 2 --node_rank $0 "
                    "--rdzv_endpoint n0:6000 --rdzv_backend c10d --max_restarts 0 "
                    "--role $(hostname -s|tr -dc '0-9'): --tee 3 ")
        runs = [self.start(f"n{node}", "bash", "-c", launcher + str(EXAMPLES / "pi.py"), str(node),
                           env={"PYTHON_EXEC": support.python(), "CUDA_VISIBLE_DEVICES": "", **support.WARM})
                for node in (0, 1)]
        finished = [run.wait(200) for run in runs]
        self.quote(finished[0], "pi.py on 2 nodes × 20 ranks")
        for run, one in zip(runs, finished):
            self.assert_ok(one)
            self.assert_nothing_left(run)
        self.assertRegex(finished[0].out, r"^\[0:0\]:pi = 3\.14159265\d+  error \d\.\de-\d\d  "
                                          r"\(10000000 steps, 40 ranks, [\d.]+ s\)\n$")
        self.assertEqual(finished[1].out, "")

    def test_training_from_a_batch_script_that_says_only_toprun(self):
        tools, results = self.folder(), self.folder()
        (tools / "toprun").symlink_to(pathlib.Path(TOPRUN).resolve())
        code, out = self.sbatch(
            "--nodes=4 --ntasks-per-node=2",
            f"toprun {EXAMPLES}/train_ddp.py --output-dir {results}", limit=240,
            env={"PATH": f"{tools}:{os.environ['PATH']}", "PYTHON_EXEC": support.python(),
                 "CUDA_VISIBLE_DEVICES": "", "OMP_NUM_THREADS": "1", **support.WARM_DIGITS})
        print(f"train_ddp.py on 4 nodes × 2 ranks:\n{out}", end="", flush=True)
        self.assertEqual(code, 0, out)
        self.assertRegex(out, "8 ranks on 4 nodes, all ended with 0")
        accuracy = held_out_accuracy(out)
        self.assertGreaterEqual(accuracy, ACCURACY_ALONE - 0.01)
        self.assertAlmostEqual(accuracy_of_checkpoint(results / "digits.pt"), accuracy, 4)


if __name__ == "__main__":
    unittest.main()
