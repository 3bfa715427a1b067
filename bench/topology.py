#!/usr/bin/env python3
"""How long `toprun topo order` takes for a large network, whole process included.

    make bench            or: python3 bench/topology.py [--rounds 15] [--only-size 10000]

TOPRUN names the binary (build/release/toprun). The network is a tree of four levels (zone, cluster,
block, rack) over all nodes, the same in every run; nodes are numbered so that neighbours by name
sit in different racks, as where a cluster was filled rack by rack in turn. The same tree is read in
each form that toprun knows. Whether the order is the best possible is worked out here from the
file's places and the printed order, and must agree with what toprun says of itself. Then the same for
`--parallel` on 4,096 nodes of eight processes: it may cost no more than the plain order.
Exit code 1 if a figure misses its target or the order is not the best.
"""

import argparse
import json
import multiprocessing
import os
import pathlib
import statistics
import sys
import tempfile
import time

REPOSITORY = pathlib.Path(__file__).resolve().parent.parent
SIZES = [1_000, 10_000, 100_000]
# What --topology FILE --hosts LIST may cost: nodes: (median ms, peak resident MiB).
TARGETS = {10_000: (50.0, 200), 100_000: (200.0, 200)}
ZONES, CLUSTERS, BLOCKS = 2, 4, 8  # clusters in each zone, blocks in each cluster
NODES_PER_RACK = 16
STEP = 7919              # a prime: neighbours by name are far apart in the network
LEVELS = ["zone", "cluster", "block", "rack"]
PARALLEL_NODES = 4_096
PARALLEL_LIMIT_MS = 1_000.0
PARALLEL_LAYOUTS = ["tp=8,pp=16", "tp=8,pp=16,order=tp-pp-dp", "tp=8,cp=4,pp=16",
                    "tp=8,pp=16,ep=8,dp=256"]
RACK_SIZES = {"16": [16], "18": [18], "5 to 36": [5, 36, 17, 9, 30, 16, 11]}


def places(nodes):
    """{host: (zone, cluster, block, rack)}; every name of a domain is its own only inside its parent."""
    racks = -(-nodes // NODES_PER_RACK)
    found = {}
    for number in range(nodes):
        rack = number * STEP % nodes // NODES_PER_RACK
        block = rack * ZONES * CLUSTERS * BLOCKS // racks
        cluster = block // BLOCKS
        found[f"n{number}"] = (f"z{cluster // CLUSTERS}", f"c{cluster % CLUSTERS}",
                               f"b{block % BLOCKS}", f"r{rack}")
    return found


def as_lines(tree):
    return "".join(f"{host} /{'/'.join(place)}/{host}\n" for host, place in tree.items())


def as_toml(tree):
    head = f"levels = {json.dumps(LEVELS)}\n\n[hosts]\n"
    return head + "".join(f"{host} = \"/{'/'.join(place)}\"\n" for host, place in tree.items())


def as_slurm(tree):
    """Slurm's topology.conf; a switch's name must be its own, so it carries its parents'."""
    children = {}
    for host, place in tree.items():
        below = host
        for depth in range(len(place), 0, -1):
            children.setdefault(".".join(place[:depth]), {})[below] = depth == len(place)
            below = ".".join(place[:depth])
    lines = []
    for switch, below in children.items():
        kind = "Nodes" if next(iter(below.values())) else "Switches"
        lines.append(f"SwitchName={switch} {kind}={','.join(below)}\n")
    return "".join(lines)


def crossings(order, tree, depth):
    """Pairs of the ring, the last joined to the first, that leave a domain of this depth."""
    domains = [tree[host][:depth] for host in order]
    return sum(domain != domains[i - 1] for i, domain in enumerate(domains))


def fewest(tree, depth):
    """Each domain must be left once, unless there is only one."""
    domains = {place[:depth] for place in tree.values()}
    return len(domains) if len(domains) > 1 else 0


def faults(answer, tree):
    """What is wrong with the order; nothing if it is the best at every level."""
    order = answer["order"]
    if sorted(order) != sorted(tree):
        return ["the order does not hold every host once"]
    found = []
    # Not every form can name its levels, but all have the same ones.
    for depth, (level, row) in enumerate(zip(LEVELS, answer["ring"], strict=True), 1):
        ours, least = crossings(order, tree, depth), fewest(tree, depth)
        if ours != least:
            found.append(f"{level}: {ours} crossings, {least} are possible")
        if (row["ordered"], row["minimum"]) != (ours, least):
            found.append(f"{level}: it says {row['ordered']} and {row['minimum']}, "
                         f"they are {ours} and {least}")
    return found


def parallel_table(toprun, rounds, folder):
    """Prints --parallel's figures; whether one misses its target."""
    missed = False
    print(f"\n{'--parallel':<34} {'racks of':<9} {'median ms':>9} {'cost, s':>9} {'plain':>9} "
          f"{'bound':>9}  <= {PARALLEL_LIMIT_MS:g} ms, <= plain")
    for layout in PARALLEL_LAYOUTS:
        for name, sizes in RACK_SIZES.items():
            path = folder / "parallel"
            path.write_text(as_lines(racked(PARALLEL_NODES, sizes)))
            command = [toprun, "topo", "order", "--topology", str(path), "--nproc-per-node", "8",
                       "--parallel", layout, "--json"]
            (walls, _, _), output = timed(command, rounds, folder)
            worth = json.loads(output)["parallel"]
            median = statistics.median(walls)
            met = median <= PARALLEL_LIMIT_MS and worth["cost"] <= worth["plain"]
            missed |= not met
            print(f"{layout:<34} {name:<9} {median:9.1f} {worth['cost']:9.4f} {worth['plain']:9.4f} "
                  f"{worth['bound']:9.4f}  {'met' if met else 'MISSED'}", flush=True)
    return missed


def racked(nodes, sizes):
    """{host: (spine, leaf)}, leaves of these sizes in turn, sixteen below each spine."""
    found, leaf, left = {}, 0, sizes[0]
    for number in range(nodes):
        if left == 0:
            leaf += 1
            left = sizes[leaf % len(sizes)]
        left -= 1
        found[f"n{number * STEP % nodes}"] = (f"s{leaf // 16}", f"l{leaf}")
    return found


def hostlist(nodes):
    """All of them, no range longer than Slurm's limit."""
    longest = 65_536
    return ",".join(f"n[{first}-{min(first + longest, nodes) - 1}]"
                    for first in range(0, nodes, longest))


def timed(command, rounds, folder):
    """(wall and CPU milliseconds, peak resident MiB) of each whole process, and the last output.

    A process begins with the peak of the one that started it: a fresh Python does that, not this
    one, which holds whole networks.
    """
    with multiprocessing.get_context("spawn").Pool(1) as starter:
        return starter.apply(timed_here, (command, rounds, folder))


def timed_here(command, rounds, folder):
    output, errors = folder / "out", folder / "err"
    figures = []
    for _ in range(rounds):
        actions = [(os.POSIX_SPAWN_OPEN, fd, str(path), os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
                   for fd, path in ((1, output), (2, errors))]
        start = time.perf_counter()
        pid = os.posix_spawn(command[0], command, os.environ, file_actions=actions)
        _, status, usage = os.wait4(pid, 0)
        wall = time.perf_counter() - start
        figures.append((wall * 1e3, (usage.ru_utime + usage.ru_stime) * 1e3,
                        usage.ru_maxrss / 1024))
        if status != 0:
            sys.exit(f"topology.py: {' '.join(command)}: {errors.read_text().strip()[:300]}")
    return [*zip(*figures)], output.read_text()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--only-size", type=int, metavar="NODES")
    args = parser.parse_args()
    toprun = os.environ.get("TOPRUN", str(REPOSITORY / "build/release/toprun"))
    if not os.access(toprun, os.X_OK):
        sys.exit(f"topology.py: there is no {toprun}: run `make`")
    for name in [name for name in os.environ if name.startswith("SLURM_")]:
        del os.environ[name]  # the hosts are the file's, not those of a job that we may run in

    print(f"toprun topo order, a tree of {len(LEVELS)} levels; whole process, "
          f"median of {args.rounds} rounds; load {os.getloadavg()[0]:.1f} on {os.cpu_count()} CPUs")
    print(f"{'nodes':>8}  {'file':<14} {'min ms':>7} {'median':>7} {'CPU':>7} {'MiB':>5} "
          f"{'--json':>7}  order, at every level")
    missed = False
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        for nodes in [args.only_size] if args.only_size else SIZES:
            tree = places(nodes)
            for form, write in (("lines", as_lines), ("toml", as_toml), ("topology.conf", as_slurm)):
                path = folder / form
                path.write_text(write(tree))
                command = [toprun, "topo", "order", "--topology", str(path), "--hosts",
                           hostlist(nodes)]
                (walls, cpus, sizes), _ = timed(command, args.rounds, folder)
                (json_walls, _, _), output = timed([*command, "--json"], args.rounds, folder)
                median = statistics.median(walls)
                wrong = faults(json.loads(output), tree)
                verdict = "; ".join(wrong) or "the best"
                if nodes in TARGETS:
                    limit_ms, limit_mib = TARGETS[nodes]
                    met = median <= limit_ms and max(sizes) <= limit_mib
                    verdict += (f"; <= {limit_ms:g} ms, {limit_mib} MiB: "
                                f"{'met' if met else 'MISSED'}")
                    missed |= not met
                missed |= bool(wrong)
                print(f"{nodes:>8}  {form:<14} {min(walls):7.1f} {median:7.1f} "
                      f"{statistics.median(cpus):7.1f} {max(sizes):5.0f} "
                      f"{statistics.median(json_walls):7.1f}  {verdict}", flush=True)
        if not args.only_size:
            missed |= parallel_table(toprun, args.rounds, folder)
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
