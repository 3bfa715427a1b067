"""Whether ranks lose what they save when `timeout` ends their job: it signals toprun and then the group.

    make bench-signals   or: python3 bench/signals.py [--runs N] [--late N] [--at-once N]

--runs (1,000) of two ranks that save for 0.3 s on SIGTERM, under `timeout` with a time drawn from
0.02 to 0.8 s, so that some are told in the midst of their start. A rank that had said that it runs, and did
not save, is lost.

--late (1,500) of one rank, with a SIGTERM 0 to 6 ms after the rank let go of its last file: it may come too late
to count, and must not make another code of a good run's.

Exit code 1 if a rank is lost, or if a run ends otherwise than it says.
"""

import argparse
import collections
import concurrent.futures
import os
import pathlib
import random
import signal
import subprocess
import sys
import tempfile
import time

REPOSITORY = pathlib.Path(__file__).resolve().parent.parent
TOPRUN = os.environ.get("TOPRUN", str(REPOSITORY / "build/release/toprun"))
RANKS = 2
EARLIEST_S, LATEST_S = 0.02, 0.8
LATEST_AFTER_S = 0.006
LIMIT_S = 120
TIMED_OUT = 124  # timeout's own exit code
# It says that it runs once it would save.
RANK = """\
save() { trap "" TERM; sleep 0.3; >"$ROOT/saved.$RANK"; exit 0; }
trap save TERM
>"$ROOT/up.$RANK"
while :; do sleep 0.05; done
"""


def one_run(number):
    """(ranks that ran, ranks that saved, what is wrong or an empty text)"""
    after = random.Random(number).uniform(EARLIEST_S, LATEST_S)
    with tempfile.TemporaryDirectory(prefix="toprun-signals-") as folder:
        finished = subprocess.run(
            ["timeout", f"{after:.3f}", TOPRUN, "--nproc-per-node", str(RANKS), "--no-python", "sh", "-c", RANK],
            env={**os.environ, "ROOT": folder, "OMP_NUM_THREADS": "1"}, stdin=subprocess.DEVNULL,
            capture_output=True, text=True, timeout=LIMIT_S)
        up, saved = ({path.suffix for path in pathlib.Path(folder).glob(f"{word}.*")} for word in ("up", "saved"))
    if finished.returncode != TIMED_OUT:
        return up, saved, f"exit code {finished.returncode} after {after:.3f} s\n{finished.stderr}"
    if up - saved:
        return up, saved, f"lost {len(up - saved)} of {len(up)} after {after:.3f} s\n{finished.stderr}"
    return up, saved, ""


def one_late(number):
    """What is wrong, or an empty text; the exit code."""
    with tempfile.TemporaryDirectory(prefix="toprun-signals-") as folder:
        fifo = os.path.join(folder, "fifo")
        os.mkfifo(fifo)
        run = subprocess.Popen([TOPRUN, "--no-python", "sh", "-c", f'exec 9>"{fifo}"'], stdin=subprocess.DEVNULL,
                               stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
                               env={**os.environ, "OMP_NUM_THREADS": "1"})
        with open(fifo, "rb") as held:
            held.read()
        time.sleep(random.Random(number).uniform(0, LATEST_AFTER_S))
        run.send_signal(signal.SIGTERM)
        _, said = run.communicate(timeout=LIMIT_S)
    right = {0} if "all ended with 0" in said else {128 + signal.SIGTERM}
    return "" if run.returncode in right else f"exit code {run.returncode}\n{said}", run.returncode


def play_late(runs, pool):
    codes, wrong = collections.Counter(), 0
    for what, code in pool.map(one_late, range(runs)):
        codes[code] += 1
        wrong += bool(what)
        if what:
            print(what, flush=True)
    print(f"{runs:,} runs with a SIGTERM behind their rank's end: exit codes {dict(codes)}; {wrong} ended wrongly")
    return wrong


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--runs", type=int, default=1000)
    parser.add_argument("--late", type=int, default=1500)
    parser.add_argument("--at-once", type=int, default=10, help="they mostly wait")
    options = parser.parse_args()
    began = time.monotonic()
    counts = collections.Counter()
    with concurrent.futures.ThreadPoolExecutor(options.at_once) as pool:
        for up, saved, wrong in pool.map(one_run, range(options.runs)):
            counts["up"] += len(up)
            counts["lost"] += len(up - saved)
            counts["midst"] += len(up) < RANKS
            if wrong:
                counts["wrong"] += 1
                print(wrong, flush=True)
        late = play_late(options.late, pool)
    print(f"{options.runs:,} runs under timeout, {options.at_once} at once, {time.monotonic() - began:.0f} s: "
          f"{counts['up']:,} ranks ran, {counts['lost']} of them lost what they save; {counts['midst']} runs were "
          f"told before all ranks ran, {counts['wrong']} ended wrongly")
    return 1 if counts["wrong"] or counts["lost"] or late else 0


if __name__ == "__main__":
    sys.exit(main())
