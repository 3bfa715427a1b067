"""Machines as their /sys and /proc show them, for what reads them with --root.

Written from the kernel's own description (Documentation/ABI: sysfs-class-infiniband, sysfs-class-net;
drivers/infiniband/core/sysfs.c) with made-up addresses. An entry whose attribute the kernel refuses
to read (EINVAL) has no file here.
"""

import ipaddress

V1, V2 = "IB/RoCE v1", "RoCE v2"
NDR, HDR, XDR100, SDR = ("400 Gb/sec (4X NDR)", "200 Gb/sec (4X HDR)", "100 Gb/sec (4X EDR)",
                         "2.5 Gb/sec (1X SDR)")
ACTIVE, DOWN, INIT = "4: ACTIVE", "1: DOWN", "2: INIT"


def gid(address):
    """Eight groups of four hexadecimal digits; an IPv4 address is mapped."""
    if not address:
        return ":".join(["0000"] * 8)
    if "." in address:
        address = "::ffff:" + address
    return ipaddress.IPv6Address(address).exploded


class Machine:
    def __init__(self, root):
        self.root = root
        self.index = 1

    def write(self, path, text):
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text + "\n")

    def link(self, path, target):
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.symlink_to(target)

    def pci(self, address, bridge="0000:16:01.0", domain="pci0000:16", numa=0, vendor="0x15b3", kind="0x020000"):
        below = f"devices/{domain}/{bridge}/{address}"
        self.write(f"sys/{below}/vendor", vendor)
        self.write(f"sys/{below}/class", kind)
        self.write(f"sys/{below}/numa_node", str(numa))
        self.link(f"sys/bus/pci/devices/{address}", f"../../../{below}")
        return below

    def gpu(self, address, **place):
        self.pci(address, vendor="0x10de", kind="0x030200", **place)

    def hca(self, name, gids=(), *, layer="Ethernet", rate=NDR, state=ACTIVE, netdevs=(), address=None, lid=None,
            ports=1, **place):
        """`gids`: by index, (address, type, interface); a type or an interface of None cannot be read."""
        address = address or f"0000:{0x17 + self.index:02x}:00.0"
        self.index += 1
        below = self.pci(address, **place)
        folder = f"sys/class/infiniband/{name}"
        self.link(f"{folder}/device", f"../../../{below}")
        self.write(f"{folder}/hca_type", "MT4129")
        for netdev in netdevs:
            self.write(f"sys/{below}/net/{netdev}/mtu", "4200")
        for port in range(1, ports + 1):
            self.port(f"{folder}/ports/{port}", gids, layer, rate, state, lid)

    def port(self, folder, gids, layer, rate, state, lid):
        self.write(f"{folder}/link_layer", layer)
        self.write(f"{folder}/rate", rate)
        self.write(f"{folder}/state", state)
        self.write(f"{folder}/phys_state", "5: LinkUp" if state == ACTIVE else "3: Disabled")
        if lid is not None:
            self.write(f"{folder}/lid", f"{lid:#x}")
        last = max(dict(gids), default=-1)
        for index in range(max(8, last + 2)):
            address, kind, netdev = dict(gids).get(index, ("", None, None))
            self.write(f"{folder}/gids/{index}", gid(address))
            if kind:
                self.write(f"{folder}/gid_attrs/types/{index}", kind)
            if netdev:
                self.write(f"{folder}/gid_attrs/ndevs/{index}", netdev)

    def netdev(self, name, *, up=True, mtu=1500, speed=None, kind=None, on=(), master=None, vlan=None, peer=False,
               slaves=(), flags=None):
        folder = f"sys/class/net/{name}"
        own = self.index = self.index + 1
        self.write(f"{folder}/ifindex", str(own))
        self.write(f"{folder}/iflink", str(own + 100 if peer else own))
        self.write(f"{folder}/flags", flags or ("0x1043" if up else "0x1002"))
        self.write(f"{folder}/operstate", "up" if up else "down")
        self.write(f"{folder}/mtu", str(mtu))
        self.write(f"{folder}/uevent", (f"DEVTYPE={kind}\n" if kind else "") + f"INTERFACE={name}\nIFINDEX={own}")
        if speed is not None:
            self.write(f"{folder}/speed", str(speed))
        if not kind and not peer and name != "lo":
            (self.root / folder / "device").mkdir()
        for lower in on:
            self.link(f"{folder}/lower_{lower}", f"../{lower}")
        if master:
            self.link(f"{folder}/master", f"../{master}")
        if vlan is not None:
            self.write(f"proc/net/vlan/{name}", f"{name}  VID: {vlan}\t REORDER_HDR: 1  dev->priv_flags: 1021")
        if slaves:
            self.write(f"{folder}/bonding/slaves", " ".join(slaves))

    def lo(self):
        self.netdev("lo", mtu=65536, flags="0x49")

    def default_route(self, interface, metric=100):
        self.write("proc/net/route",
                   "Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU\tWindow\tIRTT\n"
                   f"{interface}\t00000000\t0100000A\t0003\t0\t0\t{metric}\t00000000\t0\t0\t0\n"
                   f"{interface}\t0000000A\t00000000\t0001\t0\t0\t{metric}\t00FFFFFF\t0\t0\t0")

    def host(self, interface="eth0", speed=10000):
        """What every machine has: loopback and a way out."""
        self.lo()
        self.netdev(interface, speed=speed)
        self.default_route(interface)


def usual(address, netdev):
    """The table that mlx5 makes for an interface with an IPv4 address."""
    local = "fe80::ee0d:9aff:fe2e:" + "%x" % (sum(map(ord, netdev)) + 4096)
    return {0: (local, V1, netdev), 1: (local, V2, netdev), 2: (address, V1, netdev), 3: (address, V2, netdev)}


def roce(machine, name="mlx5_0", address="10.1.0.7", netdev="ens1np0", **options):
    machine.netdev(netdev, mtu=4200, speed=400000)
    machine.hca(name, usual(address, netdev), netdevs=[netdev], **options)
