"""The demo from its first line to its last."""

import argparse
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import textwrap
import time

from . import measure, stages, tables
from .jobs import DemoError, run_job

REDUCE_MIB = 16
REDUCE_STARTS = 2  # of each launcher, in turn, so that both see the same weather
REDUCE_BY_S = 100  # after the demo began no further turn begins: all is to end within 3 minutes
TORCHRUN_ROUNDS = 3  # of two seconds each
TOPRUN_ROUNDS = 15
ROOT = stages.TOOLS.parent

WIDTH = 96


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="demo", description=__doc__)
    parser.add_argument("--json", metavar="FILE", help="write the figures there as well")
    options = parser.parse_args(arguments)
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # ends as Ctrl-C does: cleaned up
    for name in [name for name in os.environ if name.startswith("SLURM_")]:
        del os.environ[name]  # of a job that we may run in: the demo's cluster is another
    os.chdir(ROOT)  # command lines below are those that a reader types in the repository
    try:
        with tempfile.TemporaryDirectory(prefix="toprun-demo-") as folder:
            os.environ["TMPDIR"] = folder  # torchrun leaves a folder behind at every start
            tell(options.json)
        return 0
    except DemoError as error:
        print(f"demo: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("demo: interrupted", file=sys.stderr)
        return 130


def tell(json_file: str | None) -> None:
    progress = Progress()
    load = os.getloadavg()[0]  # before we add to it
    launchers, version = find_launchers()
    stage = stages.choose(launchers, f"demo-{os.getpid()}", os.geteuid() == 0)
    progress.say(f"{stage.title}; PyTorch {version}")
    if stage.lacks:
        progress.say(stage.lacks)
    torchrun, toprun = play(stage, progress)
    progress.say("what the launchers themselves cost")
    cost(torchrun, launchers.torchrun(), TORCHRUN_ROUNDS)
    cost(toprun, [launchers.toprun], TOPRUN_ROUNDS)
    progress.say("done")
    notes = [stage.lacks] if stage.lacks else []
    if load > os.cpu_count():
        notes.append(
            f"this machine was busy when the demo began (load {load:.1f} on {os.cpu_count()} CPUs): "
            "what takes processor time took longer than it needs"
        )
    print(report(stage, torchrun, toprun, launchers, notes))
    if json_file:
        write_json(json_file, stage, torchrun, toprun)


class Progress:
    def __init__(self):
        self.began = time.monotonic()

    def seconds(self) -> float:
        return time.monotonic() - self.began

    def say(self, text: str) -> None:
        print(f"demo: {self.seconds():5.1f} s  {text}", file=sys.stderr, flush=True)


def find_launchers() -> tuple[stages.Launchers, str]:
    python = os.environ.get("PYTHON", "python3")
    path = shutil.which(python)
    if path is None:
        raise DemoError(f"no Python at '{python}': set PYTHON to one that has torch")
    # Not resolved: the link in a virtual environment is what makes it one.
    path = os.path.abspath(path)
    probe = [path, "-c", "import torch; print(torch.__version__)"]
    done = subprocess.run(probe, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise DemoError(f"{path} cannot import torch: set PYTHON to one that can")
    toprun = os.environ.get("TOPRUN", "build/release/toprun")
    if not os.access(toprun, os.X_OK):
        raise DemoError(f"no toprun at {toprun}: `make` builds it")
    return stages.Launchers(path, toprun), done.stdout.strip()


def play(stage, progress: Progress) -> tuple[tables.Run, tables.Run]:
    try:
        stage.open()
        progress.say("torchrun starts examples/topology.py")
        title = ["--title", "Standard (torchrun)"]
        torchrun = tables.Run(run_job(stage.torchrun("examples/topology.py", *title)))
        progress.say("toprun starts examples/topology.py")
        title = ["--title", "Sorted by topology (toprun)"]
        toprun = tables.Run(run_job(stage.toprun("examples/topology.py", *title)))
        if stage.has_network:
            all_reduces(stage, torchrun, toprun, progress)
        return torchrun, toprun
    finally:
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # a second Ctrl-C must not stop the cleaning
        stage.close()
        signal.signal(signal.SIGINT, signal.default_int_handler)


def all_reduces(stage, torchrun: tables.Run, toprun: tables.Run, progress: Progress) -> None:
    for turn in range(REDUCE_STARTS):
        if turn > 0 and progress.seconds() > REDUCE_BY_S:
            progress.say("one turn each is enough: this machine is slow")
            return
        progress.say(f"torchrun starts an all-reduce of {REDUCE_MIB} MiB on every rank")
        torchrun.reduce_rounds_s += all_reduce(stage.torchrun)
        progress.say("toprun starts the same")
        toprun.reduce_rounds_s += all_reduce(stage.toprun)
        torchrun.reduce_starts = toprun.reduce_starts = turn + 1


def all_reduce(start) -> list[float]:
    """Seconds of each round."""
    with tempfile.TemporaryDirectory() as folder:
        result = pathlib.Path(folder) / "result.json"
        flags = ["--backend", "gloo", "--size", f"{REDUCE_MIB}MiB", "--json", str(result)]
        run_job(start("examples/all_reduce.py", *flags))
        return json.loads(result.read_text())["seconds"]


def cost(run: tables.Run, launcher: list[str], rounds: int) -> None:
    run.launch_s = measure.launch_seconds(launcher, rounds)
    run.memory_bytes = measure.launcher_memory_bytes(launcher)


def report(stage, torchrun: tables.Run, toprun: tables.Run, launchers: stages.Launchers, notes) -> str:
    parts = [
        f"\n{stages.RANKS_PER_HOST} ranks on each of {stage.title}",
        torchrun.table.rstrip(),
        toprun.table.rstrip(),
        tables.comparison(torchrun, toprun, REDUCE_MIB << 20, stages.RANKS, stages.UPLINK_TEXT),
        textwrap.fill(method(len(torchrun.reduce_rounds_s), torchrun.reduce_starts), WIDTH),
        what_next(stage, launchers),
    ]
    parts[1:1] = [textwrap.fill(f"Note: {note}", WIDTH) for note in notes]
    return "\n\n".join(parts)


def method(reduce_rounds: int, reduce_starts: int) -> str:
    """How the figures above came about."""
    launches = (
        f"Launches: median of {TORCHRUN_ROUNDS} and {TOPRUN_ROUNDS}, on this machine alone; memory: "
        "highest of the launcher's own processes."
    )
    if reduce_rounds == 0:
        return launches
    turns = "of one start each, with Gloo" if reduce_starts == 1 else "each, with Gloo, in turn"
    return (
        "The hosts' names go from rack to rack in turn, which is the worst order for a ring: the "
        "factor is the most that an order can gain here, and a cluster whose names follow its racks "
        f"gains nothing. All-reduce: median of {reduce_rounds} rounds {turns}. "
        f"{launches}"
    )


def what_next(stage, launchers: stages.Launchers) -> str:
    toprun = shown(launchers.toprun)
    here = f"{toprun} --nproc-per-node 2 examples/train_ddp.py"
    lines = ["What to type next", f"    export PYTHON_EXEC={from_anywhere(launchers.python)}"]
    lines += ["  on this machine:", f"    {here}"]
    if stage.has_network:
        up = "tools/vcluster up --hosts 8 --racks 4 --uplink 400mbit"
        if stage.has_slurm:
            up += " --slurm"
            start = f"tools/vcluster exec ctl srun -N8 {here}"
        else:
            start = f"tools/vcluster run-all {toprun} --nnodes 8 --rdzv-endpoint n0:29500 examples/pi.py"
        lines += ["  on a virtual cluster of yours:", f"    {up}", f"    {start}"]
        lines.append("    tools/vcluster down")
    lines += ["  on a real one, in a Slurm job:", "    toprun train.py"]
    return "\n".join(lines)


def from_anywhere(path: str) -> str:
    """As a reader in the repository would type it, for a value that is used in other folders too."""
    return path if shown(path) == path else f"$PWD/{shown(path)}"


def shown(path: str) -> str:
    """As a reader in the repository would type it."""
    inside = pathlib.Path(path).is_relative_to(ROOT)
    return str(pathlib.Path(path).relative_to(ROOT)) if inside else path


def write_json(path: str, stage, torchrun: tables.Run, toprun: tables.Run) -> None:
    document = {"schema": "toprun.demo/1", "stage": stage.title, "lacks": stage.lacks}
    for name, run in (("torchrun", torchrun), ("toprun", toprun)):
        document[name] = {
            "racks": run.racks,
            "crossings": tables.crossings(run.racks),
            "all_reduce_rounds_s": run.reduce_rounds_s,
            "launch_s": run.launch_s,
            "memory_bytes": run.memory_bytes,
        }
    pathlib.Path(path).write_text(json.dumps(document, indent=1) + "\n")
