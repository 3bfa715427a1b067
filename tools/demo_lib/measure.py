"""What a launcher itself costs: wall time and memory, on this machine, without a cluster."""

import os
import pathlib
import re
import statistics
import subprocess
import time

from .jobs import DemoError

WORKERS = 4
WORKER_LIMIT_S = 30
POLL_S = 0.01


def launch_seconds(launcher: list[str], rounds: int) -> float:
    """Median wall time of a launch of processes that do nothing."""
    command = [*launcher, f"--nproc-per-node={WORKERS}", "--no-python", "true"]
    return statistics.median(_seconds(command) for _ in range(rounds))


def _seconds(command: list[str]) -> float:
    began = time.monotonic()
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    seconds = time.monotonic() - began
    if done.returncode != 0:
        raise DemoError(f"exit code {done.returncode}: {' '.join(command)}: {done.stderr[-300:]}")
    return seconds


def launcher_memory_bytes(launcher: list[str]) -> int:
    """Peak resident memory of the launcher's own processes, its workers left out."""
    command = [*launcher, f"--nproc-per-node={WORKERS}", "--no-python", "sleep", "1"]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        tree = _tree_with_workers(process)
        return sum(_peak_bytes(pid) for pid, name in tree.items() if name != "sleep")
    finally:
        process.wait(WORKER_LIMIT_S)


def _tree_with_workers(process: subprocess.Popen) -> dict[int, str]:
    deadline = time.monotonic() + WORKER_LIMIT_S
    while process.poll() is None and time.monotonic() < deadline:
        tree = _tree(process.pid)
        if list(tree.values()).count("sleep") == WORKERS:
            return tree
        time.sleep(POLL_S)
    raise DemoError(f"{' '.join(process.args)}: its {WORKERS} workers were never seen")


def _tree(root: int) -> dict[int, str]:
    """Process id and program name of `root` and all below it."""
    parents, names = {}, {}
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            try:
                stat = pathlib.Path(f"/proc/{entry}/stat").read_text()
            except OSError:
                continue
            name, rest = re.fullmatch(r"\d+ \((.*)\) (.*)\n", stat, re.DOTALL).groups()
            parents[int(entry)], names[int(entry)] = int(rest.split()[1]), name
    found = {root}
    while below := {pid for pid, parent in parents.items() if parent in found} - found:
        found |= below
    return {pid: names[pid] for pid in found if pid in names}


def _peak_bytes(pid: int) -> int:
    try:
        text = pathlib.Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return 0
    match = re.search(r"VmHWM:\s+(\d+) kB", text)
    return int(match[1]) * 1024 if match else 0
