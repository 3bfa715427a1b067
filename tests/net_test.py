# ctest: EMULATED
"""toprun net on other machines' /sys: which RDMA ports and GIDs a job uses there, what NCCL is told and why."""

import json
import os
import subprocess
import threading
import unittest

import machines
import support
from machines import ACTIVE, DOWN, HDR, INIT, V1, V2, XDR100, roce, usual

# The recipe by which people find the index today (it takes the device for mlx5_bond_0).
ONE_LINER = r"""grep 'RoCE v2' $(grep '0000:0000:0000:0000:0000:ffff' {root}/sys/class/infiniband/{device}/ports/1/gids/* |
cut -d ':' -f 1 | sed 's/gids/gid_attrs\/types/') | sed -e 's/.*\/\([0-9]*\):.*/\1/'"""
WAITS = "waits for input"
LEFT = None  # a variable that is left alone


def empty(machine):
    machine.host()


def ethernet_only(machine):
    machine.host(speed=100000)


def one_hca(machine):
    machine.host()
    roce(machine, "mlx5_0")


def bond(machine):
    machine.host()
    machine.netdev("bond0", kind="bond", slaves=["ens1f0", "ens1f1"], mtu=4200, speed=200000)
    for leg in ("ens1f0", "ens1f1"):
        machine.netdev(leg, master="bond0", mtu=4200, speed=100000)
        machine.write(f"sys/class/net/{leg}/bonding_slave/mii_status", "up")
    machine.hca("mlx5_bond_0", usual("10.1.0.7", "bond0"), netdevs=["ens1f0", "ens1f1"], rate=HDR)


def bond_leg_down(machine):
    bond(machine)
    machine.write("sys/class/net/ens1f1/bonding_slave/mii_status", "down")


def eight_equal(machine):
    machine.host()
    for i in range(8):
        roce(machine, f"mlx5_{i}", f"10.1.{i}.7", f"ens{i}np0")


def eight_different(machine):
    """A pod's: entries of other pods' interfaces come and go."""
    machine.host()
    for i in range(8):
        netdev = f"net{i}"
        machine.netdev(netdev, mtu=4200)
        table = {0: ("fe80::1", V1, netdev), 2 * i + 5: (f"10.1.{i}.7", V2, netdev)}
        machine.hca(f"mlx5_{i}", table, netdevs=[netdev])


def sixteen_different(machine):
    machine.host()
    for i in range(16):
        netdev = f"net{i}"
        machine.netdev(netdev, mtu=4200)
        table = {0: ("fe80::1", V1, netdev), 1: ("fe80::1", V2, netdev), 40 - 2 * i: (f"10.1.{i}.7", V1, netdev),
                 41 - 2 * i: (f"10.1.{i}.7", V2, netdev)}
        machine.hca(f"mlx5_{i}", table, netdevs=[netdev])


def unreadable(machine):
    """Attributes that are there and cannot be read: folders, a pipe without a writer, a link to itself."""
    machine.host()
    roce(machine)
    roce(machine, "mlx5_1", "10.1.1.7", "ens2np0")
    port = machine.root / "sys/class/infiniband/mlx5_1/ports/1"
    for name in ("state", "rate", "link_layer", "gids/3", "gid_attrs/types/2"):
        (port / name).unlink()
        (port / name).mkdir()
    (port / "gid_attrs/ndevs/2").unlink()
    os.mkfifo(port / "gid_attrs/ndevs/2")
    machine.link("sys/class/infiniband/mlx5_2", "mlx5_2")
    (machine.root / "proc/net/route").unlink()
    (machine.root / "proc/net/route").mkdir()


def pod_with_holes(machine):
    machine.host()
    machine.netdev("net1", mtu=4200, peer=True)
    machine.hca("mlx5_bond_0", {0: ("fe80::1", None, None), 4: ("10.2.0.1", None, None), 9: ("10.1.0.7", V2, "net1")},
                rate=HDR)


def pod_with_macvlan(machine):
    """What NVIDIA/nccl's issue 1573 shows: the host's entries look empty in the pod."""
    machine.host()
    machine.netdev("net1", mtu=4200, peer=True)
    table = {index + 4: entry for index, entry in usual("10.152.0.12", "net1").items()}
    machine.hca("mlx5_0", table)


def infiniband(machine):
    machine.host()
    for i in range(8):
        machine.netdev(f"ib{i}", mtu=4092, speed=400000, kind="infiniband")
        machine.hca(f"mlx5_{i}", {0: (f"fe80::1:{i}", V1, None)}, layer="InfiniBand", lid=23 + i, netdevs=[f"ib{i}"])


def infiniband_and_roce(machine):
    """Compute adapters and an Ethernet front end of the same maker."""
    machine.lo()
    for i in range(4):
        machine.hca(f"mlx5_{i}", {0: (f"fe80::1:{i}", V1, None)}, layer="InfiniBand", lid=23 + i)
    machine.netdev("bond0", kind="bond", speed=100000)
    machine.hca("mlx5_bond_0", usual("10.0.0.7", "bond0"), rate=XDR100)
    machine.default_route("bond0")


def front_end(machine):
    """Eight RoCE ports, and one of half their rate that carries the default route."""
    machine.lo()
    for i in range(8):
        roce(machine, f"mlx5_{i}", f"10.1.{i}.7", f"ens{i}np0")
    machine.netdev("eth0", speed=200000)
    machine.hca("mlx5_8", usual("10.0.0.7", "eth0"), netdevs=["eth0"], rate=HDR)
    machine.default_route("eth0")


def storage(machine):
    machine.host()
    for i in range(2):
        roce(machine, f"mlx5_{i}", f"10.1.{i}.7", f"ens{i}np0")
    machine.netdev("stor0", speed=100000)
    machine.hca("mlx5_10", usual("10.9.0.7", "stor0"), netdevs=["stor0"], rate=XDR100)


def port_down(machine):
    eight_equal(machine)
    machine.write("sys/class/infiniband/mlx5_3/ports/1/state", DOWN)


def all_down(machine):
    machine.host()
    roce(machine, state=DOWN)


def initialising(machine):
    machine.host()
    machine.hca("mlx5_0", {0: ("fe80::1", V1, None)}, layer="InfiniBand", state=INIT, lid=0)


def no_subnet_manager(machine):
    machine.host()
    machine.hca("mlx5_0", {0: ("fe80::1", V1, None)}, layer="InfiniBand", lid=0)


def degraded(machine):
    eight_equal(machine)
    machine.write("sys/class/infiniband/mlx5_5/ports/1/rate", HDR)


def ipv6_only(machine):
    machine.host()
    for i in range(2):
        netdev = f"ens{i}np0"
        machine.netdev(netdev, mtu=4200)
        machine.hca(f"mlx5_{i}", {0: (f"fe80::{i + 1}", V1, netdev), 1: (f"fe80::{i + 1}", V2, netdev),
                                  2: (f"fd00:1::{i + 1}", V1, netdev), 3 + i: (f"fd00:1::{i + 1}", V2, netdev)},
                    netdevs=[netdev])


def link_local_only(machine):
    machine.host()
    machine.netdev("ens1np0")
    machine.hca("mlx5_0", {0: ("fe80::1", V1, "ens1np0"), 1: ("fe80::1", V2, "ens1np0")}, netdevs=["ens1np0"])


def ipv4_link_local(machine):
    """An address that nobody gave comes first."""
    machine.host()
    machine.netdev("ens1np0")
    machine.hca("mlx5_0", {0: ("fe80::1", V1, "ens1np0"), 1: ("169.254.3.4", V2, "ens1np0"),
                           3: ("10.1.0.7", V2, "ens1np0")}, netdevs=["ens1np0"])


def ipv4_link_local_only(machine):
    """Nobody gave the interface an address."""
    machine.host()
    machine.netdev("ens1np0")
    machine.hca("mlx5_0", {0: ("fe80::1", V1, "ens1np0"), 1: ("169.254.3.4", V2, "ens1np0"),
                           2: ("169.254.3.4", V1, "ens1np0")}, netdevs=["ens1np0"])


def vlan_first(machine):
    machine.host()
    machine.netdev("ens1np0", mtu=4200)
    machine.netdev("ens1np0.100", kind="vlan", on=["ens1np0"], vlan=100)
    machine.hca("mlx5_bond_0", {0: ("fe80::1", V1, "ens1np0"), 2: ("10.100.0.7", V1, "ens1np0.100"),
                                3: ("10.100.0.7", V2, "ens1np0.100"), 5: ("10.1.0.7", V2, "ens1np0")},
                netdevs=["ens1np0"])


def vlan_first_on_both(machine):
    """The right entries differ, so that only a range of addresses leads NCCL to both."""
    machine.host()
    for i in range(2):
        netdev = f"ens{i}np0"
        machine.netdev(netdev, mtu=4200)
        machine.netdev(f"{netdev}.100", kind="vlan", on=[netdev], vlan=100)
        machine.hca(f"mlx5_{i}", {0: (f"fe80::{i + 1}", V1, netdev), 2: (f"192.168.0.{i + 7}", V2, f"{netdev}.100"),
                                  5 + i: (f"10.1.0.{i + 7}", V2, netdev)}, netdevs=[netdev])


def interface_down(machine):
    """The interface of the first entry is down, its address stays in the table."""
    machine.host()
    machine.netdev("ens1np0", mtu=4200)
    machine.netdev("old0", up=False)
    machine.hca("mlx5_0", {0: ("fe80::1", V1, "ens1np0"), 1: ("10.7.0.7", V2, "old0"), 3: ("10.1.0.7", V2, "ens1np0")},
                netdevs=["ens1np0"])


def v1_only(machine):
    machine.host()
    machine.netdev("ens1np0")
    machine.hca("mlx5_0", {0: ("fe80::1", V1, "ens1np0"), 1: ("10.1.0.7", V1, "ens1np0")}, netdevs=["ens1np0"])


def two_addresses(machine):
    """A second IPv4 address on the same interface makes a second entry."""
    machine.host()
    table = usual("10.1.0.7", "bond0") | {4: ("10.1.0.8", V1, "bond0"), 5: ("10.1.0.8", V2, "bond0")}
    machine.netdev("bond0", kind="bond", mtu=4200)
    machine.hca("mlx5_bond_0", table, rate=HDR)


def old_kernel(machine):
    """Before Linux 4.4 there were no types."""
    machine.host()
    machine.netdev("ens1np0")
    machine.hca("mlx4_0", {0: ("fe80::1", None, None), 1: ("10.1.0.7", None, None)}, netdevs=["ens1np0"])


def two_ports(machine):
    machine.host()
    machine.hca("mlx4_0", {0: ("fe80::1", V1, None)}, layer="InfiniBand", lid=4, ports=2, rate="56 Gb/sec (4X FDR)")
    machine.write("sys/class/infiniband/mlx4_0/ports/2/state", DOWN)


def efa(machine):
    machine.host("ens32", speed=None)
    for i in range(4):
        machine.hca(f"rdmap{i}s0", {0: (f"fe80::{i + 1}", None, None)}, layer="Unspecified", vendor="0x1d0f")


def slingshot(machine):
    machine.host("nmn0")
    for i in range(4):
        machine.netdev(f"hsn{i}", mtu=9000, speed=200000)
        machine.write(f"sys/class/cxi/cxi{i}/device/fru/description", "HPE Slingshot NIC")


def tcpxo(machine):
    machine.host("enp0s12")
    machine.write("var/lib/tcpxo/lib64/nccl-env-profile.sh", "export NCCL_FASTRAK_IFNAME=enp6s0")


def gib(machine):
    machine.host("enp0s19")
    for i in range(8):
        roce(machine, f"mlx5_{i}", f"10.1.{i}.7", f"gpu{i}rdma0")
    machine.write("usr/local/gib/scripts/set_nccl_env.sh", "export NCCL_IB_TC=52")


def azure(machine):
    machine.host()
    for i in range(8):
        machine.hca(f"mlx5_ib{i}", {0: (f"fe80::{i + 1}", V1, None)}, layer="InfiniBand", lid=9 + i)
    machine.write("sys/class/dmi/id/sys_vendor", "Microsoft Corporation")
    machine.write("opt/microsoft/ndv5/topo.xml", "<system/>")


def oci(machine):
    machine.lo()
    for i in range(16):
        roce(machine, f"mlx5_{i}", f"10.224.{i}.7", f"rdma{i}")
    machine.netdev("eth0", speed=100000)
    machine.hca("mlx5_16", usual("10.0.0.7", "eth0"), netdevs=["eth0"], rate=XDR100)
    machine.default_route("eth0")
    machine.write("sys/class/dmi/id/chassis_asset_tag", "OracleCloud.com")


def oci_other_entry(machine):
    """Where entry 3, which the vendor names, is not the right one."""
    machine.host()
    machine.netdev("rdma0", mtu=4200)
    machine.hca("mlx5_0", {0: ("fe80::1", V1, "rdma0"), 1: ("10.224.0.7", V2, "rdma0"), 3: ("fe80::1", V2, "rdma0")},
                netdevs=["rdma0"])
    machine.write("sys/class/dmi/id/chassis_asset_tag", "OracleCloud.com")


def docker(machine):
    machine.host()
    machine.netdev("docker0", kind="bridge")
    machine.netdev("eth1", speed=10000)
    machine.netdev("veth12ab", peer=True, master="docker0")


def half_populated(machine):
    """A device that goes away while it is looked at."""
    machine.host()
    roce(machine)
    machine.write("sys/class/infiniband/mlx5_1/node_guid", "0000:0000:0000:0000")
    (machine.root / "sys/class/infiniband/mlx5_2/ports/1/gids").mkdir(parents=True)
    machine.write("sys/class/infiniband/mlx5_3/ports/x/state", ACTIVE)
    machine.link("sys/class/infiniband/mlx5_4", "../../gone")


def nonsense(machine):
    machine.host()
    roce(machine)
    folder = "sys/class/infiniband/mlx5_0/ports/1"
    machine.write(f"{folder}/gids/4", "zzzz:0000")
    machine.write(f"{folder}/gids/x", "fe80:0000:0000:0000:0000:0000:0000:0001")
    machine.write(f"{folder}/rate", "fast")
    machine.write("sys/class/net/eth0/mtu", "1" * 9000)
    machine.write("proc/net/route", "Iface\neth0\t00000000")


def hidden_sys(machine):
    """A container without /sys."""
    machine.default_route("eth0")


def case(machine, used, *, one_liner, device="mlx5_bond_0", reason="", options=(), env=None, **variables):
    return machine, used, variables, reason, one_liner, device, options, env or {}


M = "mlx5_{}:1".format
# machine, ports that are used, variables (LEFT: left alone), a reason, what the recipe prints.
CASES = [
    case(empty, [], GID_INDEX=LEFT, HCA=LEFT, SOCKET_NTHREADS=LEFT, one_liner=WAITS, reason="no RDMA port is used"),
    case(ethernet_only, [], SOCKET_NTHREADS="4", NSOCKS_PERTHREAD="4", one_liner=WAITS,
         reason="one socket is not enough for 100 Gb/s"),
    case(one_hca, [M(0)], GID_INDEX=LEFT, HCA=LEFT, NSOCKS_PERTHREAD=LEFT, one_liner=WAITS,
         reason="finds entry 3 itself"),
    case(one_hca, [M(0)], GID_INDEX="3", options=["--nccl", "2.20.5"], device="mlx5_0", one_liner="3",
         reason="NCCL 2.20.5 uses entry 0 and does not search for the right entry"),
    case(bond, ["mlx5_bond_0:1"], GID_INDEX=LEFT, HCA=LEFT, one_liner="3"),
    case(bond_leg_down, ["mlx5_bond_0:1"], GID_INDEX=LEFT, one_liner="3"),
    case(eight_equal, [M(i) for i in range(8)], GID_INDEX=LEFT, HCA=LEFT, one_liner=WAITS,
         reason="all 8 active ports are right"),
    case(eight_different, [M(i) for i in range(8)], GID_INDEX=LEFT, one_liner="RoCE v2", device="mlx5_2",
         reason="the entries differ"),
    case(eight_different, [M(i) for i in range(8)], GID_INDEX=LEFT, one_liner=WAITS, options=["--nccl", "2.20"],
         reason="the adapters need different entries: use a newer NCCL"),
    case(sixteen_different, [M(i) for i in range(16)], GID_INDEX=LEFT, HCA=LEFT, one_liner="35", device="mlx5_3",
         reason="the entries differ"),
    case(pod_with_holes, ["mlx5_bond_0:1"], GID_INDEX="9", one_liner="9", options=["--nccl", "2.22.3"],
         reason="at which NCCL 2.21 to 2.25 fails"),
    case(pod_with_holes, ["mlx5_bond_0:1"], GID_INDEX=LEFT, one_liner="9", options=["--nccl", "2.27.3"]),
    case(pod_with_macvlan, [M(0)], GID_INDEX="7", one_liner="7", device="mlx5_0",
         reason="mlx5_0's table has entries of other containers, at which NCCL 2.21 to 2.25 fails"),
    case(pod_with_macvlan, [M(0)], GID_INDEX=LEFT, one_liner="7", device="mlx5_0", options=["--nccl", "2.26.2"]),
    case(infiniband, [M(i) for i in range(8)], GID_INDEX=LEFT, HCA=LEFT, SOCKET_IFNAME="=eth0", one_liner=WAITS,
         reason="InfiniBand needs none"),
    case(infiniband_and_roce, [M(i) for i in range(4)], HCA="=" + ",".join(M(i) for i in range(4)), one_liner="3",
         reason="mlx5_bond_0 must not be used: Ethernet beside faster InfiniBand"),
    case(front_end, [M(i) for i in range(8)], HCA="=" + ",".join(M(i) for i in range(8)), one_liner=WAITS,
         reason="mlx5_8 must not be used: 200 Gb/s beside 400, and the host's default route"),
    case(storage, [M(0), M(1)], HCA="=mlx5_0:1,mlx5_1:1", one_liner=WAITS,
         reason="mlx5_10 must not be used: 100 Gb/s beside 400: for storage"),
    case(port_down, [M(i) for i in range(8) if i != 3], GID_INDEX=LEFT, HCA=LEFT, one_liner=WAITS,
         reason="all 7 active ports are right"),
    case(all_down, [], GID_INDEX=LEFT, one_liner="3", device="mlx5_0"),
    case(initialising, [], GID_INDEX=LEFT, one_liner=WAITS),
    case(no_subnet_manager, [], GID_INDEX=LEFT, one_liner=WAITS),
    case(degraded, [M(i) for i in range(8)], HCA=LEFT, one_liner=WAITS),
    case(ipv6_only, [M(0), M(1)], GID_INDEX=LEFT, IB_ADDR_FAMILY="AF_INET6", one_liner=WAITS, device="mlx5_0",
         reason="NCCL would take mlx5_0's entry 0 (fe80::1): RoCE v1"),
    case(link_local_only, [], GID_INDEX=LEFT, one_liner=WAITS, device="mlx5_0"),
    case(ipv4_link_local, [M(0)], GID_INDEX="3", one_liner="1\n3", device="mlx5_0",
         reason="NCCL would take mlx5_0's entry 1 (169.254.3.4): link-local"),
    case(vlan_first, ["mlx5_bond_0:1"], GID_INDEX="5", one_liner="3\n5",
         reason="NCCL would take mlx5_bond_0's entry 3 (10.100.0.7): VLAN 100"),
    case(vlan_first_on_both, [M(0), M(1)], GID_INDEX=LEFT, IB_ADDR_RANGE="10.1.0.0/28", one_liner="2\n5",
         device="mlx5_0", reason="VLAN 100"),
    case(interface_down, [M(0)], GID_INDEX="3", one_liner="1\n3", device="mlx5_0", reason="old0 is down"),
    case(v1_only, [], GID_INDEX=LEFT, one_liner="", device="mlx5_0"),
    case(two_addresses, ["mlx5_bond_0:1"], GID_INDEX=LEFT, one_liner="3\n5"),
    case(old_kernel, ["mlx4_0:1"], GID_INDEX="1", one_liner="", device="mlx4_0"),
    case(two_ports, ["mlx4_0:1"], GID_INDEX=LEFT, HCA=LEFT, one_liner=WAITS),
    case(efa, [], GID_INDEX=LEFT, HCA=LEFT, SOCKET_NTHREADS=LEFT, one_liner=WAITS),
    case(slingshot, [], NET="AWS Libfabric", PROTO="^LL128", one_liner=WAITS, reason="slingshot"),
    case(tcpxo, [], one_liner=WAITS, LIB_DIR="/var/lib/tcpxo/lib64", reason="gcp-tcpxo"),
    case(gib, [M(i) for i in range(8)], NET="gIB", one_liner=WAITS, reason="gcp-gib"),
    case(azure, [f"mlx5_ib{i}:1" for i in range(8)], TOPO_FILE="/opt/microsoft/ndv5/topo.xml", one_liner=WAITS),
    case(oci, [M(i) for i in range(16)], IB_TC="41", GID_INDEX="3", one_liner=WAITS, reason="oci"),
    case(oci_other_entry, [M(0)], GID_INDEX=LEFT, IB_TC="41", one_liner="RoCE v2", device="mlx5_0",
         reason="oci says 3, but mlx5_0 needs entry 1"),
    case(docker, [], SOCKET_IFNAME="=eth0", one_liner=WAITS, reason="NCCL would choose among eth0, eth1"),
    case(half_populated, [M(0)], GID_INDEX=LEFT, one_liner="3", device="mlx5_0"),
    case(unreadable, [M(0)], GID_INDEX=LEFT, SOCKET_IFNAME=LEFT, one_liner="3", device="mlx5_0"),
    case(nonsense, [M(0)], GID_INDEX=LEFT, one_liner="3", device="mlx5_0"),
    case(hidden_sys, [], GID_INDEX=LEFT, SOCKET_IFNAME=LEFT, one_liner=WAITS, reason="is not known"),
    case(empty, [], one_liner=WAITS, options=["--fabric", "slingshot"], NET="AWS Libfabric", reason="slingshot"),
    case(one_hca, [M(0)], GID_INDEX="9", one_liner=WAITS, env={"NCCL_IB_GID_INDEX": "9"}, reason="set by you"),
]
FULL_NAMES = {"GID_INDEX": "NCCL_IB_GID_INDEX", "HCA": "NCCL_IB_HCA"}


def full_name(short):
    return FULL_NAMES.get(short, "NCCL_" + short)


class Machines(support.TestCase):
    def tree(self, build):
        root = self.folder()
        build(machines.Machine(root))
        return root

    def net(self, root, verb, *options, env=None):
        finished = self.toprun("net", verb, "--root", root, *options, env={"HOME": "/nowhere", **(env or {})})
        self.assert_ok(finished)
        return finished.out

    def test_what_is_chosen(self):
        for build, used, variables, reason, _, _, options, env in CASES:
            with self.subTest(machine=build.__name__, options=options):
                shown = json.loads(self.net(self.tree(build), "show", "--json", *options, env=env))
                chosen = [f"{one['name']}:{one['port']}" for one in shown["devices"] if one["chosen"]]
                self.assertEqual(chosen, used)
                self.assertTrue(all(one["why_not"] for one in shown["devices"] if not one["chosen"]))
                for short, value in variables.items():
                    entry = shown["env"].get(full_name(short), {"value": LEFT})
                    self.assertEqual(entry["value"], value, (full_name(short), entry))
                reasons = "\n".join(entry["reason"] for entry in shown["env"].values())
                self.assertIn(reason, reasons)

    def test_what_the_recipe_prints_there(self):
        for build, _, _, _, expected, device, _, _ in CASES:
            with self.subTest(machine=build.__name__, device=device):
                line = ONE_LINER.format(root=self.tree(build), device=device)
                self.assertEqual(self.printed(line), expected)

    def test_every_interface_has_a_reason(self):
        for build in (ethernet_only, bond, infiniband_and_roce):
            with self.subTest(machine=build.__name__):
                root = self.tree(build)
                shown = json.loads(self.net(root, "show", "--json"))
                self.assertTrue(all(one["why"] for one in shown["interfaces"]), shown["interfaces"])
                self.assertIn(True, [one["used"] for one in shown["interfaces"]])
                table = self.net(root, "show").split("\nINTERFACE")[1].splitlines()[1:]
                self.assertEqual(len(table), len(shown["interfaces"]))
                for line, one in zip(table, shown["interfaces"]):
                    self.assertTrue(line.endswith(one["why"]), line)

    def test_mistakes_are_said(self):
        for build, options, env, said in (
                (empty, ["--fabric", "slingshot"], {}, "HPE Slingshot (cxi): /sys/class/cxi does not exist"),
                (empty, ["--fabric", "aws-efa"], {}, "there is no RDMA device of PCI vendor 0x1d0f"),
                (empty, ["--fabric", "oci"], {}, "/sys/class/dmi/id does not contain chassis_asset_tag=OracleCloud.com"),
                (slingshot, ["--fabric", "slingshot"], {}, ""),
                (empty, [], {"NCCL_IB_HCA": "mlx5_0"}, "NCCL_IB_HCA=mlx5_0 (set by you): this machine has no RDMA device; "
                    "without this setting, toprun leaves the variable unset ("),
                (one_hca, [], {"NCCL_IB_HCA": "mlx5_9"}, "this machine has no RDMA device mlx5_9; without this setting, toprun leaves the variable unset (the only active port"),
                (empty, [], {"NCCL_IB_GID_INDEX": "3"}, "NCCL_IB_GID_INDEX=3 (set by you): this machine has no RDMA device; without"),
                (empty, [], {"NCCL_NET": "IB"}, "NCCL_NET=IB (set by you): this machine has no RDMA device\n"),
                (ethernet_only, [], {"GLOO_SOCKET_IFNAME": "lo"}, "GLOO_SOCKET_IFNAME=lo (set by you): it leaves only lo, which reaches no other node"),
                (ethernet_only, [], {"NCCL_SOCKET_IFNAME": "=lo"}, "NCCL_SOCKET_IFNAME==lo (set by you): it leaves only lo, which reaches no other node"),
                (ethernet_only, [], {"NCCL_DEBUG": "debug"}, "NCCL_DEBUG=debug (set by you): NCCL's levels are VERSION, WARN, INFO and TRACE; NCCL ignores other values\n"),
                (one_hca, [], {"NCCL_IB_DISABLE": "true"}, "NCCL_IB_DISABLE=true (set by you): NCCL expects a number, and ignores this value; 1 disables IB\n"),
                (ethernet_only, [], {"NCCL_SOCKET_IFNAME": "^e"}, "NCCL_SOCKET_IFNAME=^e (set by you): it leaves only lo, which reaches no other node"),
                (one_hca, [], {"NCCL_IB_HCA": "^mlx5"}, "NCCL_IB_HCA=^mlx5 (set by you): it leaves no active RDMA port"),
                (one_hca, [], {"UCX_NET_DEVICES": "mlx5_9:1"}, "UCX_NET_DEVICES=mlx5_9:1 (set by you): this machine has no RDMA device mlx5_9"),
                (empty, [], {"NCCL_TOPO_FILE": "/no/file"}, "NCCL_TOPO_FILE=/no/file (set by you): this machine has no file /no/file\n"),
                (empty, [], {"NCCL_DEBUG_FILE": "/no/dir/f.%h"}, "NCCL_DEBUG_FILE=/no/dir/f.%h (set by you): this machine has no folder /no/dir\n"),
                (empty, [], {"NCCL_DEBUG_FILE": "~/log"}, "NCCL_DEBUG_FILE=~/log (set by you): this machine has no folder ~\n"),
                (empty, [], {"NCCL_DEBUG_FILE": "/f.%p"}, ""),
                (one_hca, [], {"NCCL_IB_GID_INDEX": "9"}, "entry 9 of mlx5_0 is empty; entry 3 is right"),
                (one_hca, [], {"NCCL_IB_GID_INDEX": "3"}, ""),
                (storage, [], {"NCCL_IB_HCA": "mlx5"}, "also selects mlx5_10:1: 100 Gb/s beside 400"),
                (storage, [], {"NCCL_IB_HCA": "=mlx5_0,mlx5_1"}, "NCCL_IB_HCA==mlx5_0,mlx5_1 (set by you): ")):
            with self.subTest(machine=build.__name__, options=options, env=env):
                finished = self.toprun("net", "env", "--root", self.tree(build), *options,
                                       env={"HOME": "/nowhere", **env})
                self.assert_ok(finished)
                if said:
                    self.assertIn(said, finished.err)
                else:
                    self.assertEqual(finished.err, "")

    def test_your_own_settings_are_shown_beside_toprun_s(self):
        root = self.tree(ethernet_only)
        self.assertNotIn("SETTING", self.net(root, "show"))
        finished = self.toprun("net", "show", "--root", root,
                               env={"HOME": "/nowhere", "NCCL_SOCKET_IFNAME": "eth9", "UCX_NET_DEVICES": "all"})
        self.assert_ok(finished)
        self.assertRegex(finished.out, r"\nSETTING +FROM +WITHOUT IT, TOPRUN\n"
                                       r"NCCL_SOCKET_IFNAME=eth9 +set by you +(sets|leaves it unset) .*\(.+\)\n"
                                       r"UCX_NET_DEVICES=all +set by you +(sets|leaves it unset) .*\(.+\)\n\Z")
        # toprun has no word on a rare one that it would not set.
        self.assertRegex(self.net(root, "show", env={"NCCL_IB_ADDR_FAMILY": "AF_INET6"}),
                         r"(?m)^NCCL_IB_ADDR_FAMILY=AF_INET6 +set by you +leaves it unset$")
        self.assertIn("NCCL_SOCKET_IFNAME=eth9 (set by you): this machine has no interface eth9; without this setting, ",
                      finished.err)

    def test_nccl_conf_is_read_as_nccl_reads_it(self):
        root = self.tree(ethernet_only)
        (root / "etc").mkdir(exist_ok=True)
        (root / "etc/nccl.conf").write_text("NCCL_DEBUG = INFO\nNCCL_SOCKET_IFNAME=eth0\nall on\n")
        finished = self.toprun("net", "env", "--root", root, env={"HOME": "/nowhere"})
        self.assert_ok(finished)
        self.assertIn("/etc/nccl.conf:1: this line has no effect: for NCCL the blanks before = are a part of the name; "
                      "write NAME=VALUE\n", finished.err)
        self.assertIn("/etc/nccl.conf:3: this line has no effect: it is not NAME=VALUE\n", finished.err)
        self.assertIn("NCCL_SOCKET_IFNAME=eth0\n  nccl.conf: /etc/nccl.conf\n", finished.out)

    def test_an_nccl_conf_on_a_dead_file_server(self):
        """A pipe that nobody writes to stands for the file; the rest of the machine is shown."""
        root = self.tree(one_hca)
        os.mkfifo(root / "conf")
        for verb in (("net", "env"), ("net", "show"), ("doctor",)):
            with self.subTest(verb):
                finished = self.toprun(*verb, "--root", root, env={"HOME": "/nowhere", "NCCL_CONF_FILE": "/conf"}, limit=15)
                self.assertEqual((finished.err + finished.out).count("/conf: the file system of /conf does not respond\n"), 1)
                self.assertIn({"env": "NCCL_IB_HCA", "show": "mlx5_0:1", "doctor": "verbs"}[verb[-1]], finished.out)

    def test_an_nccl_conf_that_is_too_large(self):
        root = self.tree(one_hca)
        (root / "conf").write_text("#" * 100_000)
        finished = self.toprun("net", "env", "--root", root, env={"HOME": "/nowhere", "NCCL_CONF_FILE": "/conf"})
        self.assertRegex(finished.err, r"/conf: it is larger than 64 KiB")

    def test_a_fabric_that_was_asked_for_has_no_marks(self):
        line = self.net(self.tree(empty), "show", "--fabric", "slingshot").splitlines()[0]
        self.assertEqual(line, "fabric slingshot: HPE Slingshot (cxi) (asked for; /sys/class/cxi does not exist)")
        line = self.net(self.tree(slingshot), "show").splitlines()[0]
        self.assertEqual(line, "fabric slingshot: HPE Slingshot (cxi) (/sys/class/cxi is there)")

    def test_entries_that_vanish_while_they_are_read(self):
        """Interfaces and adapters of other pods come and go."""
        root = self.tree(eight_different)
        adapters = root / "sys/class/infiniband"
        stop = threading.Event()

        def churn():
            while not stop.is_set():
                for name in ("mlx5_3", "mlx5_6"):
                    (adapters / name).rename(root / name)
                    (root / name / "ports/1/gids/0").unlink(missing_ok=True)
                    (root / name).rename(adapters / name)

        thread = threading.Thread(target=churn)
        thread.start()
        try:
            seen = [json.loads(self.net(root, "show", "--json")) for _ in range(30)]
        finally:
            stop.set()
            thread.join()
        for shown in seen:
            names = {one["name"] for one in shown["devices"]}
            self.assertLessEqual({"mlx5_0", "mlx5_7"}, names)
            self.assertLessEqual(names, {f"mlx5_{i}" for i in range(8)})

    def printed(self, line):
        """WAITS if its grep gets no file, and so reads what is typed: here that it waits."""
        shell = subprocess.run(["bash", "-c", line], input=f"RoCE v2 {WAITS}\n", stdout=subprocess.PIPE,
                               stderr=subprocess.DEVNULL, text=True)
        return WAITS if WAITS in shell.stdout else shell.stdout.rstrip("\n")


if __name__ == "__main__":
    unittest.main()
