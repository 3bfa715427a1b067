"""Whether `toprun bench pairs` names what is slow, and nothing else, on the virtual cluster.

    python3 bench/pairs.py [--rounds 20] [--seed N] [--only host,uplink,link,none]

Eight virtual hosts stand in four racks; hosts and uplinks have 400 Mbit/s. In each round one host, one
uplink, one link between two hosts, all drawn by chance, and nothing in turn gets a third of that, in both
directions. Printed are each round's answer and how many were right: what is
slow is named, nothing else is, and without a fault none is slower. Needs root, and a built toprun
(TOPRUN, else build/release/toprun). Exit code 1 if one answer was wrong. See README.md.
"""

import argparse
import itertools
import os
import pathlib
import random
import re
import signal
import subprocess
import sys
import time

REPOSITORY = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(REPOSITORY / "tests"))
sys.dont_write_bytecode = True
import cluster  # noqa: E402

HOSTS = [f"n{i}" for i in range(8)]
RACKS = 4
RATE_MBIT = 400  # of a host's link and of an uplink: without a limit the processor would be measured
RATE = f"{RATE_MBIT}mbit"
SLOW = f"{RATE_MBIT // 3}mbit"
TBF = ["root", "tbf", "burst", "256kb", "limit", "4mb", "rate"]
LIMIT_S = 180


class Faults:
    """What can be slow, on a cluster that is up."""

    def __init__(self, made, chance):
        self.cluster = made
        self.chance = chance
        self.addresses = {host: self.address(host) for host in HOSTS}
        for host in HOSTS:
            self.shape_host("add", host, RATE)

    def run(self, where, *words):
        done = subprocess.run(self.cluster.on(where, *words), capture_output=True, text=True,
                              timeout=30)
        if done.returncode != 0:
            sys.exit(f"pairs.py: {' '.join(words)} on {where}: {done.stderr}")
        return done.stdout

    def tc(self, where, words):
        self.run(where, "tc", *words.split())

    def address(self, host):
        return self.run(host, "ip", "-4", "-o", "addr", "show", "eth0").split()[3].split("/")[0]

    def make(self, kind):
        """Makes something slow; returns its name, the line that names it, and what mends it."""
        return getattr(self, kind)()

    def none(self):
        return "nothing", r"8 nodes: none is slower than the others, 28 pairs measured", lambda: None

    def host(self):
        host = self.chance.choice(HOSTS)
        self.shape_host("change", host, SLOW)
        return host, rf"{host}: .*, both directions", lambda: self.shape_host("change", host, RATE)

    def shape_host(self, verb, host, rate):
        for where, device in ((host, "eth0"), ("switches", f"{host}.0")):
            self.tc(where, f"qdisc {verb} dev {device} {' '.join(TBF)} {rate}")

    def uplink(self):
        rack = self.chance.randrange(RACKS)

        def shape(rate):
            for device in (f"up{rack}", f"down{rack}"):
                self.tc("switches", f"qdisc change dev {device} {' '.join(TBF)} {rate}")
        shape(SLOW)
        return (f"uplink of r{rack}", rf"uplink of domain core/r{rack}: .*, both directions.*",
                lambda: shape(RATE))

    def link(self):
        one, other = self.chance.choice(list(itertools.combinations(HOSTS, 2)))
        for host, target in ((one, other), (other, one)):
            for words in ("qdisc replace dev eth0 root handle 1: htb default 1",
                          f"class add dev eth0 parent 1: classid 1:1 htb rate {RATE} burst 256k",
                          f"class add dev eth0 parent 1: classid 1:2 htb rate {SLOW} burst 256k",
                          "filter add dev eth0 parent 1: protocol ip u32 match ip dst "
                          f"{self.addresses[target]}/32 flowid 1:2"):
                self.tc(host, words)

        def mend():
            for host in (one, other):
                self.tc(host, f"qdisc replace dev eth0 {' '.join(TBF)} {RATE}")
        ends = f"({one} – {other}|{other} – {one})"
        return f"{one} – {other}", rf"{ends}: .*, both directions", mend


def measure(made, toprun):
    """(what it printed, without the figures below, seconds)"""
    began = time.monotonic()
    done = subprocess.run(made.on("ctl", "srun", "-N8", toprun, "bench", "pairs", "--nproc-per-node",
                                  "1", "-b", "2M"), capture_output=True, text=True, timeout=LIMIT_S)
    verdict = [line for line in done.stdout.splitlines() if not line.startswith("  ")]
    return "\n".join(verdict) or done.stderr.strip(), time.monotonic() - began


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(1_000_000))
    parser.add_argument("--only", default="host,uplink,link,none", metavar="KIND,…")
    args = parser.parse_args()
    for name in [name for name in os.environ if name.startswith("SLURM_")]:
        del os.environ[name]
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # no cluster stays behind
    toprun = os.environ.get("TOPRUN", str(REPOSITORY / "build/release/toprun"))
    kinds = args.only.split(",")
    right = dict.fromkeys(kinds, 0)
    print(f"seed {args.seed}, load {os.getloadavg()[0]:.1f} on {os.cpu_count()} CPUs", flush=True)
    made = cluster.Cluster("--hosts", str(len(HOSTS)), "--racks", str(RACKS), "--uplink",
                           RATE, "--slurm")
    try:
        made.up()
        faults = Faults(made, random.Random(args.seed))
        for number, kind in itertools.product(range(args.rounds), kinds):
            name, line, mend = faults.make(kind)
            try:
                said, seconds = measure(made, toprun)
            finally:
                mend()
            is_right = re.fullmatch(line, said) is not None
            right[kind] += is_right
            print(f"{number + 1:>2} {kind:<6} {name:<12} {'right' if is_right else 'WRONG'} {seconds:4.1f} s, "
                  f"load {os.getloadavg()[0]:4.1f}: {said}", flush=True)
    finally:
        made.down()
    print(", ".join(f"{kind} {count} of {args.rounds}" for kind, count in right.items()))
    return 0 if all(count == args.rounds for count in right.values()) else 1


if __name__ == "__main__":
    sys.exit(main())
