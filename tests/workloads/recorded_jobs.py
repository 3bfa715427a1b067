"""Real PyTorch jobs of many shapes, each healthy and with one defect, and what the flight recorders of their ranks
say when nothing moves any more.

    recorded_jobs.py FOLDER [SHAPE ...]

Each job is forked from this process, which has imported torch once. FOLDER/raw/SHAPE.CASE/rank_N.pickle is a rank's
dump as PyTorch gives it, rank_N.json what the dump does not tell: the members of its groups, and its sends and receives,
which Gloo does not record. What follows from them is recorded_forms.py's.
"""

import collections
import contextlib
import dataclasses
import datetime
import faulthandler
import gc
import json
import os
import pathlib
import pickle
import select
import sys
import threading
import time

os.environ["TORCH_FR_BUFFER_SIZE"] = "2000"
os.environ["GLOO_SOCKET_IFNAME"] = "lo"
os.environ["OMP_NUM_THREADS"] = "1"

import torch  # noqa: E402
import torch.distributed as dist  # noqa: E402

import recorded_forms  # noqa: E402
import recorded_shapes  # noqa: E402

DUMP, END = b"?", b"."  # what a rank is asked
AT_ONCE = 4  # jobs: they sleep most of the time
LOOKS = 30  # after each first one
BETWEEN_LOOKS_S = 0.1
SOCKETS = "gloo_tcp_loop"  # the name of a thread of Gloo that never sleeps for long
TURNS = 5  # of that thread: what had come before the first look is done
LIMIT_S = 300  # of one job, on a machine that does much else


class Notes:
    """What the recorder does not tell of a rank."""

    def __init__(self):
        self.groups = {}
        self.transfers = []  # by their order: how many collectives were recorded before
        self.batches = 0
        self.wrap()

    def wrap(self):
        make = dist.distributed_c10d._new_process_group_helper

        def makes(*args, **options):
            made = make(*args, **options)
            group = made[0]
            if group is not dist.GroupMember.NON_GROUP_MEMBER:
                ranks = args[2] or list(range(args[0]))
                self.groups.setdefault(f"{group.group_name}", []).append([group.group_desc, ranks])
            return made

        dist.distributed_c10d._new_process_group_helper = makes
        group_class = dist.ProcessGroup
        for name in ("send", "recv"):
            self.wrap_transfer(group_class, name)
        batch = dist.distributed_c10d.batch_isend_irecv

        def batches(operations):
            self.batches += 1
            self.in_batch = True
            try:
                return batch(operations)
            finally:
                self.in_batch = False

        dist.batch_isend_irecv = dist.distributed_c10d.batch_isend_irecv = batches
        self.in_batch = False

    def wrap_transfer(self, group_class, name):
        real = getattr(group_class, name)

        def transfers(group, tensors, peer, tag):
            mine = group.rank()
            self.transfers.append({
                "before": recorded_calls(), "group": group.group_name, "description": group.group_desc,
                "name": f"send {mine}->{peer}" if name == "send" else f"recv {mine}<-{peer}",
                "sizes": [list(one.shape) for one in tensors],
                "batch": self.batches if self.in_batch else None})
            work = real(group, tensors, peer, tag)
            self.transfers[-1]["work"] = work
            return work

        setattr(group_class, name, transfers)

    def text(self):
        transfers = [{**one, "work": None, "ended": one.get("work") is not None and one["work"].is_completed()}
                     for one in self.transfers]
        return json.dumps({"groups": self.groups, "transfers": transfers})


def recorded():
    """The dump, without stacks: to find their names takes a second of each rank."""
    return torch._C._distributed_c10d._dump_fr_trace(True, False, False)


def recorded_calls():
    return len(pickle.loads(recorded())["entries"])


class Case:
    """A rank of a job. `defect`: of the odd rank."""

    def __init__(self, rank, world, store, defect, odd):
        self.rank, self.world, self.store, self.defect, self.odd = rank, world, store, defect, odd
        self.is_odd = defect is not None and rank == odd

    def join(self, store=None):
        dist.init_process_group("gloo", store=store or self.store, rank=self.rank, world_size=self.world,
                                timeout=datetime.timedelta(minutes=10))

    def hold(self):
        """The rank does not come any further."""
        threading.Event().wait()

    def odd_holds(self):
        if self.is_odd:
            self.hold()


def play(shape, rank, defect, folder, ask, told):
    """The child's whole life. It ends by a signal, or by itself where that is the defect."""
    def dumps():
        while os.read(ask, 1) == DUMP:
            (folder / f"rank_{rank}.pickle").write_bytes(recorded())
            (folder / f"rank_{rank}.json").write_text(notes.text())
            os.write(told, b".")
        os._exit(0)

    notes = Notes()
    os.environ["STORE_TWICE"] = str(folder / "again")
    log = os.open(folder / f"rank_{rank}.log", os.O_WRONLY | os.O_CREAT)
    os.dup2(log, 1)
    os.dup2(log, 2)
    faulthandler.enable()
    threading.Thread(target=dumps, daemon=True).start()
    case = Case(rank, shape.world, dist.FileStore(str(folder / "store"), shape.world), defect, shape.odd)
    try:
        case.join()
        shape.play(case)
        print("done", flush=True)
    except Exception as error:  # where another one died
        print(type(error).__name__, error, flush=True)
    threading.Event().wait()


def threads_of(pid):
    """By thread: its name, whether it sleeps, and how often it has left the processor; None: the process has ended."""
    threads = {}
    try:
        for thread in os.listdir(f"/proc/{pid}/task"):
            lines = dict(line.split(":\t", 1) for line in
                         pathlib.Path(f"/proc/{pid}/task/{thread}/status").read_text().splitlines() if ":\t" in line)
            if lines["State"][0] == "Z":
                return None
            turns = int(lines["voluntary_ctxt_switches"]) + int(lines["nonvoluntary_ctxt_switches"])
            threads[int(thread)] = (lines["Name"], lines["State"][0] == "S", turns)
    except OSError:
        return None
    return threads


def has_been_idle(first, now):
    """Whether nothing that this process does can be the end of anything: all its threads have slept all the time, but
    the one that looks at Gloo's sockets again and again. That one has had its turn several times, and woke no other."""
    if first is None or now is None:
        return first is now
    if first.keys() != now.keys():
        return False
    return all(now[thread][2] >= before[2] + TURNS if before[0].startswith(SOCKETS) else
               before[1] and now[thread] == before for thread, before in first.items())


def wait_until_nothing_moves(pids, shape):
    begun = time.monotonic()
    while time.monotonic() - begun < LIMIT_S:
        first = [threads_of(pid) for pid in pids]
        for _ in range(LOOKS):
            time.sleep(BETWEEN_LOOKS_S)
            if all(map(has_been_idle, first, map(threads_of, pids))):
                return
    sys.exit(f"{shape}: still moves after {LIMIT_S} s")


class Job:
    def __init__(self, shape, case, folder):
        self.shape, self.name = shape, f"{shape.name}.{case}"
        self.defect = None if case == "healthy" else shape.defect
        folder = folder / self.name
        folder.mkdir(parents=True)
        self.ranks = {rank: self.begin(rank, folder) for rank in range(shape.world)}

    def begin(self, rank, folder):
        ask, asks = os.pipe()
        tells, told = os.pipe()
        pid = os.fork()
        if pid == 0:
            try:
                play(self.shape, rank, self.defect, folder, ask, told)
            finally:
                os._exit(1)
        os.close(ask)
        os.close(told)
        return pid, asks, tells

    def collect(self):
        wait_until_nothing_moves([pid for pid, _, _ in self.ranks.values()], self.name)
        for rank, (pid, asks, tells) in self.ranks.items():
            is_silent = self.defect == "no_dump" and rank == self.shape.odd
            if is_silent or threads_of(pid) is None:
                continue
            os.write(asks, DUMP)
            if not select.select([tells], [], [], LIMIT_S)[0]:
                sys.exit(f"{self.name}: rank {rank} gives no dump")

    def end(self):
        for _, asks, tells in self.ranks.values():
            with contextlib.suppress(BrokenPipeError):  # the rank that died
                os.write(asks, END)
            os.close(asks)
            os.close(tells)
        for pid, _, _ in self.ranks.values():
            os.waitpid(pid, 0)


def main():
    folder, names = pathlib.Path(sys.argv[1]), sys.argv[2:]
    gc.freeze()  # its visits would copy the pages that all ranks share
    play_all(folder / "raw", names)
    (folder / "shapes.json").write_text(json.dumps(
        [{key: value for key, value in dataclasses.asdict(shape).items() if key != "play"}
         for shape in recorded_shapes.SHAPES]))
    recorded_forms.write_forms(folder)
    recorded_forms.analyse_all(folder)


def play_all(folder, names):
    cases = [(shape, case) for shape in recorded_shapes.SHAPES if not names or shape.name in names
             for case in ("healthy", "defect")]
    running = collections.deque()
    try:
        while cases or running:
            while cases and len(running) < AT_ONCE:
                running.append(Job(*cases.pop(0), folder))
            running[0].collect()
            running.popleft().end()
    finally:
        for job in running:
            job.end()


if __name__ == "__main__":
    main()
