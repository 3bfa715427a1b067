"""Twelve kinds of hang on two virtual hosts, real PyTorch and Gloo: when and what toprun --hang-timeout says, and
what torchrun with Gloo's time-out says of the same.

    make bench-hangs      or: python3 bench/hangs.py [--limit 10] [KIND...]

TOPRUN names the binary (build/release/toprun), PYTHON a Python with torch (build/venv). Times count from when the
guilty rank begins to hang, less the time limit. Prints a table in Markdown.
"""

import argparse
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import time

REPOSITORY = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(REPOSITORY / "tests"))
import hang_kinds

VCLUSTER = [sys.executable, "-B", str(REPOSITORY / "tools/vcluster")]
PORT = 29751
LONGEST_S = 60  # after the limit
# Kind: (what hangs, the mark of the guilty line; "": the kernel knows no line)
KINDS = {
    "sleeps": ("a rank that sleeps before all_reduce", "sleeps"),
    "order": ("another order of collectives on one rank", "order"),
    "size": ("another size on one rank", "size"),
    "loads": ("a rank stuck in a data loader", "in the worker"),
    "locks": ("… in a lock", "locks"),
    "reads": ("… in state D: a mount that hangs", "reads"),
    "stopped": ("… stopped by SIGSTOP", ""),
    "cut": ("a node cut off the network", ""),
    "spins": ("a rank that spins", "spins"),
    "child": ("a rank that waits for a child", "waits for a child"),
    "init": ("init_process_group without one rank", "init"),
    "monitored_barrier": ("monitored_barrier", "sleeps"),
}


def python():
    return os.environ.get("PYTHON", str(REPOSITORY / "build/venv/bin/python"))


class Hosts:
    def __init__(self):
        self.name = f"hangs{os.getpid()}"

    def __enter__(self):
        self.do("up", "--hosts", "2")
        return self

    def __exit__(self, *_):
        self.do("down")

    def do(self, verb, *words):
        subprocess.run([*VCLUSTER, verb, "--name", self.name, *words], check=True, stdout=subprocess.DEVNULL)

    def start(self, host, words, env, file):
        return subprocess.Popen([*VCLUSTER, "exec", "--name", self.name, host, *words], env={**os.environ, **env},
                                stdin=subprocess.DEVNULL, stdout=file, stderr=subprocess.STDOUT,
                                start_new_session=True)


def wait_for(condition, limit):
    end = time.monotonic() + limit
    while not condition() and time.monotonic() < end:
        time.sleep(0.02)
    return condition()


def run(hosts, kind, words, env, told, limit):
    """Seconds from the hang's beginning to the line that `told` finds, and all that was printed."""
    with tempfile.TemporaryDirectory() as folder:
        script = pathlib.Path(folder, "train.py")
        script.write_text(hang_kinds.SCRIPT)
        outputs = [pathlib.Path(folder, f"out{i}") for i in range(2)]
        files = [open(path, "wb") for path in outputs]
        runs = [hosts.start(f"n{i}", [*words, str(script), "stopped" if kind == "cut" else kind], env, files[i])
                for i in range(2)]

        def text():
            return "".join(path.read_text(errors="replace") for path in outputs)

        try:
            if not wait_for(script.with_name("hangs").exists, LONGEST_S):
                raise RuntimeError(f"{kind}: it does not begin\n{text()}")
            begun = float(script.with_name("hangs").read_text())
            if kind == "cut":
                begun = time.time()
                hosts.do("cut", "n1")
            if kind == "stopped":
                os.kill(int(script.with_name(f"{hang_kinds.GUILTY}.pid").read_text()), signal.SIGSTOP)
            found = wait_for(lambda: re.search(told, text(), re.M), LONGEST_S + limit)
            seconds = time.time() - begun if found else None
            wait_for(lambda: all(one.poll() is not None for one in runs), 5)
            return seconds, text()
        finally:
            left = [one for one in runs if one.poll() is None]
            for one in left:
                os.killpg(one.pid, signal.SIGTERM)
            for one in left:
                try:
                    one.wait(40)
                except subprocess.TimeoutExpired:
                    os.killpg(one.pid, signal.SIGKILL)
                    one.wait()
            for file in files:
                file.close()
            if kind == "cut":
                hosts.do("join", "n1")


def toprun_says(hosts, kind, limit):
    words = [os.environ.get("TOPRUN", str(REPOSITORY / "build/release/toprun")), "--nnodes", "2", "--nproc-per-node", "2",
             "--rdzv-backend", "c10d", "--rdzv-endpoint", f"n0:{PORT}", "--hang-timeout", str(limit), "--on-hang", "abort"]
    env = {"PYTHON_EXEC": python(), "OMP_NUM_THREADS": "1"}
    told = r"no rank has made progress for|rank \d on n1 was killed by|^toprun: .*lost.* n1|^toprun: .*n1 .*lost"
    seconds, text = run(hosts, kind, words, env, told, limit)
    line = next((one for one in text.splitlines() if re.search(told, one)), "")
    mark = KINDS[kind][1]
    has_line = not mark or re.search(rf"train\.py(:|\", line ){hang_kinds.line_of(mark)}\b", text)
    return seconds, re.sub(r"^toprun: (no rank has made progress for [^:]*: )?", "", line), bool(has_line)


def torchrun_says(hosts, kind, limit):
    words = [python(), "-m", "torch.distributed.run", "--nnodes", "2", "--nproc-per-node", "2", "--rdzv-backend",
             "c10d", "--rdzv-endpoint", f"n0:{PORT + 1}"]
    env = {"OMP_NUM_THREADS": "1", "GLOO_TIMEOUT_S": str(limit)}
    seconds, text = run(hosts, kind, words, env, r"Root Cause", limit)
    error = re.search(r"(?:RuntimeError|terminate called)[^\n]*", text)
    rank = re.search(r"Root Cause[^$]*?rank\s*: (\d+)", text)
    said = f"rank {rank[1]}: " if rank else ""
    return seconds, said + (re.sub(r"\[[^ ]*/gloo[^\]]*\] ", "", error[0])[:90] if error else "nothing")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--limit", type=int, default=10)
    parser.add_argument("kinds", nargs="*", metavar="KIND", help=", ".join(KINDS))
    args = parser.parse_args()
    print(f"time limit {args.limit} s, load {os.getloadavg()[0]:.1f}\n")
    print("| | toprun, after the limit | says | guilty line | torchrun, after Gloo's | says |\n|---|---|---|---|---|---|")
    with Hosts() as hosts:
        for kind in args.kinds or KINDS:
            seconds, said, has_line = toprun_says(hosts, kind, args.limit)
            other, peer = torchrun_says(hosts, kind, args.limit)
            after = [f"{one - args.limit:+.1f} s" if one else f"not in {LONGEST_S} s" for one in (seconds, other)]
            print(f"| {KINDS[kind][0]} | {after[0]} | {said} | {'yes' if has_line else 'NO'} | {after[1]} | {peer} |",
                  flush=True)


if __name__ == "__main__":
    main()
