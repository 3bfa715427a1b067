#!/usr/bin/env python3
"""What it costs a node's agent that somebody looks at its job.

    make bench-looked-at      or: python3 bench/looked_at.py [--seconds 60] [--ranks 8,64]

TOPRUN names the binary (build/release/toprun). Jobs of Pythons that print a line a second, with and without --hang-timeout; nobody looks,
or somebody asks for the picture once a second, follows the pictures as top does, asks for the metrics every 15 s, or
follows the page's events. The agent is the root's, so it measures its ranks and writes the picture too. CPU is that of
the agent and its keeper over so many seconds by /proc/PID/stat, without the GPUs' driver, whose stand-in answers at
once; memory is their PSS. The jobs of one size run side by side.
Exit code 1 if looking costs more than 0.5 % of a core or 2 MiB (up to eight ranks, with --hang-timeout's own cost), or memory
still grows in the second half.
"""

import argparse
import http.client
import os
import pathlib
import re
import socket
import subprocess
import sys
import tempfile
import threading
import time

REPOSITORY = pathlib.Path(__file__).resolve().parent.parent
MOST_CPU = 0.005           # of one core, for looking; and in all, with the watch for hangs, of a node with eight ranks
RANKS_OF_A_NODE = 8
MOST_GROWTH_MIB = 2
MOST_LATE_GROWTH_MIB = 0.25
START_LIMIT_S = 60
HANG_TIMEOUT_S = 600       # the ranks do nothing else: a shorter one would end in a hang
TOKEN = "looked-at-looked-at-looked-at"
SCRAPE_INTERVAL_S = 15
RANK = """\
import os, pathlib, time
(pathlib.Path(__file__).parent / f"ready{os.environ['RANK']}").touch()
for step in range(100_000):
    print(f"step {step} loss {2.5 / (step + 1):.4f} lr 0.0003 tokens/s 18231", flush=True)
    time.sleep(1)
"""
DRIVER = "#!/bin/sh\ni=0; while [ $i -lt 8 ]; do echo \"GPU-$i, 5$i, 70000, 81559\"; i=$((i+1)); done\n"


class UnixConnection(http.client.HTTPConnection):
    def __init__(self, path):
        super().__init__("job", timeout=30)
        self.path = str(path)

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.connect(self.path)


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Job:
    def __init__(self, toprun, ranks, hang_timeout, looks):
        self.ranks, self.hang_timeout, self.looks = ranks, hang_timeout, looks
        self.folder = tempfile.TemporaryDirectory()
        here = pathlib.Path(self.folder.name)
        (here / "rank.py").write_text(RANK)
        (here / "nvidia-smi").write_text(DRIVER)
        (here / "nvidia-smi").chmod(0o755)
        self.port = free_port()
        words = ["--hang-timeout", str(HANG_TIMEOUT_S)] if hang_timeout else []
        words += [f"--web=127.0.0.1:{self.port}"] if looks == "page" else []
        self.process = subprocess.Popen(
            [toprun, "--standalone", "--nproc-per-node", str(ranks), *words, str(here / "rank.py")],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
            env={**os.environ, "PYTHON_EXEC": sys.executable, "OMP_NUM_THREADS": "1", "XDG_RUNTIME_DIR": str(here),
                 "PATH": f"{here}:{os.environ['PATH']}", "TOPRUN_WEB_TOKEN": TOKEN})
        deadline = time.monotonic() + START_LIMIT_S
        while len(list(here.glob("ready*"))) < ranks:
            if time.monotonic() > deadline or self.process.poll() is not None:
                self.process.kill()
                sys.exit(f"looked_at.py: the job does not run\n{self.process.stderr.read()}")
            time.sleep(0.05)
        self.socket, = (here / "toprun").iterdir()
        keeper = self.process.pid
        agent, = pathlib.Path(f"/proc/{keeper}/task/{keeper}/children").read_text().split()
        self.ours = [keeper, int(agent)]

    def cpu_s(self):
        """Of the processes themselves, without their children."""
        ticks = 0
        for pid in self.ours:
            fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
            ticks += int(fields[11]) + int(fields[12])
        return ticks / os.sysconf("SC_CLK_TCK")

    def memory_mib(self):
        texts = [pathlib.Path(f"/proc/{pid}/smaps_rollup").read_text() for pid in self.ours]
        return sum(int(re.search(r"^Pss: +(\d+) kB", text, re.M)[1]) for text in texts) / 1024

    def ask(self, path, until, every):
        while (now := time.monotonic()) < until:
            connection = UnixConnection(self.socket)
            connection.request("GET", path)
            if connection.getresponse().read() == b"":
                sys.exit("looked_at.py: the job gives no answer")
            connection.close()
            time.sleep(max(0, min(until, now + every) - time.monotonic()))

    def follow(self, connection, path, line, until):
        connection.request("GET", path, headers={"Authorization": f"Bearer {TOKEN}"})
        answer = connection.getresponse()
        seen = 0
        while time.monotonic() < until:
            seen += answer.readline().startswith(line)
        connection.close()
        if seen == 0:
            sys.exit(f"looked_at.py: the job says nothing at {path}")

    def look(self, until):
        if self.looks == "picture":
            self.ask("/picture", until, 1)
        elif self.looks == "metrics":
            self.ask("/metrics", until, SCRAPE_INTERVAL_S)
        elif self.looks == "top":
            self.follow(UnixConnection(self.socket), "/pictures", b'{"schema"', until)
        elif self.looks == "page":
            self.follow(http.client.HTTPConnection("127.0.0.1", self.port, timeout=30), "/events", b"event:", until)

    def measure(self, seconds):
        self.before = self.memory_mib()
        cpu, start = self.cpu_s(), time.monotonic()
        looker = threading.Thread(target=self.look, args=(start + seconds,))
        looker.start()
        time.sleep(seconds / 2)
        self.halfway = self.memory_mib()
        looker.join()
        time.sleep(max(0, start + seconds - time.monotonic()))
        self.after = self.memory_mib()
        self.cpu = (self.cpu_s() - cpu) / (time.monotonic() - start)

    def end(self):
        self.process.terminate()
        self.process.wait()
        self.folder.cleanup()


def measured(toprun, ranks, seconds):
    jobs = [Job(toprun, ranks, hang, looks) for hang in (False, True)
            for looks in ("nobody", "picture", "top", "metrics", "page")]
    try:
        threads = [threading.Thread(target=job.measure, args=(seconds,)) for job in jobs]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        for job in jobs:
            job.end()
    return jobs


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=int, default=60)
    parser.add_argument("--ranks", default="8,64")
    args = parser.parse_args()
    toprun = os.environ.get("TOPRUN", str(REPOSITORY / "build/release/toprun"))
    if not os.access(toprun, os.X_OK):
        sys.exit(f"looked_at.py: there is no {toprun}: run `make`")
    for name in [name for name in os.environ if name.startswith(("SLURM_", "TOPRUN", "PET_"))]:
        del os.environ[name]
    print(f"over {args.seconds} s, load {os.getloadavg()[0]:.1f}")
    print("| ranks | --hang-timeout | who looks | CPU, % of a core | for looking | PSS MiB before | grown | in the second half |")
    print("|---|---|---|---|---|---|---|---|")
    missed = False
    for ranks in map(int, args.ranks.split(",")):
        alone = {}
        for job in measured(toprun, ranks, args.seconds):
            alone.setdefault(job.hang_timeout, job.cpu)
            cost = job.cpu - alone[job.hang_timeout]
            growth, late = job.after - job.before, job.after - job.halfway
            in_all = cost if ranks > RANKS_OF_A_NODE else job.cpu
            is_bad = in_all > MOST_CPU or growth > MOST_GROWTH_MIB or late > MOST_LATE_GROWTH_MIB
            missed = missed or is_bad
            print(f"| {ranks} | {'yes' if job.hang_timeout else 'no'} | {job.looks} | {100 * job.cpu:.2f} | {100 * cost:.2f} | "
                  f"{job.before:.1f} | {growth:.2f} | {late:.2f} |{' missed' if is_bad else ''}")
    sys.exit(1 if missed else 0)


if __name__ == "__main__":
    main()
