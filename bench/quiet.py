"""Whether a training with long silent phases is taken for one that hangs: --hang-timeout over an hour of it.

    make bench-quiet      or: python3 bench/quiet.py [--minutes 60] [--limit 30] [--ranks 4]

TOPRUN names the binary (build/release/toprun), PYTHON a Python with torch (build/venv). Prints each phase that ran
and each alarm; ends with 1 if there was one.
"""

import argparse
import collections
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time

REPOSITORY = pathlib.Path(__file__).resolve().parent.parent
LONGER = 1.5  # a phase, than the limit


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument("--limit", type=int, default=30)
    parser.add_argument("--ranks", type=int, default=4)
    args = parser.parse_args()
    toprun = os.environ.get("TOPRUN", str(REPOSITORY / "build/release/toprun"))
    python = os.environ.get("PYTHON", str(REPOSITORY / "build/venv/bin/python"))
    begun = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        words = [toprun, "--standalone", "--nproc-per-node", str(args.ranks), "--hang-timeout", str(args.limit),
                 str(REPOSITORY / "bench/quiet_training.py"), folder, str(args.minutes), str(LONGER * args.limit)]
        run = subprocess.Popen(words, env={**os.environ, "PYTHON_EXEC": python, "OMP_NUM_THREADS": "1"},
                               stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        alarms = 0
        for line in run.stdout:
            alarms += bool(re.search("no rank has made progress", line))
            print(time.strftime("%H:%M:%S"), line, end="", flush=True)
        code = run.wait()
        phases = pathlib.Path(folder, "phases").read_text(encoding="utf-8").splitlines()
    for phase, times in collections.Counter(line.split(" ", 1)[1] for line in phases).items():
        print(f"{times:4} x {phase}")
    print(f"{alarms} alarms in {(time.monotonic() - begun) / 60:.0f} minutes, {len(phases)} phases of about "
          f"{LONGER * args.limit:.0f} s, limit {args.limit} s, code {code}")
    sys.exit(alarms > 0 or code != 0)


if __name__ == "__main__":
    main()
