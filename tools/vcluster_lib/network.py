"""Bridges, cables and shaped uplinks, all inside the cluster's own namespaces."""

from .namespaces import inside, run
from .plan import CORE, SWITCHES, Host, Plan, addresses
from .state import State

# Measured: these figures let a Gloo ring reach the uplink's rate; `burst 64kb latency 50ms`
# drops packets under the same load and costs a third of it.
_SHAPER = "tbf rate {rate} burst 256kb limit 4mb"
_BRIDGE = "type bridge stp_state 0 forward_delay 0 mcast_snooping 0"


def _rack_bridge(plan: Plan, rack: str) -> str:
    return f"rack{plan.racks.index(rack)}"


def _bridge_of(plan: Plan, host: Host) -> str:
    return _rack_bridge(plan, host.rack) if host.rack else CORE


def _nics(plan: Plan, host: Host) -> list[int]:
    return list(range(plan.nics)) if host.rack else [plan.cluster_nic]


def _cable(host: Host, nic: int) -> str:
    return f"{host.name}.{nic}"


def uplinks(plan: Plan) -> list[tuple[str, str, str]]:
    """(rack, end in the rack's switch, end in the core switch)"""
    return [(rack, f"up{k}", f"down{k}") for k, rack in enumerate(plan.racks)]


def switch_commands(plan: Plan, pids: dict[str, int]) -> str:
    """For `ip -batch` in the namespace of the switches."""
    lines = [f"link add {CORE} {_BRIDGE}", f"link set {CORE} up"]
    for rack, up, down in uplinks(plan):
        bridge = _rack_bridge(plan, rack)
        lines += [
            f"link add {bridge} {_BRIDGE}",
            f"link set {bridge} up",
            f"link add {up} type veth peer name {down}",
            f"link set {up} master {bridge} up",
            f"link set {down} master {CORE} up",
        ]
    for host in plan.everybody():
        for nic in _nics(plan, host):
            cable = _cable(host, nic)
            lines.append(
                f"link add {cable} type veth peer name eth{nic} netns {pids[host.name]}"
            )
            joined = f"master {_bridge_of(plan, host)} " if nic == plan.cluster_nic else ""
            lines.append(f"link set {cable} {joined}up")
    return "\n".join(lines) + "\n"


def host_commands(plan: Plan, host: Host) -> str:
    """For `ip -batch` on a host. nodad: an address must be usable at once."""
    lines = []
    for nic in _nics(plan, host):
        for address in addresses(plan, host, nic):
            nodad = " nodad" if ":" in address else ""
            lines.append(f"addr add {address} dev eth{nic}{nodad}")
        lines.append(f"link set eth{nic} up")
    if plan.docker0 and host.rack:
        lines.append("link add docker0 type bridge")
        lines.append("addr add 172.17.0.1/16 dev docker0")
        lines.append("link set docker0 up")
    return "\n".join(lines) + "\n"


def shaper_commands(plan: Plan) -> str:
    if plan.uplink is None:
        return ""
    shaper = _SHAPER.format(rate=plan.uplink)
    ends = [end for _, up, down in uplinks(plan) for end in (up, down)]
    return "".join(f"qdisc add dev {end} root {shaper}\n" for end in ends)


def build(state: State, plan: Plan) -> None:
    switches = inside(state, SWITCHES)
    run(state, *switches, "ip", "-batch", "-", text=switch_commands(plan, state.holders))
    if plan.uplink is not None:
        run(state, *switches, "tc", "-batch", "-", text=shaper_commands(plan))
    for host in plan.everybody():
        batch = host_commands(plan, host)
        run(state, *inside(state, host.name), "ip", "-batch", "-", text=batch)


def cut(state: State, host: Host) -> None:
    """Takes the host's cable out of the switch. The host's own end stays up, as behind a dead
    switch: nothing is refused, everything is lost."""
    cable = _cable(host, state.plan.cluster_nic)
    run(state, *inside(state, SWITCHES), "ip", "link", "set", cable, "nomaster")


def join(state: State, host: Host) -> None:
    """Puts the cable back. Who asked for a hardware address while it was out forgets the question: its answer
    would be "no route to host" for up to three seconds after the host can be reached again."""
    cable = _cable(host, state.plan.cluster_nic)
    bridge = _bridge_of(state.plan, host)
    run(state, *inside(state, SWITCHES), "ip", "link", "set", cable, "master", bridge)
    for other in state.plan.everybody():
        run(state, *inside(state, other.name), "ip", "neigh", "flush", "nud", "incomplete", "nud", "failed")
