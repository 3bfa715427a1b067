"""A node or container whose /sys is another machine's or hidden: what a launch, net and doctor make of it."""

import json
import pathlib
import unittest

import machines
import net_test
import support
from support import free_port

VARIABLES = "NCCL_IB_HCA", "NCCL_IB_GID_INDEX", "NCCL_SOCKET_IFNAME"
SHOWS = "echo " + " ".join(f"{name}=${{{name}-left}}" for name in VARIABLES)


class WithSys(support.TestCase):
    """Each command gets a mount namespace of its own, in which /sys is a tree of ours or empty."""

    def setUp(self):
        support.needs_root()
        support.needs_program("unshare")

    def sys_of(self, build):
        root = self.folder()
        build(machines.Machine(root))
        return root / "sys"

    def below(self, sys, *command):
        """`sys` of None: an empty file system."""
        mount = f"mount --bind {sys} /sys" if sys else "mount -t tmpfs tmpfs /sys"
        return ["unshare", "--mount", "sh", "-ec", f'{mount}; exec "$@"', "sh", *command]

    def run_two(self, sys, *options, env=None, shows=SHOWS):
        port = str(free_port())
        environment = {"TOPRUN_SECRET": "0123456789abcdef", **(env or {})}
        words = ["--nnodes", "2", "--master-addr", "127.0.0.1", "--master-port", port, *options]
        runs = [self.begin(*self.below(one, support.binary(), *words, "--node-rank", node, "--no-python", "sh", "-c",
                                       shows), env=environment) for node, one in enumerate(sys)]
        finished = [run.wait(60) for run in runs]
        for one in finished:
            self.assert_ok(one)
        return finished

    def test_a_launch_sets_what_the_node_needs(self):
        storage = self.sys_of(net_test.storage)
        for one in self.run_two([storage, storage]):
            self.assertIn("NCCL_IB_HCA==mlx5_0:1,mlx5_1:1 NCCL_IB_GID_INDEX=left", one.out)
            self.assertNotIn("differ in RDMA", one.err)

    def test_each_node_decides_for_itself_and_the_root_compares(self):
        nodes = [self.sys_of(net_test.ipv4_link_local), self.sys_of(net_test.vlan_first)]
        first, second = self.run_two(nodes)
        self.assertIn("NCCL_IB_GID_INDEX=3", first.out)
        self.assertIn("NCCL_IB_GID_INDEX=5", second.out)
        nodes = [self.sys_of(net_test.eight_equal), self.sys_of(net_test.port_down)]
        self.assertRegex(self.run_two(nodes)[0].err,
                         r"warning: nodes differ in RDMA: (?=.*8 RoCE ports of 400 Gb/s on)"
                         r"(?=.*7 RoCE ports of 400 Gb/s \(mlx5_3 is down\) on)")

    def test_a_launch_warns_of_mistakes(self):
        sys = self.sys_of(net_test.one_hca)
        root = self.run_two([sys, sys], env={"NCCL_IB_GID_INDEX": "9", "NCCL_IB_TIMOUT": "22"})[0]
        self.assertIn("NCCL_IB_GID_INDEX=9 ", root.out)
        self.assertRegex(root.err, r"warning: NCCL_IB_GID_INDEX=9 \(set by you\): entry 9 of mlx5_0 is empty; entry 3 "
                                   r"is right on \S+ \(run `toprun net env` there\)")
        self.assertIn("did you mean NCCL_IB_TIMEOUT?", root.err)

    def test_errors_that_adapters_count_while_ranks_run_are_said(self):
        """The counters are read beside the ranks, some time after their start."""
        sys = [self.sys_of(net_test.one_hca) for _ in range(2)]
        ports = [next(one.glob("class/infiniband/*/ports/1")) for one in sys]
        for port in ports:
            (port / "counters").mkdir()
            (port / "counters/symbol_error").write_text("7\n")
        counts = ("cd /sys/class/infiniband/mlx5_0/ports/1/counters; for i in 1 2 3 4 5 6 7 8 9; do sleep 0.1; "
                  "echo $((7 + i)) >new; mv new symbol_error; done")
        root = self.run_two(sys, "--fabric-proof", "on", shows=counts)[0]
        self.assertRegex(root.err, r"warning: \S+: symbol_error of mlx5_0:1 grew by [1-9]")

    def test_what_a_fabrics_script_changes_is_shown(self):
        script = "/usr/local/gib/scripts/set_nccl_env.sh"
        there = (f"mount -t tmpfs tmpfs /usr/local; mkdir -p {pathlib.PurePath(script).parent}; "
                 f"echo 'export NCCL_CROSS_NIC=0 NCCL_PROTO=Simple; unset NCCL_ALGO' >{script}; exec \"$@\"")
        words = self.below(self.sys_of(net_test.one_hca), "sh", "-ec", there, "sh", support.binary(), "net", "env")
        environment = {"NCCL_PROTO": "LL128", "NCCL_ALGO": "Ring"}
        shown = self.run_to_end(*words, env=environment)
        self.assert_ok(shown)
        self.assertIn(f"\n{script} changes\n"
                      "  NCCL_ALGO       Ring -> (unset); your value stays\n"
                      "  NCCL_CROSS_NIC  (unset) -> 0\n"
                      "  NCCL_PROTO      LL128 -> Simple; your value stays\n", shown.out)
        self.assertIn("NCCL_CROSS_NIC=0\n  profile: gcp-gib\n", shown.out)
        told = json.loads(self.run_to_end(*words, "--json", env=environment).out)["script"]
        self.assertEqual((told["path"], told["changes"]["NCCL_CROSS_NIC"]), (script, {"before": None, "after": "0"}))

    def test_without_sys_all_works(self):
        for one in self.run_two([None, None], "--fabric-proof", "on"):
            self.assertIn("NCCL_IB_HCA=left NCCL_IB_GID_INDEX=left", one.out)
        shown = self.run_to_end(*self.below(None, support.binary(), "net", "show", "--json"))
        self.assert_ok(shown)
        self.assertEqual(json.loads(shown.out)["devices"], [])
        examined = self.run_to_end(*self.below(None, support.binary(), "doctor", "--json"))
        self.assertIn(examined.code, (0, 3, 4))
        self.assertEqual(examined.err, "")

    def test_little_memory_may_be_locked(self):
        support.needs_program("setpriv")
        words = self.below(self.sys_of(net_test.one_hca), "setpriv", "--bounding-set", "-ipc_lock", "sh", "-c",
                           'ulimit -l 64; exec "$@"', "sh", support.binary(), "doctor", "--json")
        finished = self.run_to_end(*words)
        self.assertEqual(finished.code, 4)
        found = {one["id"]: one for one in json.loads(finished.out)["findings"]}["locked-memory"]
        self.assertEqual(found["severity"], "error")
        self.assertIn("above the hard limit (`ulimit -Hl`), and on other hosts, an administrator sets LimitMEMLOCK=", found["fix"])


if __name__ == "__main__":
    unittest.main()
