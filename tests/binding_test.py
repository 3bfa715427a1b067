# ctest: LABELS torch
"""--numa-binding on this machine, compared with what torch's own code computes for it."""

import json
import os
import subprocess
import unittest

import support

SHOW = ["--no-python", "sh", "-c",
        "echo $LOCAL_RANK $(sed -n 's/^Cpus_allowed_list:\t//p' /proc/self/status)"]

# torch asks CUDA where its GPUs are; here they are where toprun puts ranks of a machine without.
TORCHS = """
import json, sys
from torch.numa import binding

def bound(mode, homes):
    binding._get_gpu_count = lambda: len(homes)
    binding._get_numa_node_index_for_gpu_index = lambda *, gpu_index: homes[gpu_index]
    options = binding.NumaOptions(affinity_mode=binding.AffinityMode(mode))
    return [sorted(binding._get_logical_cpus_to_bind_to(gpu_index=i, numa_options=options))
            for i in range(len(homes))]

print(json.dumps([bound(mode, homes) for mode, homes in json.loads(sys.argv[1])]))
"""


def cpus_of(text):
    """The numbers in a list such as 0-3,8."""
    numbers = set()
    for part in text.strip().split(","):
        first, _, last = part.partition("-")
        numbers.update(range(int(first), int(last or first) + 1))
    return numbers


def nodes():
    """NUMA nodes with CPUs that we may use."""
    folder = "/sys/devices/system/node"
    found = []
    for name in os.listdir(folder):
        if name.startswith("node") and name[4:].isdigit():
            with open(f"{folder}/{name}/cpulist") as file:
                text = file.read()
            if text.strip() and cpus_of(text) & os.sched_getaffinity(0):
                found.append(int(name[4:]))
    return sorted(found)


@unittest.skipIf(os.path.exists("/proc/driver/nvidia/gpus"), "this machine has GPUs to go by")
class Binding(support.TestCase):
    def bound(self, mode, nproc, *before):
        finished = self.run_to_end(*before, support.binary(), "--nproc-per-node", nproc,
                                   "--numa-binding", mode, *SHOW, limit=30)
        self.assert_ok(finished)
        return dict(line.split() for line in finished.out.splitlines())

    def test_the_cpus_are_torchs(self):
        usable = nodes()
        most = min(2, len(os.sched_getaffinity(0)))
        cases = [(mode, [usable[rank * len(usable) // nproc] for rank in range(nproc)])
                 for mode in ("node", "socket", "exclusive", "core-complex")
                 for nproc in range(1, most + 1)]
        torchs = json.loads(subprocess.check_output(
            [support.python(), "-c", TORCHS, json.dumps(cases)]))
        for (mode, homes), expected in zip(cases, torchs, strict=True):
            with self.subTest(mode, homes=homes):
                ours = self.bound(mode, len(homes))
                self.assertEqual([sorted(cpus_of(ours[str(rank)])) for rank in range(len(homes))],
                                 expected)

    def test_only_allowed_cpus(self):
        support.needs_program("taskset")
        last = max(os.sched_getaffinity(0))
        self.assertEqual(self.bound("node", 2, "taskset", "-c", last),
                         {"0": str(last), "1": str(last)})

    def test_without_the_option_the_affinity_is_the_inherited_one(self):
        finished = self.toprun("--nproc-per-node", 1, *SHOW)
        self.assertEqual(cpus_of(finished.out.split()[1]), os.sched_getaffinity(0))

    def test_what_it_says(self):
        finished = self.toprun("-v", "--nproc-per-node", 1, "--numa-binding", "node", *SHOW)
        self.assert_ok(finished)
        self.assertRegex(finished.err, r"toprun: --numa-binding: \S+ has no GPU, so its ranks are spread evenly over "
                                       r"its NUMA nodes\n")
        self.assertRegex(finished.err, r"toprun: rank 0 is bound to CPUs \S+ \(NUMA node \d+\)\n")

    def test_too_few_cores_is_one_error_before_the_start(self):
        support.needs_program("taskset")
        cpu = min(os.sched_getaffinity(0))
        finished = self.run_to_end("taskset", "-c", cpu, support.binary(), "--nproc-per-node", 2,
                                   "--numa-binding", "exclusive", *SHOW, limit=30)
        self.assertEqual((finished.code, finished.out), (1, ""), finished)
        self.assertRegex(finished.err, r"--numa-binding exclusive: NUMA node \d+ has 1 usable cores "
                                       r"for 2 workers; use --numa-binding node\n")


if __name__ == "__main__":
    unittest.main()
