"""What the ranks of gpu_check's jobs run: ranks.py KIND FOLDER. On one GPU each rank is a host of its own to NCCL
(NCCL_HOSTID), because NCCL refuses two ranks of one host on one GPU; the ranks then talk over sockets."""

import datetime
import json
import os
import pathlib
import subprocess
import sys
import threading
import time

KIND, FOLDER = sys.argv[1], pathlib.Path(sys.argv[2])
RANK, WORLD = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
ATTEMPT = int(os.environ.get("TORCHELASTIC_RESTART_COUNT", 0))
GUILTY = WORLD - 1
os.environ["NCCL_HOSTID"] = f"gpu-check-{os.environ.get('TORCHELASTIC_RUN_ID', '')}-{RANK}"

import torch  # noqa: E402  (after NCCL_HOSTID)
import torch.distributed as dist  # noqa: E402

ON_GPU = os.environ["GPU_CHECK_DEVICE"] == "cuda"
DEVICE = torch.device("cuda", 0) if ON_GPU else torch.device("cpu")
TIMEOUT = datetime.timedelta(seconds=int(os.environ.get("GPU_CHECK_TIMEOUT_S", 300)))
LONG_S = 600


def join():
    if ON_GPU:
        torch.cuda.set_device(DEVICE)
    dist.init_process_group("nccl" if ON_GPU else "gloo", timeout=TIMEOUT)


def waits():
    if ON_GPU:
        torch.cuda.synchronize()


def numbers(count=4, dtype=torch.float32):
    return torch.ones(count, dtype=dtype, device=DEVICE)


def say(**fields):
    print(json.dumps({"rank": RANK, "attempt": ATTEMPT, **fields}), flush=True)


def train():
    """DDP beside the same steps in one process on all of the data."""
    join()
    say(apart=apart_after_five_steps(), gpu=torch.cuda.get_device_name(0) if ON_GPU else None,
        visible=os.environ.get("CUDA_VISIBLE_DEVICES"), local_rank=os.environ["LOCAL_RANK"])
    dist.destroy_process_group()
    # DDP keeps Gloo's threads even so. If they still run when Python ends, C++ aborts the rank.
    os._exit(0)


def apart_after_five_steps():
    torch.manual_seed(0)
    model = torch.nn.Linear(32, 1).to(DEVICE)
    alone = torch.nn.Linear(32, 1).to(DEVICE)
    alone.load_state_dict(model.state_dict())
    ddp = torch.nn.parallel.DistributedDataParallel(model, device_ids=[0] if ON_GPU else None)
    data = torch.randn(8 * WORLD, 32, device=DEVICE)
    for net, part in ((ddp, data[RANK::WORLD]), (alone, data)):
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        for _ in range(5):
            optimizer.zero_grad()
            net(part).square().mean().backward()
            optimizer.step()
    return max((a - b).abs().max().item() for a, b in zip(model.parameters(), alone.parameters()))


def fails_once():
    """A device-side assertion in the first attempt, which leaves the CUDA context of the process unusable."""
    join()
    if ATTEMPT == 0 and RANK == GUILTY:
        if ON_GPU:
            torch.zeros(4, device=DEVICE)[torch.tensor([9], device=DEVICE)].sum().item()
        raise RuntimeError("CUDA error: device-side assert triggered (a stand-in without a GPU)")
    dist.all_reduce(numbers())
    waits()
    say(done=True)
    dist.destroy_process_group()


def is_killed():
    join()
    dist.all_reduce(numbers())
    waits()
    if RANK == GUILTY:
        os.kill(os.getpid(), 9)
    time.sleep(LONG_S)


def times():
    """Milliseconds of an all_reduce, by size in bytes, as PyTorch alone has them."""
    join()
    took = {}
    for size in map(int, os.environ["GPU_CHECK_SIZES"].split(",")):
        tensor, rounds = torch.ones(size // 4, device=DEVICE), 20
        for turn in range(2 * rounds):
            if turn == rounds:
                waits()
                dist.barrier()
                waits()
                began = time.perf_counter()
            dist.all_reduce(tensor)
        waits()
        took[size] = (time.perf_counter() - began) / rounds * 1_000
    if RANK == 0:
        say(ms=took)
    dist.destroy_process_group()


def works():
    """Keeps its device busy and holds two GiB until the file `end` is there."""
    held = torch.ones((1 << 29) if ON_GPU else (1 << 20), device=DEVICE)
    a = torch.rand(4096 if ON_GPU else 64, 4096 if ON_GPU else 64, device=DEVICE)
    (FOLDER / f"ready{RANK}").touch()
    while not (FOLDER / "end").exists():
        for _ in range(20):
            a = (a @ a).clamp(0, 1)
        waits()
        if not ON_GPU:
            time.sleep(0.01)
    say(held=held.numel())


def waits_for_the_gpu():
    """Its main thread is in cudaStreamSynchronize."""
    (FOLDER / f"ready{RANK}").touch()
    if ON_GPU:
        torch.cuda._sleep(int(1e9) * LONG_S)
        torch.cuda.synchronize()  # waits for the GPU
    else:
        threading.Event().wait(LONG_S)  # waits for the GPU


class Stuck(torch.utils.data.Dataset):
    def __len__(self):
        return 4

    def __getitem__(self, i):
        if i == 2:
            time.sleep(LONG_S)
        return torch.zeros(1)


def loads():
    for _ in torch.utils.data.DataLoader(Stuck(), num_workers=1):
        pass


def locks():
    lock = threading.Lock()
    lock.acquire()
    lock.acquire()


def spins():
    n = 0
    while True:
        n += 1


def hangs(kind):
    """The guilty rank does something else than its part; the others wait."""
    if kind == "init" and RANK == GUILTY:
        begun()
        time.sleep(LONG_S)
    join()
    for _ in range(3):
        dist.all_reduce(numbers())
    waits()
    if RANK == GUILTY:
        begun()
        {"sleeps": lambda: time.sleep(LONG_S), "spins": spins, "locks": locks, "loads": loads,
         "child": lambda: subprocess.run(["sleep", str(LONG_S)]),
         "stopped": lambda: time.sleep(1),
         "kernel": lambda: torch.cuda._sleep(int(1e9) * LONG_S),
         "recv": lambda: time.sleep(LONG_S)}.get(kind, lambda: None)()
    if kind == "order":
        calls = [lambda: dist.broadcast(numbers(), 0), lambda: dist.all_reduce(numbers())]
        for call in calls if RANK == GUILTY else reversed(calls):
            call()
            waits()
    elif kind == "recv":
        dist.recv(numbers(), GUILTY)
    elif kind == "size":
        dist.all_reduce(numbers(400_000 if RANK != GUILTY else 4_000))
    elif kind == "type":
        dist.all_reduce(numbers(dtype=torch.float32 if RANK != GUILTY else torch.float64))
    elif kind == "stopped":
        while True:
            dist.all_reduce(numbers())
            waits()
            time.sleep(0.01)
    else:
        dist.all_reduce(numbers())
    waits()
    if kind in ("size", "type"):
        dist.all_reduce(numbers())
        waits()
        say(done=True)  # NCCL has not minded


def begun():
    (FOLDER / "guilty").write_text(str(os.getpid()))
    (FOLDER / "guilty").rename(FOLDER / "begun")


if KIND.startswith("hang:"):
    hangs(KIND.removeprefix("hang:"))
else:
    {"train": train, "fails_once": fails_once, "is_killed": is_killed, "times": times, "works": works,
     "waits_for_the_gpu": waits_for_the_gpu}[KIND]()
