"""Which network NCCL used: said at the end of a run of several nodes, from what it wrote in each rank."""

import json
import unittest

import support
from support import free_port

# What NCCL writes in its releases; the worker stands in for it where there are no GPUs.
LINES = {
    "IB": r"""h:7:40 [0] NCCL INFO NCCL version 2.27.3+cuda12.9
h:7:40 [0] NCCL INFO NET/IB : Using [0]mlx5_0:1/RoCE [1]mlx5_1:1/RoCE [RO]; OOB eth0:10.0.0.5<0>
h:7:40 [0] NCCL INFO Using network IB
h:7:40 [0] NCCL INFO Channel 00/0 : 0[0] -> 8[0] [send] via NET/IB/0/GDRDMA
h:7:40 [0] NCCL INFO Channel 01/0 : 8[0] -> 0[0] [receive] via NET/IB/1/GDRDMA""",
    "Socket": r"""h:7:40 [0] NCCL INFO NET/IB : No device found.
h:7:40 [0] NCCL INFO Using network Socket
h:7:40 [0] NCCL INFO Channel 00/0 : 0[0] -> 8[0] [send] via NET/Socket/0""",
}
WRITES = """test -z "$NCCL_DEBUG_FILE" || printf '%s\\n' "$(eval echo \\"\\$LINES_$GROUP_RANK\\")" >"$NCCL_DEBUG_FILE"
echo "$NCCL_DEBUG $NCCL_DEBUG_SUBSYS" """


class Proof(support.TestCase):
    def run_two(self, *options, lines=("IB", "IB"), env=None):
        """Two agents, each with two ranks; what the root's said, and the report."""
        report = self.folder() / "report.json"
        port = str(free_port())
        program = self.folder() / "program.sh"
        program.write_text("#!/bin/sh\n" + WRITES)
        program.chmod(0o755)
        environment = {"TOPRUN_SECRET": "0123456789abcdef", "LINES_0": LINES[lines[0]], "LINES_1": LINES[lines[1]],
                       **(env or {})}
        words = ["--nnodes", "2", "--nproc-per-node", "2", "--master-addr", "127.0.0.1", "--master-port", port,
                 "--report", report, *options]
        runs = [self.begin(support.binary(), *words, "--node-rank", str(node), "--no-python", program, env=environment)
                for node in (0, 1)]
        finished = [run.wait(60) for run in runs]
        for one in finished:
            self.assert_ok(one)
        return finished[0], json.loads(report.read_text())["attempts"][0]["network"]

    def test_rdma_is_said_and_recorded(self):
        finished, network = self.run_two("--fabric-proof", "on")
        self.assertIn("network: 4 ranks on 2 nodes communicated by IB with GPUDirect", finished.err)
        self.assertNotIn("warning: ", finished.err)
        self.assertEqual([(one["networks"], one["ranks"], one["gpu_direct"]) for one in network], [(["IB"], 2, 2)] * 2)
        self.assertEqual(finished.out, "INFO INIT,NET\n" * 2)

    def test_plain_sockets_name_their_cause(self):
        finished, network = self.run_two("--fabric-proof", "on", lines=("IB", "Socket"))
        self.assertIn("network: 4 ranks on 2 nodes communicated by IB, Socket, partly with GPUDirect", finished.err)
        self.assertRegex(finished.err, r"warning: \S+: NCCL said: NET/IB : No device found\.")
        self.assertEqual(sum(one["networks"] == ["Socket"] for one in network), 1)

    def test_a_users_own_debugging_stays(self):
        finished, network = self.run_two("--fabric-proof", "on", env={"NCCL_DEBUG": "WARN"})
        self.assertEqual(finished.out, "WARN \n" * 2)
        self.assertEqual(network, [])

    def test_nothing_is_kept_without_gpus_or_when_it_is_off(self):
        for options in ([], ["--fabric-proof", "off"]):
            finished, network = self.run_two(*options)
            self.assertEqual((finished.out, network), (" \n" * 2, []))
            self.assertNotIn("network: ", finished.err)

    def test_with_log_dir_the_lines_are_kept(self):
        logs = self.folder()
        self.run_two("--fabric-proof", "on", "--log-dir", logs)
        self.assertEqual(len(list(logs.glob("*/attempt_0/*/nccl.log"))), 4)


if __name__ == "__main__":
    unittest.main()
