# ctest: TIMEOUT 600 LABELS torch
"""The examples, under the real torchrun and under toprun."""

import gzip
import json
import os
import re
import struct
import subprocess
import unittest

import support
from support import EXAMPLES

CPU_ONLY = {"CUDA_VISIBLE_DEVICES": "", "OMP_NUM_THREADS": "1"}
ACCURACY_ALONE = 0.988  # of train_single.py on held-out digits
PI_LINE = r"pi = 3\.14159265\d+  error \d\.\de-\d\d  \(\d+ steps, %d ranks, [\d.]+ s\)"


def held_out_accuracy(output):
    return float(re.search(r"^held-out accuracy (\d\.\d{4})$", output, re.M)[1])


class Examples:
    """The cases; a subclass says how a program is started on `ranks` ranks."""

    def launch(self, ranks, *argv, **options):
        raise NotImplementedError

    def test_pi(self):
        for ranks, steps in ((1, 100_000), (3, 20_000)):
            with self.subTest(ranks=ranks, steps=steps):
                finished = self.launch(ranks, EXAMPLES / "pi.py", "--steps", str(steps))
                self.assert_ok(finished)
                self.assertRegex(finished.out, PI_LINE % ranks)

    def test_pi_says_so_when_the_steps_are_too_few(self):
        finished = self.launch(2, EXAMPLES / "pi.py", "--steps", "10")
        self.assertNotEqual(finished.code, 0)
        self.assertIn("take more steps", finished.err)

    def test_topology_names_each_node_once(self):
        finished = self.launch(3, EXAMPLES / "topology.py", "--title", "Standard")
        self.assert_ok(finished)
        title, header, row = finished.out.splitlines()
        self.assertEqual(title, "Standard")
        self.assertEqual(header.split(), ["rank", "hostname", "physical_host"])
        self.assertEqual(row.split()[:2], ["0", os.uname().nodename])
        self.assertEqual(header.index("hostname"), row.index(os.uname().nodename))

    def test_all_reduce_computes_both_bandwidths(self):
        path = self.folder() / "result.json"
        finished = self.launch(3, EXAMPLES / "all_reduce.py", "--size", "64KiB",
                               "--iterations", "3", "--json", path)
        self.assert_ok(finished)
        result = json.loads(path.read_text())
        self.assertEqual([result[name] for name in ("ranks", "bytes", "iterations", "backend")],
                         [3, 65536, 3, "gloo"])
        algbw = 65536 / sorted(result["seconds"])[1] / 1e9
        self.assertAlmostEqual(result["algbw_gb_per_s"], algbw)
        self.assertAlmostEqual(result["busbw_gb_per_s"], algbw * 4 / 3)
        self.assertRegex(finished.out, r"busbw +[\d.]+ GB/s = +[\d.]+ Gbps")

    def train(self, ranks, *options):
        """The accuracy that it prints, which is that of its checkpoint."""
        folder = self.folder()
        finished = self.launch(ranks, EXAMPLES / "train_ddp.py", *options, "--output-dir", folder, limit=240,
                               env=support.WARM_DIGITS)
        self.assert_ok(finished)
        accuracy = held_out_accuracy(finished.out)
        self.assertAlmostEqual(accuracy_of_checkpoint(folder / "digits.pt"), accuracy, 4)
        return accuracy


class UnderTorchrun(Examples, support.TestCase):
    def launch(self, ranks, *argv, env=None, **options):
        return self.run_to_end(support.python(), "-m", "torch.distributed.run", "--standalone",
                               "--nproc-per-node", ranks, *argv, env={**CPU_ONLY, **(env or {})},
                               **options)

    def test_topology_takes_the_location_from_the_launcher(self):
        finished = self.launch(2, EXAMPLES / "topology.py", env={"TOPRUN_LOCATION": "/c/rack7/h1"})
        self.assertIn("/c/rack7/h1", finished.out)

    def test_training(self):
        self.train(2, "--epochs", "1")


class UnderToprun(Examples, support.TestCase):
    def launch(self, ranks, *argv, env=None, **options):
        return self.toprun("--nproc-per-node", ranks, *argv,
                           env={"PYTHON_EXEC": support.python(), **CPU_ONLY, **support.WARM, **(env or {})},
                           **options)

    def test_training_on_many_ranks_is_as_good_as_in_one_process(self):
        self.assertGreaterEqual(self.train(4), ACCURACY_ALONE - 0.01)


class Alone(support.TestCase):
    """Without a launcher."""

    def python(self, *argv, env=None, **options):
        return self.run_to_end(support.python(), *argv, env={**CPU_ONLY, **(env or {})}, **options)

    def test_a_missing_launcher_is_named(self):
        """All are asked by one Python, which imports torch once."""
        names = ["topology.py", "all_reduce.py", "pi.py", "train_ddp.py", "train_resume.py"]
        finished = self.python("-c", """
import runpy, sys
for script in sys.argv[1:]:
    sys.argv = [script]
    try:
        runpy.run_path(script, run_name="__main__")
    except SystemExit as end:
        print(end)
""", *(EXAMPLES / name for name in names))
        self.assert_ok(finished)
        said = finished.out.splitlines()
        self.assertEqual(len(said), len(names), finished)
        for name, line in zip(names, said):
            self.assertRegex(line, rf"^{name}: RANK is not set: start it with toprun")

    def test_topology_under_srun_alone(self):
        # Four tasks on two nodes as srun would start them, with an scontrol that knows the step.
        tools = self.folder()
        (tools / "scontrol").write_text("#!/bin/sh\n[ \"$3\" = 'a[1-2]' ] && echo localhost && echo a2\n")
        (tools / "scontrol").chmod(0o755)
        port = support.free_port()
        tasks = [self.begin(support.python(), EXAMPLES / "topology.py", "--topology", env={
            **CPU_ONLY, "PATH": f"{tools}:{os.environ['PATH']}", "MASTER_PORT": str(port),
            "SLURM_PROCID": str(task), "SLURM_NPROCS": "4", "SLURM_LOCALID": str(task % 2),
            "SLURM_STEP_NODELIST": "a[1-2]", "SLURM_JOB_ID": "124", "SLURM_STEP_ID": "1",
            "SLURM_TOPOLOGY_ADDR": f"core.leaf{task // 2}.a.b",
            "SLURM_TOPOLOGY_ADDR_PATTERN": "switch.switch.node"}) for task in range(4)]
        finished = [task.wait(60) for task in tasks]
        for task in finished:
            self.assert_ok(task)
        rows = [row.split() for row in finished[0].out.splitlines()[1:]]
        name = os.uname().nodename
        self.assertEqual(rows, [["0", name, "/core/leaf0/a.b"], ["2", name, "/core/leaf1/a.b"]])

    def test_accuracy_of_one_process(self):
        finished = self.python(EXAMPLES / "train_single.py", "--output-dir", self.folder(), limit=240)
        self.assert_ok(finished)
        self.assertAlmostEqual(held_out_accuracy(finished.out), ACCURACY_ALONE, delta=0.005)

    def test_mnist_files(self):
        data, output = self.folder(), self.folder()
        for part, count in (("train", 40), ("t10k", 12)):
            with open(data / f"{part}-images-idx3-ubyte", "wb") as file:
                file.write(struct.pack(">4i", 0x803, count, 28, 28) + bytes(count * 28 * 28))
            with gzip.open(data / f"{part}-labels-idx1-ubyte.gz", "wb") as file:
                file.write(struct.pack(">2i", 0x801, count) + bytes(count))  # all are zeros
        finished = self.python(EXAMPLES / "train_single.py", "--data", data, "--output-dir", output)
        self.assert_ok(finished)
        self.assertEqual(held_out_accuracy(finished.out), 1.0)

        (data / "t10k-images-idx3-ubyte").unlink()
        finished = self.python(EXAMPLES / "train_single.py", "--data", data)
        self.assertEqual(finished.code, 1)
        self.assertIn("t10k-images-idx3-ubyte: no such file", finished.err)

    def test_the_two_trainings_differ_in_a_page(self):
        """The diff is what users read: it may not grow beyond that."""
        diff = subprocess.run(["diff", EXAMPLES / "train_single.py", EXAMPLES / "train_ddp.py"],
                              capture_output=True, text=True).stdout
        self.assertLessEqual(len(diff.splitlines()), 75)


def accuracy_of_checkpoint(path):
    """Loads the checkpoint into the network of train_single.py and asks it again."""
    program = """
import sys, torch, train_single
from torch.utils.data import DataLoader
model = train_single.network()
model.load_state_dict(torch.load(sys.argv[1]))
held_out = train_single.load_digits(None)[1]
print(train_single.accuracy(model, DataLoader(held_out, 256), torch.device("cpu")))
"""
    return float(subprocess.check_output([support.python(), "-B", "-c", program, path],
                                         env={**os.environ, **CPU_ONLY}, cwd=EXAMPLES))


if __name__ == "__main__":
    unittest.main()
