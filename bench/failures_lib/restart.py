"""Restart in place with Gloo: a rank fails after one all_reduce, the others are in a loop of them."""

import time

import support

from . import jobs
from .cases import FAILED

START_LIMIT_S = 120    # until a rank fails, on a busy machine
RESTART_LIMIT_S = 60   # from there: a failed attempt of torchrun may hang for half an hour

TRAINS = """\
import os, time
def note(name, seconds):
    path = os.path.join(os.environ["ROOT"], name)
    with open(path + ".new", "w") as file:
        file.write(repr(seconds))
    os.rename(path + ".new", path)
def boot_time():
    return time.clock_gettime(time.CLOCK_BOOTTIME)
rank = int(os.environ["RANK"])
# torchrun's count of restarts is each node's own: here 0 on one and 1 on the other.
attempt = int(os.path.exists(os.path.join(os.environ["ROOT"], "failed")))
with open("/proc/self/stat") as file:
    ticks = int(file.read().rpartition(")")[2].split()[19])
note(f"started.{attempt}.{rank}", ticks / os.sysconf("SC_CLK_TCK"))
import torch, torch.distributed as dist
note(f"imported.{attempt}.{rank}", boot_time())
dist.init_process_group("gloo")
one = torch.ones(1)
dist.all_reduce(one)
note(f"reduced.{attempt}.{rank}", boot_time())
if attempt == 0:
    if rank == dist.get_world_size() - 1:
        time.sleep(0.2)  # all have noted theirs
        note("failed", boot_time())
        os._exit(1)
    while True:
        dist.all_reduce(one)
dist.destroy_process_group()
"""


def restarted(hosts, launcher, nodes):
    """{figure: value} of one try: whether it worked, and what it took."""
    with jobs.Job(hosts, launcher, nodes) as job:
        script = job.root / "trains.py"
        script.write_text(TRAINS)
        job.start(script, options=["--max-restarts", "1"])
        support.wait_until((job.root / "failed").exists, START_LIMIT_S, "a rank fails")
        deadline = time.monotonic() + RESTART_LIMIT_S
        codes = [run.ended(deadline - run.start)[1] for run in job.runs]
        ranks = range(nodes * jobs.NPROC)

        def notes(name):
            paths = [job.root / f"{name}.1.{rank}" for rank in ranks]
            return [float(path.read_text()) for path in paths if path.exists()]

        worked = codes == [0] * nodes and len(notes("reduced")) == len(ranks)
        if not worked:
            return {"worked": False, "exec": FAILED, "reduced": FAILED,
                    "text": "".join(run.text() for run in job.runs)}
        failed = float((job.root / "failed").read_text())
        return {"worked": True, "exec": max(notes("started")) - failed,
                "imported": max(notes("imported")) - failed,
                "reduced": max(notes("reduced")) - failed}


def two_nodes(hosts, launcher, _):
    return restarted(hosts, launcher, 2)


def one_node(hosts, launcher, _):
    return restarted(hosts, launcher, 1)
