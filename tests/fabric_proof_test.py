"""Which network NCCL used: said at the end of a run of several nodes, from what it wrote in each rank."""

import json
import resource
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
# No plugin is installed, as with NCCL of a wheel; it says so in every job, healthy or not.
NO_PLUGIN = "h:7:40 [0] NCCL INFO NET/Plugin: Could not find: libnccl-net.so. Using internal net plugin.\n"
LINES["IB without a plugin"] = NO_PLUGIN + LINES["IB"]
LINES["Socket without a plugin"] = NO_PLUGIN + LINES["Socket"]
LINES["Socket by a setting"] = NO_PLUGIN + LINES["Socket"].replace(
    "NET/IB : No device found.", "NCCL_IB_DISABLE set by environment to 1.")
LINES["old"] = LINES["IB"].replace("2.27.3", "2.21.5")
WRITES = """test -z "$NCCL_DEBUG_FILE" || printf '%s\\n' "$(eval echo \\"\\$LINES_$GROUP_RANK\\")" >"$NCCL_DEBUG_FILE"
sh -c "$THEN"
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

    def test_an_absent_plugin_is_no_warning(self):
        finished, _ = self.run_two("--fabric-proof", "on", lines=("IB without a plugin",) * 2)
        self.assertIn("network: 4 ranks on 2 nodes communicated by IB with GPUDirect", finished.err)
        self.assertNotIn("warning: ", finished.err)

    def test_of_several_lines_the_one_that_explains_is_said(self):
        finished, _ = self.run_two("--fabric-proof", "on", lines=("IB without a plugin", "Socket without a plugin"))
        self.assertRegex(finished.err, r"warning: \S+: NCCL said: NET/IB : No device found\.")
        self.assertNotIn("NET/Plugin", finished.err)

    def test_it_is_given_where_the_variables_are_left_alone(self):
        finished, network = self.run_two("--fabric", "off", "--fabric-proof", "on")
        self.assertIn("network: 4 ranks on 2 nodes communicated by IB with GPUDirect", finished.err)
        self.assertEqual(len(network), 2)

    def test_a_users_own_debugging_stays(self):
        finished, network = self.run_two("--fabric-proof", "on", env={"NCCL_DEBUG": "WARN"})
        self.assertEqual(finished.out, "WARN \n" * 2)
        self.assertEqual(network, [])

    def test_a_users_own_file_is_left_alone(self):
        theirs = self.folder() / "mine.%h.%p.log"
        finished, network = self.run_two("--fabric-proof", "on", env={"NCCL_DEBUG_FILE": str(theirs)})
        self.assertEqual(finished.out, " \n" * 2)
        self.assertEqual(network, [])
        self.assertIn("Using network IB", theirs.read_text())

    def test_a_log_of_ten_gigabytes(self):
        """NCCL writes what counts at the beginning; the rest is not read."""
        finished, network = self.run_two("--fabric-proof", "on", env={"THEN": 'truncate -s 10G "$NCCL_DEBUG_FILE"'})
        self.assertIn("network: 4 ranks on 2 nodes communicated by IB with GPUDirect", finished.err)
        self.assertLess(finished.seconds, 20)
        self.assertEqual([one["ranks"] for one in network], [2, 2])
        most = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss  # KiB, of the largest
        self.assertLess(most, 256 << 10)

    def test_different_versions(self):
        finished, network = self.run_two("--fabric-proof", "on", lines=("IB", "old"))
        self.assertRegex(finished.err, r"warning: ranks used different versions of NCCL: 2\.21\.5 on \S+, 2\.27\.3 on ")
        self.assertEqual(sorted(one["nccl"] for one in network), [["2.21.5"], ["2.27.3"]])

    def test_nothing_is_kept_without_gpus_or_when_it_is_off(self):
        for options in ([], ["--fabric-proof", "off"]):
            finished, network = self.run_two(*options)
            self.assertEqual((finished.out, network), (" \n" * 2, []))
            self.assertNotIn("network: ", finished.err)

    def test_with_log_dir_the_lines_are_kept(self):
        logs = self.folder()
        self.run_two("--fabric-proof", "on", "--log-dir", logs)
        self.assertEqual(len(list(logs.glob("*/attempt_0/*/nccl.log"))), 4)


class Required(support.TestCase):
    """--require-rdma: a node without RDMA never starts, and plain sockets end the job at once."""

    WRITES_AND_TRAINS = WRITES + "; test -z \"$SLEEPS\" || exec sleep $SLEEPS"

    def run_nodes(self, *options, nodes=(0, 1), lines="IB", env=None, sleeps="", required=True):
        """What the root's agent said; a root that is unfit ends before the others need to come."""
        program = self.folder() / "program.sh"
        program.write_text("#!/bin/sh\n" + self.WRITES_AND_TRAINS)
        program.chmod(0o755)
        environment = {"TOPRUN_SECRET": "0123456789abcdef", "LINES_0": LINES["IB"], "LINES_1": LINES[lines],
                       "SLEEPS": sleeps, **(env or {})}
        port = str(free_port())
        runs = [self.begin(support.binary(), "--nnodes", "2", "--master-addr", "127.0.0.1", "--master-port", port,
                           *(["--require-rdma"] if required else []), *options, "--node-rank", str(node), "--no-python", program,
                           env=environment)
                for node in nodes]
        finished = [run.wait(60) for run in runs]
        for run in runs:
            self.assert_nothing_left(run)
        return finished[0]

    def test_a_machine_without_rdma(self):
        if support.has_rdma():
            self.skipTest("this machine has RDMA devices")
        finished = self.run_nodes(nodes=[0])
        self.assertEqual(finished.code, 1)
        self.assertRegex(finished.err, r"toprun: \S+: --require-rdma: it has no RDMA device; for more, run `toprun net show`")
        self.assertEqual(finished.out, "")

    def test_a_setting_that_switches_it_off(self):
        finished = self.run_nodes("--fabric", "aws-efa", nodes=[0], env={"NCCL_NET": "Socket"})
        self.assertEqual(finished.code, 1)
        self.assertRegex(finished.err, r"--require-rdma: NCCL_NET=Socket \(set by you\)")

    def test_rdma_in_use_goes_on(self):
        """It is watched, which takes NCCL's lines; without the option nothing is kept on a machine without GPUs."""
        finished = self.run_nodes("--fabric", "aws-efa", sleeps="2.5")
        self.assert_ok(finished)
        self.assertEqual(finished.out, "INFO INIT,NET\n")
        self.assertIn("network: 2 ranks on 2 nodes communicated by IB", finished.err)

    def test_without_the_option_plain_sockets_go_on(self):
        finished = self.run_nodes("--fabric", "aws-efa", "--fabric-proof", "on", lines="Socket", required=False)
        self.assert_ok(finished)
        self.assertIn("network: 2 ranks on 2 nodes communicated by IB, Socket", finished.err)

    def test_fabric_off_is_no_way_around(self):
        if support.has_rdma():
            self.skipTest("this machine has RDMA devices")
        finished = self.run_nodes("--fabric", "off", nodes=[0])
        self.assertEqual(finished.code, 1)
        self.assertIn("--require-rdma: it has no RDMA device", finished.err)

    def test_own_debugging_leaves_only_the_first_check(self):
        finished = self.run_nodes("--fabric", "aws-efa", env={"NCCL_DEBUG": "WARN"})
        self.assert_ok(finished)
        self.assertIn("--require-rdma: you set NCCL's debug variables yourself", finished.err)

    def test_plain_sockets_end_the_job(self):
        finished = self.run_nodes("--fabric", "aws-efa", lines="Socket", sleeps="100")
        self.assertEqual(finished.code, 1)
        self.assertLess(finished.seconds, 10)
        self.assertRegex(finished.err, r"--require-rdma: NCCL communicates with other nodes over plain sockets; it "
                                       r"said: NET/IB : No device found\.")

    def test_it_quotes_the_line_that_explains(self):
        """NCCL says in every job first that there is no plugin. Where a plugin is the fast way, that explains the
        sockets, unless a setting does."""
        for lines, said in (("Socket without a plugin", r"NET/Plugin: Could not find: libnccl-net\.so"),
                            ("Socket by a setting", r"NCCL_IB_DISABLE set by environment to 1\.")):
            with self.subTest(lines):
                finished = self.run_nodes("--fabric", "aws-efa", lines=lines, sleeps="100")
                self.assertEqual(finished.code, 1)
                self.assertRegex(finished.err, f"--require-rdma: .* it said: {said}")


if __name__ == "__main__":
    unittest.main()
