# ctest: TIMEOUT 180 EMULATED
"""A job on one node: where its store listens, and that it takes no port that others expect."""

import os
import shlex
import re
import socket
import subprocess
import unittest

import support

# Says where the store is, and at which of this host's addresses it answers.
LOOK = """
import os, socket, subprocess
address, port = os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"])
own = {word.split("/")[0] for line in subprocess.run(
           ["ip", "-o", "address", "show"], capture_output=True, text=True).stdout.splitlines()
       for word in [line.split()[3]] if not word.startswith("fe80")}
def answers(host):
    try:
        socket.create_connection((host, port), 10).close()
        return True
    except OSError:
        return False
print(address, port, answers(address), *sorted(host for host in own if answers(host)), flush=True)
"""
LOOPBACK = {"127.0.0.1", "::1"}
DEFAULT_PORTS = {29500, 29400}


def own_addresses():
    """Of this host, to other hosts."""
    text = subprocess.run(["ip", "-4", "-o", "address", "show", "scope", "global"],
                          capture_output=True, text=True).stdout
    return re.findall(r"inet ([\d.]+)", text)


class OneNodeCase(support.TestCase):
    def setUp(self):
        support.needs_program("ip")
        self.script = self.folder() / "look.py"
        self.script.write_text(LOOK)

    def look(self, *options, before=(), program=None):
        """MASTER_ADDR, MASTER_PORT, and the addresses at which the store answers."""
        finished = self.run_to_end(*before, program or support.binary(), *options, self.script,
                                   env=support.without_torch())
        self.assert_ok(finished)
        address, port, answers, *reached = finished.out.split()
        self.assertEqual(answers, "True", finished)
        return address, int(port), set(reached)


class OneNode(OneNodeCase):
    def test_only_this_host_reaches_its_store_at_a_port_of_the_kernels_choice(self):
        for options in ([], ["--standalone"], ["--nnodes", "1"], ["--rdzv-backend", "c10d"],
                        ["--rdzv-endpoint", "localhost:0"], ["--nnodes", "1:1"]):
            with self.subTest(options):
                address, port, reached = self.look(*options)
                self.assertEqual(address, "127.0.0.1")
                self.assertNotIn(port, DEFAULT_PORTS)
                self.assertLessEqual(reached, LOOPBACK)

    def test_a_port_that_the_user_names_is_this_one(self):
        for option in ("--master-port={}", "--rdzv-endpoint=127.0.0.1:{}"):
            port = support.free_port()
            with self.subTest(option):
                address, found, reached = self.look(option.format(port))
                self.assertEqual((address, found), ("127.0.0.1", port))
                self.assertLessEqual(reached, LOOPBACK)

    def test_an_address_that_the_user_names_is_reached(self):
        own = own_addresses()
        if not own:
            self.skipTest("this host has no address but loopback")
        for options in (["--master-addr", own[0]], ["--rdzv-endpoint", own[0]]):
            port = support.free_port()
            with self.subTest(options):
                address, found, reached = self.look(*options, "--master-port", port)
                self.assertEqual(found, port)
                self.assertIn(own[0], reached)
                if options[0] == "--master-addr":
                    self.assertEqual(address, own[0])

    def test_a_named_port_that_another_holds_is_an_error(self):
        with socket.socket() as other:
            other.bind(("", 0))
            other.listen()
            finished = self.run_to_end(support.binary(), "--master-port", other.getsockname()[1],
                                       self.script, env=support.without_torch())
            self.assertEqual(finished.code, 1)
            self.assertIn(f"(pid {os.getpid()}) holds it", finished.err)


class Network(OneNodeCase):
    """In a network of its own, where nobody else holds a port."""

    def setUp(self):
        super().setUp()
        support.needs_root()

    def within(self, preparation):
        return ["unshare", "--net", "sh", "-c", f'{preparation}; exec "$@"', "sh"]

    def test_named_torchrun_takes_torchruns_ports(self):
        torchrun = self.folder() / "torchrun"
        torchrun.symlink_to(support.binary())
        for options, expected in (([], 29500), (["--rdzv-backend", "c10d"], 29400)):
            with self.subTest(options):
                address, port, _ = self.look(*options, program=torchrun,
                                             before=self.within("ip link set lo up"))
                self.assertEqual((address, port), ("127.0.0.1", expected))
        _, port, _ = self.look("--standalone", program=torchrun,
                               before=self.within("ip link set lo up"))
        self.assertNotIn(port, DEFAULT_PORTS)

    def test_without_ipv4(self):
        address, _, reached = self.look(before=self.within(
            "ip link set lo up; ip address del 127.0.0.1/8 dev lo"))
        self.assertEqual((address, reached), ("::1", {"::1"}))

    def test_ranks_that_need_no_network_run_without_any(self):
        finished = self.run_to_end(*self.within("true"), support.binary(), "--nproc-per-node", 2, "--no-python",
                                   "sh", "-c", "echo $RANK")
        self.assert_ok(finished)
        self.assertEqual(sorted(finished.out.split()), ["0", "1"])

    def test_several_agents_of_a_host_with_nothing_but_loopback(self):
        meet = ["--rdzv-backend", "c10d", "--rdzv-endpoint", "localhost:29400", "--rdzv-conf", "last_call_timeout=1"]
        in_place = ["RANK=0", "WORLD_SIZE=1", "LOCAL_RANK=0", "LOCAL_WORLD_SIZE=1", "MASTER_ADDR=127.0.0.1",
                    "MASTER_PORT=29500"]
        for agents, env, options in ((1, [], ["--nnodes", "1:2", *meet]), (2, [], ["--nnodes", "2", *meet]),
                                     (1, in_place, ["--ranks-in-place"])):
            with self.subTest(options):
                words = shlex.join(["env", *env, support.binary(), *options, "--no-python", "sh", "-c",
                                    "echo $RANK of $WORLD_SIZE"])
                script = " & ".join([words] * agents) + "; code=$?; wait; exit $code"
                finished = self.run_to_end(*self.within("ip link set lo up"), "sh", "-c", script, limit=30)
                self.assert_ok(finished)
                self.assertEqual(sorted(finished.out.splitlines()), [f"{rank} of {agents}" for rank in range(agents)])


if __name__ == "__main__":
    unittest.main()
