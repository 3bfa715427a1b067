"""What a launch pays for its look at the network: `--fabric auto` beside `--fabric off`, in turns.

    python3 bench/fabric.py [--rounds 60] [--cases NAME,…] [--old TOPRUN] [--json FILE]

Each machine is a /sys of its own making in a mount namespace, where two agents on this host start
`true`. `auto` is a node of which one agent looks, as on a cluster, where each node has its own
processors; `both` counts two such agents on the processors of one. --old names a second binary,
which takes its turns in the same rounds. Needs root and a built toprun (TOPRUN, else
build/release/toprun). See README.md.
"""

import argparse
import contextlib
import ctypes
import dataclasses
import json
import os
import pathlib
import random
import statistics
import subprocess
import sys
import tempfile
import time

REPOSITORY = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(REPOSITORY / "tests"))
import machines
import support

TARGET_S = 0.001
ENTRIES = 256  # of each port's table of GIDs, most of them empty, as mlx5 has them
CLONE_NEWNS, MS_BIND, MS_REC, MS_PRIVATE = 0x20000, 0x1000, 0x4000, 0x40000
PRIORITY = 5   # SCHED_RR: other work on this machine waits


@dataclasses.dataclass
class Case:
    adapters: int
    entries: int
    nccl: str  # "": unknown


CASES = {
    "no RDMA": Case(0, 0, ""),
    "8 adapters, new NCCL": Case(8, 8, "2.27.3"),
    "16 x 256 GIDs, new NCCL": Case(16, ENTRIES, "2.27.3"),
    "8 adapters, unknown NCCL": Case(8, 8, ""),
    "16 x 256 GIDs, unknown NCCL": Case(16, ENTRIES, ""),
    "16 x 256 GIDs, NCCL 2.24": Case(16, ENTRIES, "2.24.3"),
    "16 x 256 GIDs, NCCL 2.20": Case(16, ENTRIES, "2.20.5"),
}
LOOKS = {"off": ("off", "off"), "auto": ("off", "auto"), "both": ("auto", "auto")}  # of root and member


def build_sys(root, case):
    machine = machines.Machine(root)
    machine.host()
    for i in range(case.adapters):
        machines.roce(machine, f"mlx5_{i}", f"10.1.{i}.7", f"ens{i}np0")
        port = root / f"sys/class/infiniband/mlx5_{i}/ports/1/gids"
        for index in range(case.entries):
            if not (port / str(index)).exists():
                (port / str(index)).write_text(machines.gid("") + "\n")


def build_python(root, case):
    """What looks like an environment with torch; its Python is `true`."""
    site = root / "lib/python3.12/site-packages"
    (site / "torch").mkdir(parents=True)
    (site / "torch/version.py").write_text("__version__ = '2.8.0+cu128'\n")
    if case.nccl:
        (site / "nvidia/nccl").mkdir(parents=True)
        (site / f"nvidia_nccl_cu12-{case.nccl}.dist-info").mkdir()
    (root / "bin").mkdir()
    (root / "bin/python").symlink_to("/bin/true")
    (root / "pyvenv.cfg").write_text("home = /usr/bin\nversion = 3.12.1\n")
    (root / "train.py").write_text("")
    return root / "bin/python"


def system(call, *arguments):
    if call(*arguments) != 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


def enter(sys_folder):
    """A mount namespace in which /sys is the case's."""
    libc = ctypes.CDLL(None, use_errno=True)
    system(libc.unshare, CLONE_NEWNS)
    system(libc.mount, b"none", b"/", None, MS_REC | MS_PRIVATE, None)
    system(libc.mount, os.fsencode(sys_folder), b"/sys", None, MS_BIND, None)
    with contextlib.suppress(OSError):
        os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(PRIORITY))


def launch(binary, looks, script, env):
    """Wall time from the spawn of two agents until both have ended."""
    port = support.free_port()
    words = ["--nnodes", "2", "--nproc-per-node", "1", "--master-addr", "127.0.0.1", "--master-port", str(port)]
    start = time.perf_counter()
    agents = [subprocess.Popen([binary, *words, "--node-rank", str(rank), "--fabric", look, script], env=env,
                               stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) for rank, look in enumerate(looks)]
    said = [agent.communicate(timeout=60)[1].decode() for agent in agents]
    wall = time.perf_counter() - start
    if any(agent.returncode for agent in agents):
        sys.exit("a launch failed:\n" + "\n".join(said))
    return wall


def rounds_of(case, binaries, rounds, folder):
    """{(binary, look): [wall, …]}, one after the other in each round."""
    build_sys(folder, case)
    (folder / "sys").mkdir(exist_ok=True)
    python = build_python(folder / "venv", case)
    enter(folder / "sys")
    env = {"PATH": os.environ["PATH"], "HOME": str(folder), "TOPRUN_SECRET": "0123456789abcdef",
           "PYTHON_EXEC": str(python), "OMP_NUM_THREADS": "1"}
    script = str(folder / "venv/train.py")
    turns = [(name, look) for name in binaries for look in LOOKS]
    walls = {turn: [] for turn in turns}
    for number in range(rounds + 2):
        random.shuffle(turns)
        for name, look in turns:
            wall = launch(binaries[name], LOOKS[look], script, env)
            if number >= 2:  # the first ones fill caches
                walls[name, look].append(wall)
    return [[*turn, one] for turn, one in walls.items()]


def in_a_child(work):
    """What `work` returns; its namespace ends with the child."""
    receiving, sending = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(receiving)
        with os.fdopen(sending, "w") as answer:
            json.dump(work(), answer)
        os._exit(0)
    os.close(sending)
    with os.fdopen(receiving) as answer:
        text = answer.read()
    if os.waitpid(child, 0)[1] != 0 or not text:
        sys.exit("a case failed")
    return json.loads(text)


def compare(case, binaries, rounds):
    with tempfile.TemporaryDirectory(prefix="toprun-bench-", dir="/dev/shm") as folder:
        walls = in_a_child(lambda: rounds_of(case, binaries, rounds, pathlib.Path(folder)))
    by_turn = {(name, look): one for name, look, one in walls}
    rows = {}
    for name in binaries:
        off = by_turn[name, "off"]
        rows[name] = {"off_s": statistics.median(off)}
        for look in ("auto", "both"):
            rows[name][f"{look}_more_s"] = statistics.median(
                more - less for more, less in zip(by_turn[name, look], off))
    return rows


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=60)
    parser.add_argument("--cases", default=",".join(CASES).replace(", ", "; "))
    parser.add_argument("--old", metavar="TOPRUN")
    parser.add_argument("--json", type=pathlib.Path)
    options = parser.parse_args()
    support.needs_root()
    binaries = {"old": options.old} if options.old else {}
    binaries["toprun"] = support.binary()
    results, missed = {}, False
    print(f"{'case':<30}{'binary':<8}{'off ms':>8}{'auto more':>11}{'both more':>11}")
    for name, case in CASES.items():
        if name.replace(", ", "; ") not in options.cases.split(","):
            continue
        results[name] = compare(case, binaries, options.rounds)
        for binary, row in results[name].items():
            met = row["auto_more_s"] <= TARGET_S
            missed = missed or (binary == "toprun" and not met)
            print(f"{name:<30}{binary:<8}{1e3 * row['off_s']:>8.2f}{1e3 * row['auto_more_s']:>11.2f}"
                  f"{1e3 * row['both_more_s']:>11.2f}  {'met' if met else 'MISSED'}", flush=True)
    if options.json:
        options.json.write_text(json.dumps(results, indent=2) + "\n")
    sys.exit(missed)


if __name__ == "__main__":
    main()
