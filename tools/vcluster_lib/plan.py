"""What a cluster consists of, as data: names, racks, addresses and the texts made of them.

Pure: nothing here touches the system.
"""

import dataclasses
import re

from .errors import VclusterError

DEFAULT_HOSTS = 8
HOSTS_LIMIT = 200  # two processes and two interfaces each; a larger one has no use on one machine
NICS_LIMIT = 8
GPUS_LIMIT = 64
LOGIN = "ctl"  # where slurmctld runs and people log in; its link is not shaped
SWITCHES = "switches"  # the namespace with the bridges; a name for `exec`, not a host
CORE = "core"  # the core bridge, the top switch of the Slurm topology, the cluster in locations
OWN_NAMES = ("address", "127.0.1.1", "none")
FAMILIES = ("both", "ipv4", "ipv6")
SLURM_TOPOLOGIES = ("tree", "block", "yaml")

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,39}")
_RATE = re.compile(r"[1-9][0-9]*(kbit|mbit|gbit)")


@dataclasses.dataclass
class Host:
    name: str
    rack: str | None  # None: on the core switch
    index: int  # makes addresses and interface names


@dataclasses.dataclass
class Plan:
    hosts: list[Host]  # without the login host
    login: Host
    racks: list[str]  # in order of first appearance
    uplink: str | None = None  # rate of each rack's uplink, as tc writes it; None: not shaped
    nics: int = 1
    cluster_nic: int = 0  # the interface that reaches the others
    docker0: bool = False
    own_name: str = "address"
    family: str = "both"
    cpus: int = 32
    slurm: bool = False
    slurm_topology: str = "tree"
    gpus: int = 0  # per host, made up: Slurm hands them out, nothing computes on them
    ssh: bool = False

    def everybody(self) -> list[Host]:
        return [*self.hosts, self.login]

    def host(self, name: str) -> Host:
        for host in self.everybody():
            if host.name == name:
                return host
        known = ", ".join(h.name for h in self.everybody())
        raise VclusterError(f"no host '{name}' in this cluster: it has {known}")


def make_plan(hosts: int | None, racks: int | None, rack_of: str | None, **options) -> Plan:
    """Lays `hosts` over racks: as `rack_of` lists them ("b,d,a", one per host), else in turn,
    so that neighbours by name never share a rack: the worst order for a ring."""
    if hosts is None:
        hosts = len(rack_of.split(",")) if rack_of else DEFAULT_HOSTS
    if not 1 <= hosts <= HOSTS_LIMIT:
        raise VclusterError(f"--hosts {hosts}: give 1 to {HOSTS_LIMIT}")
    mapping = _explicit_racks(rack_of, hosts, racks) if rack_of else _racks_in_turn(hosts, racks)
    plan = Plan(
        hosts=[Host(f"n{i}", rack, i) for i, rack in enumerate(mapping)],
        login=Host(LOGIN, None, HOSTS_LIMIT),
        racks=list(dict.fromkeys(mapping)),
        **options,
    )
    if plan.uplink is not None and not _RATE.fullmatch(plan.uplink):
        raise VclusterError(f"--uplink {plan.uplink}: not a rate; write 400mbit, 1gbit or 64kbit")
    if not 1 <= plan.nics <= NICS_LIMIT:
        raise VclusterError(f"--nics {plan.nics}: give 1 to {NICS_LIMIT}")
    if not 0 <= plan.cluster_nic < plan.nics:
        raise VclusterError(
            f"--cluster-nic {plan.cluster_nic}: with --nics {plan.nics} give 0 to {plan.nics - 1}"
        )
    if plan.cpus < 1:
        raise VclusterError(f"--cpus {plan.cpus}: give 1 or more")
    if not 0 <= plan.gpus <= GPUS_LIMIT:
        raise VclusterError(f"--gpus {plan.gpus}: give 0 to {GPUS_LIMIT}")
    if plan.gpus and not plan.slurm:
        raise VclusterError("--gpus without --slurm: it is Slurm that hands them out; add --slurm")
    if plan.slurm and plan.family == "ipv6":
        raise VclusterError("--slurm with --family ipv6: this Slurm set-up needs IPv4; drop one")
    return plan


def _racks_in_turn(hosts: int, racks: int | None) -> list[str]:
    racks = racks or 1
    if not 1 <= racks <= hosts:
        raise VclusterError(f"--racks {racks}: with {hosts} hosts give 1 to {hosts}")
    return [f"r{i % racks}" for i in range(hosts)]


def _explicit_racks(rack_of: str, hosts: int, racks: int | None) -> list[str]:
    mapping = rack_of.split(",")
    if len(mapping) != hosts:
        raise VclusterError(
            f"--rack-of names {len(mapping)} racks, but there are {hosts} hosts: one per host"
        )
    for rack in mapping:
        if not _NAME.fullmatch(rack) or rack == CORE:
            raise VclusterError(f"--rack-of: '{rack}' is no rack name (letters, digits, _, -)")
    if racks is not None and racks != len(set(mapping)):
        raise VclusterError(
            f"--racks {racks}, but --rack-of names {len(set(mapping))} of them: drop --racks"
        )
    return mapping


def check_cluster_name(name: str) -> str:
    if not _NAME.fullmatch(name):
        raise VclusterError(f"--name '{name}': use letters, digits, _ and -, 40 at most")
    return name


def ipv4(host: Host, nic: int) -> str:
    return f"10.{77 + nic}.{host.index // 100}.{host.index % 100 + 1}"


def ipv6(host: Host, nic: int) -> str:
    return f"fd77:{nic:x}::{host.index + 1:x}"


def addresses(plan: Plan, host: Host, nic: int) -> list[str]:
    """With prefix lengths; the login host has the cluster's interface only, but as eth0."""
    found = []
    if plan.family != "ipv6":
        found.append(f"{ipv4(host, nic)}/16")
    if plan.family != "ipv4":
        found.append(f"{ipv6(host, nic)}/64")
    return found


def main_address(plan: Plan, host: Host) -> str:
    """The address by which the others know a host."""
    make = ipv6 if plan.family == "ipv6" else ipv4
    return make(host, plan.cluster_nic)


def hosts_file(plan: Plan, owner: Host) -> str:
    """The /etc/hosts of `owner`. Only its own name depends on `own_name`; the login host's
    always resolves, since slurmctld needs it."""
    lines = ["127.0.0.1 localhost", "::1 localhost ip6-localhost ip6-loopback"]
    for host in plan.everybody():
        if host is not owner or owner is plan.login or plan.own_name == "address":
            lines.append(f"{main_address(plan, host)} {host.name}")
        elif plan.own_name == "127.0.1.1":
            lines.append(f"127.0.1.1 {host.name}")
    return "\n".join(lines) + "\n"


def locations(plan: Plan) -> str:
    """`host /cluster/rack/host` lines, the form of Google's physical_host."""
    return "".join(f"{h.name} /{CORE}/{h.rack}/{h.name}\n" for h in plan.hosts)


def topology_file(plan: Plan) -> tuple[str, str]:
    """Slurm's file and its text: racks as switches below one core, or as blocks."""
    hosts_of = {rack: [h.name for h in plan.hosts if h.rack == rack] for rack in plan.racks}
    if plan.slurm_topology == "yaml":
        return "topology.yaml", _tree_as_yaml(hosts_of)
    kind = "BlockName" if plan.slurm_topology == "block" else "SwitchName"
    lines = [f"{kind}={rack} Nodes={','.join(hosts)}" for rack, hosts in hosts_of.items()]
    if plan.slurm_topology == "block":
        lines.append(f"BlockSizes={max(len(hosts) for hosts in hosts_of.values())}")
    else:
        lines.append(f"SwitchName={CORE} Switches={','.join(plan.racks)}")
    return "topology.conf", "\n".join(lines) + "\n"


def _tree_as_yaml(hosts_of: dict[str, list[str]]) -> str:
    lines = [
        "- topology: racks",
        "  cluster_default: true",
        "  tree:",
        "    switches:",
        f"      - {{switch: {CORE}, children: '{','.join(hosts_of)}'}}",
    ]
    for rack, hosts in hosts_of.items():
        lines.append(f"      - {{switch: {rack}, nodes: '{','.join(hosts)}'}}")
    return "\n".join(lines) + "\n"
