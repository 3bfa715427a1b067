#!/usr/bin/env python3
"""Hours of short jobs beside one long one, on a virtual cluster: does anything grow, or stay behind?

    make bench-soak HOURS=8     or: python3 bench/soak.py --hours N | --minutes N [--seed N] [--svg FILE] [--json FILE]

Needs root and Linux. TOPRUN names the binary (build/release/toprun). Everything runs in process and mount namespaces
of its own, with a /tmp and a /dev/shm of its own, on eight virtual hosts with Slurm and ssh; the kernel
ends all of it together with this program. Short jobs come in an order drawn from the seed. The long job's
keepers and agents are sampled every ten seconds. Exit code 1 if a check fails: memory, descriptors or threads of the
long job that grow (the last third's median beside the second third's), a short job's exit code, a process
that is there five seconds after its job's end, a file that stays.
"""

import argparse
import collections
import json
import os
import pathlib
import random
import signal
import sys
import tempfile
import threading
import time

sys.dont_write_bytecode = True
HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "tests")]

import cluster
from soak_lib import apart, jobs, picture, samples

SAMPLE_S = 10
LEFT_LIMIT_S = 5
SETTLE_S = 5
JUDGED = "private", "descriptors", "threads"
FEWEST_SAMPLES = 9  # three for each third


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    length = parser.add_mutually_exclusive_group()
    length.add_argument("--hours", type=float)
    length.add_argument("--minutes", type=float)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(10**6))
    # Opened here: the soak sees folders of its own under these names.
    parser.add_argument("--svg", metavar="FILE", type=argparse.FileType("w"))
    parser.add_argument("--json", metavar="FILE", type=argparse.FileType("w"))
    given = parser.parse_args()
    given.seconds = 60 * (given.minutes or 60 * (given.hours or 8))
    return given


class Soak:
    def __init__(self, given, virtual, folder):
        self.given, self.folder = given, folder
        self.toprun = os.environ.get("TOPRUN", str(HERE.parent / "build/release/toprun"))
        self.jobs = jobs.Jobs(virtual, self.toprun, folder, random.Random(given.seed))
        self.samples, self.counts, self.failures = [], collections.Counter(), []
        self.stopped, self.round, self.files_more, self.ended = False, [], 0, threading.Event()

    def stop(self, *_):
        self.stopped = True

    def start_long(self):
        self.long = self.jobs.start_long()
        time.sleep(SETTLE_S)
        mine = sorted(pid for pid in samples.processes() if samples.words(pid)[:1] == [self.toprun])
        # A keeper is what we started; its agent is its child.
        starts = {run.pid: f"n{number}" for number, run in enumerate(self.long)}
        self.roles = {pid: f"{starts[pid]} keeper" if pid in starts else f"{starts.get(samples.parent(pid))} agent"
                      for pid in mine}
        if any(run.poll() is not None for run in self.long) or len(self.roles) < 2 * jobs.HOSTS:
            raise RuntimeError(f"the long job did not start: {self.roles}")

    def sample(self):
        """In a thread of its own, whatever the short jobs do."""
        while not self.ended.wait(max(0, SAMPLE_S * len(self.samples) - self.passed())):
            try:
                of = {role: samples.of_process(pid) for pid, role in self.roles.items()}
            except OSError as error:
                self.failures.append(("long job", f"a process of it has ended: {error}"))
                return
            self.samples.append({"seconds": self.passed(), "of": of, "files": self.files_more})

    def passed(self):
        return time.monotonic() - self.began

    def left(self):
        """What the last job left: processes that run, and files."""
        new = {pid for pid in samples.processes() - self.before if samples.alive(pid)}
        return [" ".join(samples.words(pid)) or str(pid) for pid in new] + sorted(samples.files() - self.files)

    def one(self):
        self.round = self.round or self.jobs.chance.sample(jobs.Jobs.ALL, len(jobs.Jobs.ALL))
        what = self.round.pop()
        self.before, self.files = samples.processes(), samples.files()
        wrong = what(self.jobs)
        self.counts[what.__name__] += 1
        deadline = time.monotonic() + LEFT_LIMIT_S
        while (left := self.left()) and time.monotonic() < deadline:
            time.sleep(0.1)
        for text in ([wrong] if wrong else []) + ([f"left behind: {left}"] if left else []):
            self.failures.append((what.__name__, text))
            print(f"{what.__name__}: {text}", flush=True)

    def play(self):
        self.start_long()
        self.began = time.monotonic()
        first_files = samples.files()
        sampler = threading.Thread(target=self.sample, daemon=True)
        sampler.start()
        while not self.stopped and self.passed() < self.given.seconds:
            self.one()
            self.files_more = len(samples.files() - first_files)
        self.ended.set()
        sampler.join()
        if any(run.poll() is not None for run in self.long):
            self.failures.append(("long job", "has ended"))

    def checks(self):
        """Rows (what, figure, right)."""
        rows = [(f"{name}", f"{count} times", not [1 for failed, _ in self.failures if failed == name])
                for name, count in sorted(self.counts.items())]
        if len(self.samples) < FEWEST_SAMPLES:
            return [*rows, ("growth", f"cannot tell from {len(self.samples)} samples", True)]
        for what in JUDGED:
            growth, limit, role = samples.worst(self.samples, what)
            rows.append((f"{what} grows most", f"{growth:+g} (limit {limit:g}), {role}", growth <= limit))
        return rows

    def series(self):
        def total(what):
            return [sum(held[what] for held in sample["of"].values()) for sample in self.samples]
        return {"private memory of 8 keepers and 8 agents, KiB": total("private"), "their PSS, KiB": total("pss"),
                "their descriptors": total("descriptors"), "their threads": total("threads"),
                "files since the start, between jobs": [sample["files"] for sample in self.samples]}

    def tell(self):
        rows = self.checks()
        for what, figure, right in rows:
            print(f"{what:24} {figure:48} {'ok' if right else 'WRONG'}")
        if self.given.svg and self.samples:
            with self.given.svg as file:
                file.write(picture.svg([sample["seconds"] for sample in self.samples], self.series()))
        if self.given.json:
            with self.given.json as file:
                json.dump({"seed": self.given.seed, "samples": self.samples, "failures": self.failures}, file)
        return 0 if all(right for *_, right in rows) and not self.failures else 1


def soak(given):
    print(f"seed {given.seed}, {given.seconds / 60:g} minutes, load {os.getloadavg()[0]:.1f}", flush=True)
    os.environ["XDG_RUNTIME_DIR"] = tempfile.mkdtemp()
    virtual = cluster.Cluster("--hosts", str(jobs.HOSTS), "--racks", "2", "--slurm", "--ssh")
    virtual.name = f"soak-{given.seed}"
    with tempfile.TemporaryDirectory() as folder:
        mine = Soak(given, virtual, pathlib.Path(folder))
        for number in apart.ENDS:
            signal.signal(number, mine.stop)
        virtual.up()
        try:
            mine.play()
        finally:
            code = mine.tell()
            virtual.down()
    return code


if __name__ == "__main__":
    GIVEN = arguments()
    sys.exit(apart.run(lambda: soak(GIVEN)))
