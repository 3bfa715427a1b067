#!/usr/bin/env python3
# ctest: TIMEOUT 300 LABELS cluster
"""tools/vcluster from outside: what it builds, and that nothing of it stays."""

import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

sys.dont_write_bytecode = True
TOOLS = pathlib.Path(__file__).resolve().parent.parent / "tools"
sys.path.insert(0, str(TOOLS))

from vcluster_lib import namespaces, plan, slurm, state  # noqa: E402
from vcluster_lib.errors import VclusterError  # noqa: E402

COMMAND_LIMIT_S = 60
NOBODY = 65534


def reason_not_permitted(*, with_slurm: bool) -> str | None:
    user_namespace = os.geteuid() != 0
    try:
        namespaces.check_permitted(user_namespace)
        if with_slurm:
            slurm.check_permitted(user_namespace)
    except VclusterError as error:
        return str(error)
    return None


NO_HOSTS = reason_not_permitted(with_slurm=False)
NO_SLURM = reason_not_permitted(with_slurm=True)


def vcluster(*words: str, **options) -> subprocess.CompletedProcess:
    command = [sys.executable, str(options.pop("program", TOOLS / "vcluster")), *words]
    return subprocess.run(
        command, capture_output=True, text=True, timeout=COMMAND_LIMIT_S, check=False, **options
    )


def interfaces_and_mounts() -> tuple:
    mounts = pathlib.Path("/proc/self/mounts").read_text().splitlines()
    return sorted(os.listdir("/sys/class/net")), sorted(mounts)


class Cluster:
    """One cluster under a name of this test's own."""

    def __init__(self, suffix: str, *words: str):
        self.name = f"test-{os.getpid()}-{suffix}"
        self.words = words

    def up(self) -> None:
        done = vcluster("up", "--name", self.name, *self.words)
        if done.returncode != 0:
            raise AssertionError(f"up failed: {done.stderr}")

    def down(self) -> subprocess.CompletedProcess:
        return vcluster("down", "--name", self.name)

    def run(self, verb: str, *words: str) -> subprocess.CompletedProcess:
        return vcluster(verb, "--name", self.name, *words)

    def exec(self, host: str, *command: str) -> subprocess.CompletedProcess:
        return self.run("exec", host, *command)

    def python(self, host: str, program: str) -> subprocess.CompletedProcess:
        return self.exec(host, sys.executable, "-c", program)

    def reaches(self, source: str, address: str, limit_s: int = 10) -> bool:
        """Whether a packet to a closed port is refused, not lost: ask for no listener. Behind a cable that
        was just plugged in the first packets may be lost, and a question for the neighbour's hardware address
        that was asked while the cable was out ends with "no route": so it is tried until the limit."""
        program = (
            "import socket, time\n"
            f"end = time.monotonic() + {limit_s}\n"
            "while (left := end - time.monotonic()) > 0:\n"
            f"    try: socket.create_connection(({address!r}, 9), timeout=left)\n"
            "    except ConnectionRefusedError: print('refused'); break\n"
            "    except OSError: time.sleep(0.1)\n"
            "else: print('lost')\n"
        )
        answer = self.python(source, program).stdout
        if not answer.startswith(("refused", "lost")):
            raise AssertionError(f"no answer from {source}: {answer!r}")
        return answer.startswith("refused")


class PlanTest(unittest.TestCase):
    def test_hosts_take_turns_in_racks(self):
        made = plan.make_plan(5, 2, None)
        self.assertEqual([h.rack for h in made.hosts], ["r0", "r1", "r0", "r1", "r0"])

    def test_explicit_racks(self):
        made = plan.make_plan(None, None, "b,d,a,b")
        self.assertEqual(
            plan.topology_file(made),
            ("topology.conf",
             "SwitchName=b Nodes=n0,n3\nSwitchName=d Nodes=n1\nSwitchName=a Nodes=n2\n"
             "SwitchName=core Switches=b,d,a\n"),
        )
        self.assertEqual(
            plan.locations(made), "n0 /core/b/n0\nn1 /core/d/n1\nn2 /core/a/n2\nn3 /core/b/n3\n"
        )

    def test_racks_as_blocks_and_as_yaml(self):
        made = plan.make_plan(None, None, "b,d,b", slurm_topology="block")
        self.assertEqual(
            plan.topology_file(made),
            ("topology.conf", "BlockName=b Nodes=n0,n2\nBlockName=d Nodes=n1\nBlockSizes=2\n"),
        )
        made = plan.make_plan(None, None, "b,d,b", slurm_topology="yaml")
        self.assertEqual(
            plan.topology_file(made),
            ("topology.yaml",
             "- topology: racks\n  cluster_default: true\n  tree:\n    switches:\n"
             "      - {switch: core, children: 'b,d'}\n      - {switch: b, nodes: 'n0,n2'}\n"
             "      - {switch: d, nodes: 'n1'}\n"),
        )

    def test_own_name(self):
        for own_name, expected in [
            ("address", ["10.77.0.1 n0", "10.77.0.2 n1"]),
            ("127.0.1.1", ["127.0.1.1 n0", "10.77.0.2 n1"]),
            ("none", ["10.77.0.2 n1"]),
        ]:
            with self.subTest(own_name):
                made = plan.make_plan(2, None, None, own_name=own_name)
                lines = plan.hosts_file(made, made.hosts[0]).splitlines()
                self.assertEqual([line for line in lines if " n" in line], expected)

    def test_addresses_are_all_different(self):
        made = plan.make_plan(plan.HOSTS_LIMIT, 4, None)
        hosts = made.everybody()
        self.assertEqual(len({plan.ipv4(h, n) for h in hosts for n in (0, 1)}), 2 * len(hosts))

    def test_refused(self):
        for arguments, options, word in [
            ((0, None, None), {}, "--hosts 0"),
            ((201, None, None), {}, "--hosts 201"),
            ((2, 3, None), {}, "--racks 3"),
            ((2, None, "a"), {}, "1 racks, but there are 2 hosts"),
            ((2, None, "a,core"), {}, "'core' is no rack name"),
            ((2, 1, "a,b"), {}, "drop --racks"),
            ((2, None, None), {"uplink": "fast"}, "--uplink fast"),
            ((2, None, None), {"nics": 2, "cluster_nic": 2}, "--cluster-nic 2"),
            ((2, None, None), {"slurm": True, "family": "ipv6"}, "--family ipv6"),
        ]:
            with self.subTest(word), self.assertRaises(VclusterError) as caught:
                plan.make_plan(*arguments, **options)
            self.assertIn(word, str(caught.exception))


@unittest.skipIf(NO_HOSTS, f"no virtual hosts here: {NO_HOSTS}")
class RacksTest(unittest.TestCase):
    """Four hosts in two racks; read-only tests share them."""

    @classmethod
    def setUpClass(cls):
        cls.before = interfaces_and_mounts()
        cls.cluster = Cluster("racks", "--hosts", "4", "--racks", "2", "--uplink", "300mbit")
        cls.cluster.up()
        cls.addClassCleanup(cls.cluster.down)

    def test_exec_runs_there_and_passes_the_exit_code(self):
        done = self.cluster.exec("n2", "sh", "-c", "hostname; exit 7")
        self.assertEqual((done.stdout, done.returncode), ("n2\n", 7))

    def test_exec_keeps_the_folder(self):
        done = vcluster("exec", "--name", self.cluster.name, "n0", "pwd", cwd="/usr")
        self.assertEqual(done.stdout, "/usr\n")

    def test_exec_names_the_hosts_it_has(self):
        done = self.cluster.exec("n9", "true")
        self.assertEqual(done.returncode, 1)
        self.assertIn("no host 'n9' in this cluster: it has n0, n1, n2, n3, ctl", done.stderr)

    def test_hosts_see_their_own_interfaces_only(self):
        done = self.cluster.exec("n1", "ls", "/sys/class/net")
        self.assertEqual(done.stdout.split(), ["eth0", "lo"])

    def test_run_all(self):
        done = self.cluster.run("run-all", "sh", "-c", "hostname; [ $(hostname) != n2 ] || exit 5")
        self.assertEqual(sorted(done.stdout.splitlines()), [f"n{i}: n{i}" for i in range(4)])
        self.assertEqual(done.returncode, 5)

    def test_names_and_both_families_reach(self):
        for address in ("n1", "n2", "ctl", "10.77.0.4", "fd77::2"):
            with self.subTest(address):
                self.assertTrue(self.cluster.reaches("n0", address))

    def test_uplinks_are_shaped_at_both_ends(self):
        done = self.cluster.exec("switches", "tc", "qdisc")
        shaped = [line.split()[4] for line in done.stdout.splitlines() if "rate 300Mbit" in line]
        self.assertEqual(sorted(shaped), ["down0", "down1", "up0", "up1"])

    def test_status(self):
        rows = json.loads(self.cluster.run("status", "--json").stdout)["hosts"]
        self.assertEqual([row["host"] for row in rows], ["n0", "n1", "n2", "n3", "ctl"])
        self.assertEqual([row["rack"] for row in rows], ["r0", "r1", "r0", "r1", None])
        self.assertEqual({row["network"] for row in rows}, {"up"})
        self.assertIn("n3", self.cluster.run("status").stdout)

    def test_topology(self):
        first = self.cluster.run("topology").stdout.splitlines()[0]
        self.assertEqual(first, "n0 /core/r0/n0")

    def test_up_twice(self):
        done = self.cluster.run("up")
        self.assertEqual(done.returncode, 1)
        self.assertIn(f"cluster '{self.cluster.name}' exists already", done.stderr)
        self.assertEqual(self.cluster.exec("n0", "true").returncode, 0)

    def test_cut_and_join(self):
        self.cluster.run("cut", "n3")
        self.assertFalse(self.cluster.reaches("n3", "n0", limit_s=1))
        self.assertFalse(self.cluster.reaches("n0", "n3", limit_s=1))
        self.assertTrue(self.cluster.reaches("n0", "n1"))
        self.cluster.run("join", "n3")
        self.assertTrue(self.cluster.reaches("n0", "n3"))

    def test_the_machine_itself_sees_nothing(self):
        self.assertEqual(interfaces_and_mounts(), self.before)


@unittest.skipIf(NO_HOSTS, f"no virtual hosts here: {NO_HOSTS}")
class HabitsTest(unittest.TestCase):
    """What real machines have and launchers stumble over."""

    def cluster(self, *words: str) -> Cluster:
        made = Cluster("habits", "--hosts", "2", *words)
        made.up()
        self.addCleanup(made.down)
        return made

    def resolved(self, cluster: Cluster, name: str) -> str:
        return " ".join(cluster.exec("n0", "getent", "ahostsv4", name).stdout.split()[:1])

    def test_own_name_is_loopback_as_on_debian(self):
        made = self.cluster("--own-name", "127.0.1.1")
        self.assertEqual(self.resolved(made, "n0"), "127.0.1.1")
        self.assertEqual(self.resolved(made, "n1"), "10.77.0.2")

    def test_own_name_does_not_resolve(self):
        made = self.cluster("--own-name", "none")
        self.assertEqual(self.resolved(made, "n0"), "")
        self.assertEqual(self.resolved(made, "n1"), "10.77.0.2")

    def test_first_interface_reaches_nobody_and_docker0_is_everybody(self):
        made = self.cluster("--nics", "2", "--cluster-nic", "1", "--docker0")
        self.assertFalse(made.reaches("n0", "10.77.0.2", limit_s=1))
        self.assertTrue(made.reaches("n0", "10.78.0.2"))
        self.assertEqual(self.resolved(made, "n1"), "10.78.0.2")
        self.assertTrue(made.reaches("n0", "172.17.0.1"))

    def test_ipv6_only(self):
        made = self.cluster("--family", "ipv6")
        self.assertTrue(made.reaches("n0", "n1"))
        self.assertFalse(made.reaches("n0", "10.77.0.2", limit_s=1))


@unittest.skipIf(NO_HOSTS, f"no virtual hosts here: {NO_HOSTS}")
class LeftoversTest(unittest.TestCase):
    def processes_left(self, cluster: state.State) -> list[int]:
        return sorted(namespaces.processes(cluster))

    def test_down_ends_everything_that_runs_there(self):
        made = Cluster("busy", "--hosts", "2")
        made.up()
        self.addCleanup(made.down)
        cluster = state.load(made.name)
        # A process that gave up its environment and its session, as a worker's child may.
        made.exec("n1", "sh", "-c", "env -i setsid sleep 1000 </dev/null >/dev/null 2>&1 &")
        self.assertEqual(len(self.processes_left(cluster)), 2 + 2 + 1)  # hosts, ctl, switches, it
        self.assertEqual(made.down().returncode, 0)
        self.assertEqual(self.processes_left(cluster), [])
        self.assertFalse(cluster.folder.exists())

    def test_down_after_up_was_killed(self):
        made = Cluster("crash", "--hosts", "8")
        if NO_SLURM is None:
            made.words += ("--slurm",)
        before = interfaces_and_mounts()
        up = subprocess.Popen(
            [sys.executable, TOOLS / "vcluster", "up", "--name", made.name, *made.words],
            stderr=subprocess.DEVNULL,
        )
        self.addCleanup(made.down)
        cluster = self.wait_for_hosts(made.name)
        up.send_signal(signal.SIGKILL)
        up.wait()
        self.assertNotEqual(self.processes_left(cluster), [])
        done = made.down()
        self.assertEqual((done.returncode, self.processes_left(cluster)), (0, []), done.stderr)
        self.assertFalse(cluster.folder.exists())
        self.assertEqual(interfaces_and_mounts(), before)

    def test_a_host_whose_process_was_killed_is_named(self):
        made = Cluster("killed", "--hosts", "2")
        made.up()
        self.addCleanup(made.down)
        cluster = state.load(made.name)
        os.kill(cluster.holders["n1"], signal.SIGKILL)
        done = made.exec("n1", "true")
        self.assertEqual(done.returncode, 1)
        self.assertIn("host n1 of cluster", done.stderr)
        self.assertEqual(made.exec("n0", "true").returncode, 0)

    def wait_for_hosts(self, name: str) -> state.State:
        deadline = time.monotonic() + COMMAND_LIMIT_S
        while time.monotonic() < deadline:
            if (state.folder_of(name) / "state.json").exists():
                cluster = state.read(name)
                if cluster.holders:
                    return cluster
            time.sleep(0.002)
        raise AssertionError("up started no host")

    def test_down_without_a_state_file(self):
        made = Cluster("empty")
        state.folder_of(made.name).mkdir(parents=True)
        self.assertEqual(made.down().returncode, 0)
        self.assertFalse(state.folder_of(made.name).exists())

    def test_down_of_nothing(self):
        done = Cluster("none").down()
        self.assertEqual(done.returncode, 0)
        self.assertIn("nothing to do", done.stderr)

    def test_down_waits_for_nobody_who_works(self):
        made = Cluster("locked")
        cluster, lock = state.create(made.name, namespaces.netns_of("self"), False)
        self.addCleanup(state.remove, cluster.name)
        done = made.down()
        os.close(lock)
        self.assertEqual(done.returncode, 1)
        self.assertIn("another vcluster command is changing", done.stderr)

    def test_two_clusters_at_once(self):
        one, two = Cluster("one", "--hosts", "1"), Cluster("two", "--hosts", "1")
        for made in (one, two):
            made.up()
            self.addCleanup(made.down)
        one.down()
        self.assertEqual(two.exec("n0", "hostname").stdout, "n0\n")


class OrdinaryUserTest(unittest.TestCase):
    def setUp(self):
        if os.geteuid() != 0:
            self.skipTest("the other tests run as an ordinary user already")
        self.folder = pathlib.Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.folder)
        self.folder.chmod(0o755)
        shutil.copytree(TOOLS, self.folder / "tools")

    def vcluster(self, *words: str) -> subprocess.CompletedProcess:
        program = self.folder / "tools" / "vcluster"
        name = f"test-{os.getpid()}-user"
        python = "/usr/bin/python3" if os.path.exists("/usr/bin/python3") else sys.executable
        command = [python, str(program), words[0], "--name", name, *words[1:]]
        return subprocess.run(
            command,
            capture_output=True,
            text=True,
            timeout=COMMAND_LIMIT_S,
            check=False,
            user=NOBODY,
            group=NOBODY,
            extra_groups=[],
            cwd="/",
        )

    def test_user_namespaces(self):
        done = self.vcluster("up", "--hosts", "2", "--uplink", "100mbit")
        if "user namespaces are not permitted" in done.stderr:
            self.skipTest(done.stderr.strip())
        self.addCleanup(self.vcluster, "down")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(self.vcluster("exec", "n1", "hostname").stdout, "n1\n")
        self.assertEqual(self.vcluster("cut", "n1").returncode, 0)
        self.assertIn("cut", self.vcluster("status").stdout)
        self.assertEqual(self.vcluster("down").returncode, 0)

    def test_slurm_says_what_it_needs(self):
        done = self.vcluster("up", "--slurm")
        self.assertEqual(done.returncode, 1)
        self.assertEqual(done.stderr.count("\n"), 1)
        self.assertIn("slurmd needs root", done.stderr)


@unittest.skipIf(NO_SLURM, f"no Slurm on virtual hosts here: {NO_SLURM}")
class SlurmTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        # The hardest names: Slurm has to work where a host's own name does not resolve.
        cls.cluster = Cluster(
            "slurm", "--hosts", "4", "--rack-of", "b,d,a,b", "--own-name", "none", "--slurm"
        )
        cls.cluster.up()
        cls.addClassCleanup(cls.cluster.down)

    def test_idle_when_up_returns(self):
        rows = json.loads(self.cluster.run("status", "--json").stdout)["hosts"]
        self.assertEqual([row["slurm"] for row in rows], ["idle"] * 4 + [None])

    def test_srun_gives_racks_and_room_for_many_tasks(self):
        for host in ("ctl", "n0"):
            with self.subTest(host):
                script = "echo $SLURM_PROCID $(hostname) $SLURM_TOPOLOGY_ADDR"
                done = self.cluster.exec(host, "srun", "-N4", "-n32", "sh", "-c", script)
                rows = sorted(done.stdout.splitlines(), key=lambda row: int(row.split()[0]))
                self.assertEqual(len(rows), 32, done.stderr)
                self.assertEqual(rows[0], "0 n0 core.b.n0")
                self.assertEqual(rows[31], "31 n3 core.b.n3")

    def test_sbatch(self):
        with tempfile.TemporaryDirectory() as folder:
            script = pathlib.Path(folder) / "job.sh"
            script.write_text("#!/bin/sh\n#SBATCH -N4\nsrun hostname\necho done\n")
            output = pathlib.Path(folder) / "out"
            # Not --wait: sbatch looks after 2 s, then after 8, then every 32.
            done = self.cluster.exec("ctl", "sbatch", "-o", str(output), str(script))
            self.assertEqual(done.returncode, 0, done.stderr)
            deadline = time.monotonic() + COMMAND_LIMIT_S
            while not (output.exists() and "done" in output.read_text()):
                self.assertLess(time.monotonic(), deadline, "the job does not end")
                time.sleep(0.05)
            hosts = output.read_text().split()[:-1]
            self.assertEqual(sorted(hosts), ["n0", "n1", "n2", "n3"])

    def test_munge_answers_on_hosts_at_its_usual_socket(self):
        done = self.cluster.exec("n1", "sh", "-c", "munge -n | unmunge")
        self.assertIn("STATUS:          Success", done.stdout)


@unittest.skipIf(NO_SLURM, f"no Slurm on virtual hosts here: {NO_SLURM}")
class GpusAndSshTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        if not (os.access("/usr/sbin/sshd", os.X_OK) and shutil.which("ssh")):
            raise unittest.SkipTest("no sshd and ssh here")
        cls.cluster = Cluster("gpus", "--hosts", "2", "--slurm", "--gpus", "4", "--ssh")
        cls.cluster.up()
        cls.addClassCleanup(cls.cluster.down)

    def test_slurm_hands_out_made_up_gpus(self):
        done = self.cluster.exec("ctl", "srun", "-N2", "--gpus-per-node", "3", "sh", "-c",
                                 "echo $(hostname) $CUDA_VISIBLE_DEVICES")
        self.assertEqual(sorted(done.stdout.splitlines()), ["n0 0,1,2", "n1 0,1,2"], done.stderr)
        refused = self.cluster.exec("ctl", "srun", "-N2", "--gpus-per-node", "5", "true")
        self.assertNotEqual(refused.returncode, 0)

    def test_every_host_reaches_every_other_by_ssh(self):
        for here, there in (("ctl", "n0"), ("n0", "n1"), ("n1", "ctl")):
            done = self.cluster.exec(here, "ssh", "-o", "BatchMode=yes", there, "hostname")
            self.assertEqual(done.stdout, f"{there}\n", done.stderr)


if __name__ == "__main__":
    unittest.main()
