#!/usr/bin/env python3
"""How long `toprun topo order` takes for a large network, whole process included.

    make bench            or: python3 bench/topology.py [--rounds 15] [--only-size 10000]

TOPRUN names the binary (build/release/toprun). The network is a tree of three levels (cluster,
block, rack) over all nodes, the same in every run; nodes are numbered so that neighbours by name
sit in different racks, as where a cluster was filled rack by rack in turn. The same tree is read in
each form that toprun knows. Whether the order is the best possible is worked out here from the
file's places and the printed order, and must agree with what toprun says of itself.
Exit code 1 if a figure misses its target or the order is not the best.
"""

import argparse
import json
import os
import pathlib
import resource
import statistics
import subprocess
import sys
import tempfile
import time

REPOSITORY = pathlib.Path(__file__).resolve().parent.parent
SIZES = [1_000, 10_000, 100_000]
TARGET_NODES, TARGET_MS = 10_000, 50.0
CLUSTERS, BLOCKS = 4, 8  # blocks in each cluster
NODES_PER_RACK = 16
STEP = 7919              # a prime: neighbours by name are far apart in the network
LEVELS = ["cluster", "block", "rack"]


def places(nodes):
    """{host: (cluster, block, rack)}; every name of a domain is its own only inside its parent."""
    racks = -(-nodes // NODES_PER_RACK)
    found = {}
    for number in range(nodes):
        rack = number * STEP % nodes // NODES_PER_RACK
        block = rack * CLUSTERS * BLOCKS // racks
        found[f"n{number}"] = (f"c{block // BLOCKS}", f"b{block % BLOCKS}", f"r{rack}")
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
        for depth in (3, 2, 1):
            children.setdefault(".".join(place[:depth]), {})[below] = depth == 3
            below = ".".join(place[:depth])
    lines = []
    for switch, below in children.items():
        kind = "Nodes" if next(iter(below.values())) else "Switches"
        lines.append(f"SwitchName={switch} {kind}={','.join(below)}\n")
    lines.append(f"SwitchName=top Switches={','.join(s for s in children if '.' not in s)}\n")
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
    said = {row["level"]: row for row in answer["ring"]}
    found = []
    for depth, level in enumerate(LEVELS, 1):
        ours, least = crossings(order, tree, depth), fewest(tree, depth)
        if ours != least:
            found.append(f"{level}: {ours} crossings, {least} are possible")
        row = said.get(level)
        if row and (row["ordered"], row["minimum"]) != (ours, least):
            found.append(f"{level}: it says {row['ordered']} and {row['minimum']}, "
                         f"they are {ours} and {least}")
    return found


def children_cpu_s():
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def timed(command, rounds):
    """(wall and CPU milliseconds of each whole process, last output)."""
    times = []
    for _ in range(rounds):
        before, start = children_cpu_s(), time.perf_counter()
        done = subprocess.run(command, capture_output=True, text=True)
        wall, cpu = time.perf_counter() - start, children_cpu_s() - before
        times.append((wall * 1e3, cpu * 1e3))
        if done.returncode != 0:
            sys.exit(f"topology.py: {' '.join(command)}: {done.stderr.strip()[:300]}")
    return times, done.stdout


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
    print(f"{'nodes':>8}  {'file':<14} {'min ms':>7} {'median':>7} {'CPU':>7} {'--json':>7}  "
          "order, at every level")
    missed = False
    with tempfile.TemporaryDirectory() as folder:
        for nodes in [args.only_size] if args.only_size else SIZES:
            tree = places(nodes)
            for form, write in (("lines", as_lines), ("toml", as_toml), ("topology.conf", as_slurm)):
                path = pathlib.Path(folder, form)
                path.write_text(write(tree))
                command = [toprun, "topo", "order", "--topology", str(path)]
                plain, _ = timed(command, args.rounds)
                with_json, output = timed([*command, "--json"], args.rounds)
                walls, cpus = zip(*plain)
                median = statistics.median(walls)
                json_median = statistics.median(wall for wall, _ in with_json)
                wrong = faults(json.loads(output), tree)
                verdict = "; ".join(wrong) or "the best"
                if nodes == TARGET_NODES:
                    met = median <= TARGET_MS
                    verdict += f"; <= {TARGET_MS:g} ms: {'met' if met else 'MISSED'}"
                    missed |= not met
                missed |= bool(wrong)
                print(f"{nodes:>8}  {form:<14} {min(walls):7.1f} {median:7.1f} "
                      f"{statistics.median(cpus):7.1f} {json_median:7.1f}  {verdict}", flush=True)
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
