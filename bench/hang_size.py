"""How soon --hang-timeout tells who is guilty among many ranks on one machine, and in how many lines.

    python3 bench/hang_size.py [--ranks 512] [--limit 10]

The ranks are stand-ins: Pythons without torch, which wait for a byte in a module whose place in the file system is
that of torch.distributed, by which toprun knows a collective. One of them sleeps elsewhere. TOPRUN names the binary.
Times count from when the last rank stands still, less the limit.
"""

import argparse
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time

REPOSITORY = pathlib.Path(__file__).resolve().parent.parent
LONGEST_S = 2  # after the limit
MOST_LINES = 25
COLLECTIVE = """\
import os
def all_reduce():
    os.read(os.pipe()[0], 1)
"""
RANK = """\
import os, pathlib, sys, time
here = pathlib.Path(__file__).parent
sys.path.insert(0, str(here / "torch/distributed"))
import collective
rank, guilty = int(os.environ["RANK"]), int(sys.argv[1])
with open(here / "stands", "ab", buffering=0) as file:
    file.write(b"%r\\n" % time.time())
if rank == guilty:
    time.sleep(3600)
collective.all_reduce()
"""


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--ranks", type=int, default=512)
    parser.add_argument("--limit", type=int, default=10)
    args = parser.parse_args()
    guilty = args.ranks * 2 // 3
    toprun = os.environ.get("TOPRUN", str(REPOSITORY / "build/release/toprun"))
    print(f"{args.ranks} ranks, time limit {args.limit} s, load {os.getloadavg()[0]:.1f}")
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        (folder / "torch/distributed").mkdir(parents=True)
        (folder / "torch/distributed/collective.py").write_text(COLLECTIVE)
        (folder / "rank.py").write_text(RANK)
        run = subprocess.Popen([toprun, "--standalone", "--nproc-per-node", str(args.ranks), "--hang-timeout",
                                str(args.limit), "--on-hang", "abort", str(folder / "rank.py"), str(guilty)],
                               stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
                               env={**os.environ, "PYTHON_EXEC": sys.executable, "OMP_NUM_THREADS": "1"})
        told, lines = None, []
        for line in run.stderr:
            if told is None and "no rank has made progress" in line:
                told = time.time()
                lines = [line]
            elif told is not None and line.startswith("  "):
                lines.append(line)
            elif told is not None:
                break
        run.stderr.read()
        run.wait()
        stands = [float(line) for line in (folder / "stands").read_text().split()]
    if told is None or len(stands) != args.ranks:
        raise SystemExit(f"no verdict; {len(stands)} ranks stood still")
    seconds = told - max(stands) - args.limit
    is_named = bool(re.search(rf"\brank {guilty} on \S+ sleeps at rank\.py:9\b", lines[0]))
    print("".join(lines), end="")
    print(f"verdict {seconds:+.1f} s after the limit (at most {LONGEST_S}), {len(lines)} lines (at most {MOST_LINES}), "
          f"guilty rank {'named' if is_named else 'NOT named'}")
    sys.exit(not (is_named and seconds <= LONGEST_S and len(lines) <= MOST_LINES))


if __name__ == "__main__":
    main()
