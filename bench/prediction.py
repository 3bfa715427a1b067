#!/usr/bin/env python3
"""Whether `toprun topo score` predicts what an all-reduce takes, on the virtual cluster.

    make bench-prediction   or: python3 bench/prediction.py [--only 2x100,4x400] [--turns 3]

TOPRUN names the binary (build/release/toprun), PYTHON a Python with torch. Eight virtual hosts
(tools/vcluster, docs/guides/vcluster.md) stand in 2 and in 4 racks with uplinks of 100, 200 and 400 Mbit/s.
In each of these layouts real PyTorch adds up one tensor with Gloo's ring (examples/all_reduce.py, one
rank per host) in several orders of the hosts, and the median is compared with the prediction for
that order.

A shaper counts whole frames, the program's bytes are what is left in them: the prediction is asked
with `--link rack=RATE · 1448/1514`. That is done here and not in the model, because it belongs to
TCP over Ethernet with an MTU of 1500 as these hosts have it; InfiniBand or jumbo frames have another
share. Independent of all times, `carried` holds what the busiest uplink's shaper counted beside the
bytes that were predicted for it.

The hosts' TCP has this machine's congestion control unless --congestion names another. BBR uses
shared uplinks less well than Reno does (docs/concepts/placement.md); the model knows nothing of that.

Run it on a quiet machine: the hosts share its processors, and the load that it found is printed.
Exit code 1 if a prediction misses by more than 15 %.
"""

import argparse
import json
import os
import pathlib
import signal
import statistics
import subprocess
import sys
import tempfile

REPOSITORY = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(REPOSITORY / "tools"))
sys.dont_write_bytecode = True

from demo_lib import jobs  # noqa: E402
from demo_lib.story import find_launchers  # noqa: E402
from vcluster_lib import plan  # noqa: E402

HOSTS = 8
WARMUP = 2
LIMIT_PERCENT = 15.0
UP_LIMIT_S = 60
PORT = 29500
# Racks: orders by name, beside those of names and of the topology. In two racks: pairs of a rack in
# turn, two flows over each uplink; in four: two racks in a row and two that alternate.
MIXED = {2: ("n0 n2 n1 n3 n4 n6 n5 n7", "pairs"), 4: ("n0 n4 n1 n5 n2 n3 n6 n7", "half")}
# Mbit/s: MiB on each rank. All take the same time, long beside that of the 256 KiB which an idle
# shaper lets through at once.
SIZES_MIB = {100: 4, 200: 8, 400: 16}
# Ethernet's header counts for the shaper, its preamble and checksum do not; IP and TCP with time
# stamps take 52 bytes of 1500.
PAYLOAD, FRAME = 1448, 1514
CONGESTION = pathlib.Path("/proc/sys/net/ipv4/tcp_congestion_control")


class Layout:
    def __init__(self, racks, mbit, congestion, name, folder):
        self.racks, self.mbit, self.name = racks, mbit, name
        self.mib = SIZES_MIB[mbit]
        self.congestion = congestion
        self.plan = plan.make_plan(HOSTS, racks, None)
        self.topology = folder / f"{racks}.topology"
        self.topology.write_text(plan.locations(self.plan))
        self.folder = folder

    def orders(self):
        """{name: hosts}, the worst first."""
        by_name = [host.name for host in self.plan.hosts]
        text, mixed = MIXED[self.racks]
        by_rack = sorted(by_name, key=lambda name: (self.plan.host(name).rack, name))
        return {"name": by_name, mixed: text.split(), "topology": by_rack}

    def up(self):
        shape = ["--hosts", str(HOSTS), "--racks", str(self.racks), "--uplink", f"{self.mbit}mbit"]
        commands = [vcluster("up", self.name, *shape)]
        if self.congestion:
            setting = f"net.ipv4.tcp_congestion_control={self.congestion}"
            commands.append(vcluster("run-all", self.name, "sysctl", "-q", "-w", setting))
        for command in commands:
            done = subprocess.run(command, capture_output=True, text=True, timeout=UP_LIMIT_S,
                                  check=False)
            if done.returncode != 0:
                raise jobs.DemoError(done.stderr.strip())

    def down(self):
        subprocess.run(vcluster("down", self.name), capture_output=True, timeout=UP_LIMIT_S,
                       check=True)

    def order_file(self, order):
        path = self.folder / "order"
        path.write_text("\n".join(order) + "\n")
        return path

    def predicted(self, toprun, order):
        """What topo score says of the order's ring."""
        rate = self.mbit * PAYLOAD / FRAME / 1000
        command = [toprun, "topo", "score", "--topology", str(self.topology), "--link",
                   f"rack={rate:.9f}", "--size", f"{self.mib}MiB", "--order",
                   str(self.order_file(order)), "--json"]
        output = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        rows = {row["name"]: row for row in json.loads(output)["orders"]}
        return rows["file"]["cost"]["ring"]

    def measured(self, launchers, order, rounds):
        """(seconds of each round, bytes that each uplink's shaper counted per all-reduce)"""
        result = self.folder / "result.json"
        words = [launchers.toprun, "--nnodes", str(HOSTS), "--nproc-per-node", "1",
                 "--rdzv-endpoint", f"n0:{PORT}", "--topology", str(self.topology), "--order",
                 f"file:{self.order_file(order)}", "examples/all_reduce.py", "--backend", "gloo",
                 "--size", f"{self.mib}MiB", "--warmup", str(WARMUP), "--iterations", str(rounds),
                 "--json", str(result)]
        before = self.shaped_bytes()
        jobs.run_job([jobs.Command(vcluster("run-all", self.name, *words), launchers.environment())])
        after = self.shaped_bytes()
        reduces = 1 + WARMUP + rounds  # the first checks the sum
        counted = {end: (after[end] - before[end]) / reduces for end in after}
        return json.loads(result.read_text())["seconds"], counted

    def shaped_bytes(self):
        """{end of an uplink: bytes that its shaper let through}"""
        command = vcluster("exec", self.name, plan.SWITCHES, "tc", "-s", "-j", "qdisc")
        output = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        return {row["dev"]: row["bytes"] for row in json.loads(output) if row["kind"] == "tbf"}


def vcluster(verb, name, *words):
    return [sys.executable, str(REPOSITORY / "tools/vcluster"), verb, "--name", name, *words]


def compare(layout, launchers, rounds, turns):
    """Prints a row per order; the largest error in percent, without its sign."""
    worst_percent = 0.0
    measured = {name: [] for name in layout.orders()}
    carried = {}
    for _ in range(turns):
        for name, order in layout.orders().items():
            seconds, counted = layout.measured(launchers, order, rounds)
            measured[name] += seconds
            carried[name] = max(counted.values())
    for name, order in layout.orders().items():
        cost = layout.predicted(launchers.toprun, order)
        median = statistics.median(measured[name])
        percent = (cost["seconds"] / median - 1) * 100
        worst_percent = max(worst_percent, abs(percent))
        frames = cost["worst"]["bytes"] * FRAME / PAYLOAD
        print(f"{layout.racks:>5}  {layout.mbit:>6}  {layout.mib:>4}  {name:<9} "
              f"{cost['worst']['flows']:>5}  {cost['seconds']:>9.3f}  {min(measured[name]):>6.3f} "
              f"{median:>7.3f} {max(measured[name]):>6.3f}  {percent:>+7.1f}  "
              f"{carried[name] / frames:>7.3f}", flush=True)
    return worst_percent


def layouts_named(text):
    """`2x100,4x400`: racks and Mbit/s; all six unless given."""
    chosen = text.split(",") if text else [f"{racks}x{mbit}" for racks in MIXED for mbit in SIZES_MIB]
    found = []
    for layout in chosen:
        racks, _, mbit = layout.partition("x")
        if not racks.isdigit() or int(racks) not in MIXED or not mbit.isdigit() \
                or int(mbit) not in SIZES_MIB:
            sys.exit(f"prediction.py: --only {layout}: write RACKSxMBIT, 2 or 4 racks and "
                     f"{', '.join(map(str, SIZES_MIB))} Mbit/s")
        found.append((int(racks), int(mbit)))
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=7, help="all-reduces that count, per start")
    parser.add_argument("--turns", type=int, default=1, help="starts of each order")
    parser.add_argument("--only", metavar="RACKSxMBIT,…", help="these layouts, as in 2x100,4x400")
    parser.add_argument("--congestion", metavar="NAME",
                        help="TCP's congestion control on the hosts, as in reno; else this machine's")
    args = parser.parse_args()
    for name in [name for name in os.environ if name.startswith("SLURM_")]:
        del os.environ[name]  # the hosts are the cluster's, not those of a job that we may run in
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # as Ctrl-C: no cluster stays behind
    os.chdir(REPOSITORY)
    layouts = layouts_named(args.only)

    launchers, version = find_launchers()
    print(f"ring all-reduce over {HOSTS} hosts, PyTorch {version} with Gloo, TCP's "
          f"{args.congestion or CONGESTION.read_text().strip()}; seconds, of {args.turns} x "
          f"{args.rounds} rounds; load {os.getloadavg()[0]:.1f} on {os.cpu_count()} CPUs")
    print("racks  Mbit/s   MiB  order     flows  predicted     min  median    max  error %  carried",
          flush=True)
    worst_percent = 0.0
    with tempfile.TemporaryDirectory() as folder:
        for racks, mbit in layouts:
            layout = Layout(racks, mbit, args.congestion, f"prediction-{os.getpid()}",
                            pathlib.Path(folder))
            try:
                layout.up()
                worst_percent = max(worst_percent,
                                    compare(layout, launchers, args.rounds, args.turns))
            finally:
                layout.down()
    met = worst_percent <= LIMIT_PERCENT
    print(f"largest error {worst_percent:.1f} %, at most {LIMIT_PERCENT:g} %: "
          f"{'met' if met else 'MISSED'}; load at the end {os.getloadavg()[0]:.1f}")
    return 0 if met else 1


if __name__ == "__main__":
    try:
        sys.exit(main())
    except jobs.DemoError as error:
        sys.exit(f"prediction.py: {error}")
    except KeyboardInterrupt:
        sys.exit(130)
