"""What the workers printed, read back, and the demo's last table. Pure."""

import dataclasses
import statistics

from .jobs import DemoError


@dataclasses.dataclass
class Run:
    """One launcher's half of the demo."""

    table: str  # as the workers printed it
    racks: list[str] = dataclasses.field(init=False)  # of the nodes in rank order
    reduce_rounds_s: list[float] = dataclasses.field(default_factory=list)
    reduce_starts: int = 0
    launch_s: float = 0.0
    memory_bytes: int = 0

    def __post_init__(self):
        self.racks = racks(self.table)

    def reduce_s(self) -> float:
        return statistics.median(self.reduce_rounds_s)


def racks(table: str) -> list[str]:
    """The rack of each node in rank order: `rank hostname /cluster/rack/host` rows."""
    found = []
    for line in table.splitlines():
        words = line.split()
        if len(words) == 3 and words[0].isdigit():
            place = words[2].strip("/").split("/")
            if len(place) != 3:
                raise DemoError(f"rank {words[0]} does not know where it runs: '{words[2]}'")
            found.append(place[1])
    return found


def crossings(order: list[str]) -> int:
    """How many hops of the ring, the last one back to the start included, leave a rack."""
    return sum(1 for i, rack in enumerate(order) if rack != order[i - 1])


def fewest_crossings(order: list[str]) -> int:
    different = len(set(order))
    return different if different > 1 else 0


def seconds(value: float) -> str:
    return f"{value:.2f} s" if value >= 0.1 else f"{value * 1e3:.1f} ms"


def times(factor: float) -> str:
    return f"{factor:.0f} ×" if factor >= 10 else f"{factor:.1f} ×"


def bus_bandwidth_mbit_s(nbytes: int, ranks: int, reduce_s: float) -> float:
    """What each link of a ring carries, by nccl-tests' formula."""
    return nbytes * 8 / reduce_s * 2 * (ranks - 1) / ranks / 1e6


def comparison(torchrun: Run, toprun: Run, reduce_bytes: int, ranks: int, uplink: str) -> str:
    runs = (torchrun, toprun)
    hops = [str(crossings(run.racks)) for run in runs]
    rows = [("", "torchrun", "toprun", "")]
    if torchrun.reduce_rounds_s:
        faster = torchrun.reduce_s() / toprun.reduce_s()
        times_s = [seconds(run.reduce_s()) for run in runs]
        label = f"all-reduce of {reduce_bytes >> 20} MiB"
        rows.append((label, *times_s, f"{faster:.2f} × faster"))
        busbw = [bus_bandwidth_mbit_s(reduce_bytes, ranks, run.reduce_s()) for run in runs]
        busbw = [f"{rate:.0f} Mbit/s" for rate in busbw]
        rows.append(("its bus bandwidth", *busbw, f"an uplink has {uplink}"))
    fewest = fewest_crossings(torchrun.racks)
    note = f"of {len(torchrun.racks)} hops; no order has fewer than {fewest}"
    rows.append(("ring hops between racks", *hops, note))
    faster = torchrun.launch_s / toprun.launch_s
    launch = [seconds(run.launch_s) for run in runs]
    rows.append(("launch of 4 × `true`", *launch, f"{times(faster)} faster"))
    memory = [f"{run.memory_bytes / 2**20:.1f} MiB" for run in runs]
    smaller = torchrun.memory_bytes / toprun.memory_bytes
    rows.append(("launcher's memory", *memory, f"{times(smaller)} less"))
    widths = [max(len(row[i]) for row in rows) for i in range(3)]
    lines = []
    for row in rows:
        cells = [row[0].ljust(widths[0]), row[1].rjust(widths[1]), row[2].rjust(widths[2]), row[3]]
        lines.append("  ".join(cells).rstrip())
    return "\n".join(lines)
