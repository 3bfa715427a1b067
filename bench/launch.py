"""What a launch costs: toprun beside torchrun, mpirun and a bare spawn loop, in one run.

    make bench            or: python3 bench/launch.py [--rounds 10] [--json FILE]

TOPRUN names the binary (build/release/toprun), PYTHON a Python with torch (build/venv). A launcher
that is not there is left out, with the reason. See README.md for what each column means.
"""

import argparse
import contextlib
import json
import os
import pathlib
import re
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time

REPOSITORY = pathlib.Path(__file__).resolve().parent.parent
RANKS = 4
LINES, LINE_BYTES = 100_000, 100  # of each rank
START_LIMIT_S = 60.0
SETTLE_S = 0.5                    # from the workers' start to the look at the launcher's memory
TARGET_WALL_S, TARGET_MEMORY_MIB, TARGET_OUTPUT_CPU_S = 0.020, 8.0, 1.0
TARGET_BINARY_MIB = 10.0

# 100-byte lines, each in as many writes as argv[1] says.
WRITER = f"""
import os, sys
rank, pieces = int(os.environ.get("RANK") or os.environ.get("OMPI_COMM_WORLD_RANK")), int(sys.argv[1])
for number in range(int(sys.argv[2])):
    line = (b"<%d %06d " % (rank, number)).ljust({LINE_BYTES - 2}, b".") + b">\\n"
    step = len(line) // pieces
    for start in range(0, len(line), step):
        os.write(1, line[start:start + step])
"""
WHOLE_LINE = re.compile(rb"<(\d) (\d{6}) \.+>")


def launchers():
    """{name: command line up to the program}; says which are missing."""
    toprun = os.environ.get("TOPRUN", str(REPOSITORY / "build/release/toprun"))
    python = os.environ.get("PYTHON", str(REPOSITORY / "build/venv/bin/python"))
    found = {}
    if os.access(toprun, os.X_OK):
        found["toprun"] = [toprun, "--nproc-per-node", str(RANKS), "--no-python"]
    else:
        print(f"left out: toprun ({toprun} is not built: run `make`)")
    if shutil.which(python):
        found["torchrun"] = [shutil.which(python), "-m", "torch.distributed.run", "--nnodes", "1",
                             "--nproc-per-node", str(RANKS), "--no-python"]
    else:
        print(f"left out: torchrun ({python} does not exist: run `tools/setup --python`)")
    if shutil.which("mpirun"):
        found["mpirun"] = ["mpirun", "--oversubscribe", "--allow-run-as-root", "-np", str(RANKS)]
    else:
        print("left out: mpirun (not installed: run `tools/setup mpi`)")
    return found


def measured(argv, output=os.devnull):
    """(wall, CPU of the whole tree, highest RSS of one process in MiB) of a command that must
    succeed."""
    target = os.open(output, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)
    errors = tempfile.TemporaryFile()
    start = time.perf_counter()
    child = os.posix_spawnp(argv[0], argv, os.environ, file_actions=[
        (os.POSIX_SPAWN_DUP2, target, 1), (os.POSIX_SPAWN_DUP2, errors.fileno(), 2)])
    _, status, usage = os.wait4(child, 0)
    wall = time.perf_counter() - start
    os.close(target)
    if status != 0:
        errors.seek(0)
        sys.exit(f"{' '.join(argv)} failed:\n{errors.read().decode(errors='replace')}")
    return wall, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def bare_loop():
    """The least that anybody can need: spawn, wait. From here, so no interpreter has to start."""
    before = os.times()
    start = time.perf_counter()
    children = [os.posix_spawnp("true", ["true"], os.environ) for _ in range(RANKS)]
    for child in children:
        os.waitpid(child, 0)
    wall = time.perf_counter() - start
    after = os.times()
    return wall, sum(after[:4]) - sum(before[:4]), 0.0


def start_up(found, rounds):
    """{name: [(wall, CPU)…]}; one run of each after the other, so that all see the same weather."""
    runs = {name: [] for name in [*found, "bare loop"]}
    for _ in range(rounds):
        for name, command in found.items():
            runs[name].append(measured([*command, "true"])[:2])
        runs["bare loop"].append(bare_loop()[:2])
    return runs


def process_tree(root):
    """{pid: name} of a process and all below it."""
    parents, names = {}, {}
    for entry in pathlib.Path("/proc").iterdir():
        if entry.name.isdigit():
            with contextlib.suppress(OSError):
                stat = (entry / "stat").read_text()
                name, rest = re.fullmatch(r"\d+ \((.*)\) (.*)", stat.strip(), re.S).groups()
                parents[int(entry.name)], names[int(entry.name)] = int(rest.split()[1]), name
    tree, grown = {root}, True
    while grown:
        below = {pid for pid, parent in parents.items() if parent in tree}
        grown = not below <= tree
        tree |= below
    return {pid: names[pid] for pid in tree if pid in names}


def memory_mib(pid):
    """(PSS, highest RSS so far) of a process."""
    pss = re.search(r"^Pss: +(\d+) kB", pathlib.Path(f"/proc/{pid}/smaps_rollup").read_text(), re.M)
    peak = re.search(r"^VmHWM:\s+(\d+) kB", pathlib.Path(f"/proc/{pid}/status").read_text(), re.M)
    return int(pss[1]) / 1024, int(peak[1]) / 1024


def launcher_memory(command):
    """(processes, PSS, highest RSS) of all processes but the ranks, while the ranks sleep."""
    launcher = subprocess.Popen([*command, "sleep", "1000"], stdout=subprocess.DEVNULL,
                                stderr=subprocess.DEVNULL, start_new_session=True)
    try:
        deadline = time.monotonic() + START_LIMIT_S
        while list(process_tree(launcher.pid).values()).count("sleep") < RANKS:
            if launcher.poll() is not None or time.monotonic() > deadline:
                sys.exit(f"{' '.join(command)} sleep 1000 did not start {RANKS} processes")
            time.sleep(0.05)
        time.sleep(SETTLE_S)
        own = [pid for pid, name in process_tree(launcher.pid).items() if name != "sleep"]
        sizes = [memory_mib(pid) for pid in own]
        return len(own), sum(pss for pss, _ in sizes), sum(peak for _, peak in sizes)
    finally:
        launcher.send_signal(signal.SIGTERM)
        launcher.wait()


def count_lines(path):
    """(whole lines, torn lines) of a captured output."""
    whole = torn = 0
    with open(path, "rb") as file:
        for line in file:
            if WHOLE_LINE.search(line) and line.count(b"<") == 1:
                whole += 1
            elif b"." in line:
                torn += 1
    return whole, torn


def output(found, folder, pieces, lines):
    """{name: (wall, CPU, lost, torn)}; `bare` is what the writers alone cost."""
    writer = folder / "writer.py"
    writer.write_text(WRITER)
    arguments = [sys.executable, "-u", str(writer), str(pieces), str(lines)]
    variants = {}
    if "toprun" in found:
        variants["toprun"] = found["toprun"]
    if "torchrun" in found:
        variants["torchrun"] = found["torchrun"]
        variants["torchrun --tee 3"] = [*found["torchrun"], "--tee", "3", "--log-dir",
                                        str(folder / "logs")]
    if "mpirun" in found:
        variants["mpirun"] = found["mpirun"]
    bare = "for r in 0 1 2 3; do RANK=$r \"$@\" >\"$OUT.$r\" & done; wait"
    os.environ["OUT"] = str(folder / "bare")
    results = {"no launcher, to files": (*measured(["sh", "-c", bare, "sh", *arguments])[:2], 0, 0)}
    for name, command in variants.items():
        path = folder / "out"
        wall, cpu, _ = measured([*command, *arguments], path)
        whole, torn = count_lines(path)
        results[name] = (wall, cpu, max(0, RANKS * lines - whole - torn), torn)
    return results


def table(header, rows):
    cells = [header] + [[str(cell) for cell in row] for row in rows]
    widths = [max(len(row[column]) for row in cells) for column in range(len(header))]
    for row in cells:
        print("  ".join([row[0].ljust(widths[0])] +
                        [cell.rjust(width) for cell, width in zip(row[1:], widths[1:])]).rstrip())
    print()


def verdict(value, target, unit):
    return f"<= {target:g} {unit}: {'met' if value <= target else 'MISSED'}"


def report_start(runs, memory):
    ours = statistics.median(wall for wall, _ in runs["toprun"]) if "toprun" in runs else None
    rows = []
    for name, results in runs.items():
        walls, cpus = zip(*results)
        count, pss, peak = memory.get(name, (0, 0, 0))
        median = statistics.median(walls)
        rows.append([
            name, f"{min(walls) * 1e3:.1f}", f"{median * 1e3:.1f}", f"{max(walls) * 1e3:.1f}",
            f"{statistics.median(cpus) * 1e3:.0f}", f"{median / ours:.2f}" if ours else "-",
            count or "-", f"{pss:.1f}" if count else "-", f"{peak:.1f}" if count else "-",
            "; ".join([verdict(median * 1e3, TARGET_WALL_S * 1e3, "ms"),
                       verdict(peak, TARGET_MEMORY_MIB, "MiB")]) if name == "toprun" else ""])
    table(["launcher", "min ms", "median", "max", "CPU ms", "x toprun", "processes", "PSS MiB",
           "peak RSS", "target"], rows)


def report_output(results, title):
    print(title)
    base = results["no launcher, to files"][1]
    rows = [[name, f"{wall:.2f}", f"{cpu:.2f}", f"{max(0, cpu - base):.2f}", lost, torn,
             (f"{verdict(cpu - base, TARGET_OUTPUT_CPU_S, 's CPU')}; "
              f"0 torn: {'met' if lost + torn == 0 else 'MISSED'}") if name == "toprun" else ""]
            for name, (wall, cpu, lost, torn) in results.items()]
    table(["launcher", "wall s", "CPU s", "over bare", "lost", "torn", "target"], rows)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--json", metavar="FILE")
    args = parser.parse_args()

    found = launchers()
    with tempfile.TemporaryDirectory() as temporary:
        os.environ["TMPDIR"] = temporary  # where torchrun leaves a folder at every start
        os.environ["OMP_NUM_THREADS"] = "1"
        folder = pathlib.Path(temporary)
        if "toprun" in found:
            size_mib = os.path.getsize(found["toprun"][0]) / 2**20
            print(f"binary: {size_mib:.1f} MiB, {verdict(size_mib, TARGET_BINARY_MIB, 'MiB')}")
        print(f"\n{RANKS} ranks of `true`, {args.rounds} interleaved rounds; "
              f"load {os.getloadavg()[0]:.1f} on {os.cpu_count()} CPUs before")
        runs = start_up(found, args.rounds)
        memory = {name: launcher_memory(command) for name, command in found.items()}
        report_start(runs, memory)
        whole = output(found, folder, 1, LINES)
        report_output(whole, f"{LINES} lines of {LINE_BYTES} bytes from each of {RANKS} ranks")
        halves = output(found, folder, 2, LINES // 5)
        report_output(halves, f"{LINES // 5} lines, each written in two halves")
    if args.json:
        pathlib.Path(args.json).write_text(json.dumps(
            {"schema": "toprun.bench_launch/1", "start": runs, "memory_mib": memory,
             "output": whole, "output_in_halves": halves}, indent=2))


if __name__ == "__main__":
    main()
