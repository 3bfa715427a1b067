"""A training with long phases in which no rank says a word: python quiet_training.py FOLDER MINUTES PHASE_S

In each phase one rank works alone while the others wait for it in a barrier, or all work and then meet. Each is
longer than the time limit under which bench/quiet.py runs it.
"""

import json
import os
import pathlib
import random
import re
import subprocess
import sys
import time

import torch
import torch.distributed as dist

folder, minutes, phase_s = pathlib.Path(sys.argv[1]), float(sys.argv[2]), float(sys.argv[3])
rank = int(os.environ["RANK"])


def until_over(work):
    end = time.monotonic() + phase_s
    while time.monotonic() < end:
        work()


def python_work():
    records = [{"id": i, "text": f"{i * 7919:x} " * 8, "weight": random.random()} for i in range(2_000)]
    records.sort(key=lambda record: record["weight"])
    words = [word for record in records for word in re.findall(r"[0-9a-f]+", record["text"])]
    json.loads(json.dumps(records))
    return len(set(words))


def computes_in_python():
    until_over(python_work)


def computes_in_torch():
    a = torch.rand(500, 500)
    until_over(lambda: a @ a)


def computes_in_one_call():
    """An hour in one call of a library, in small: Python stands on one line, and its lock is free."""
    size = 3_000
    a = torch.rand(size, size)
    begun = time.monotonic()
    a @ a
    each = time.monotonic() - begun
    torch.linalg.multi_dot([a] * max(3, int(phase_s / each)))


def writes_a_checkpoint():
    state = {f"layer{i}": torch.rand(1_000, 1_000) for i in range(8)}
    path = folder / f"checkpoint{rank}"

    def save():
        with open(path, "wb") as file:
            torch.save(state, file)
            os.fsync(file.fileno())

    until_over(save)
    path.unlink()


def compiles():
    """As an extension is: by a compiler that runs below the rank."""
    source = folder / f"kernel{rank}.cc"
    source.write_text("#include <regex>\n#include <map>\n#include <string>\nstd::map<std::string, std::regex> all;\n" +
                      "".join(f"int f{i}(int x) {{ return std::regex_match(std::to_string(x), all[\"{i}\"]); }}\n"
                              for i in range(200)))
    until_over(lambda: subprocess.run(["g++", "-O2", "-c", source, "-o", source.with_suffix(".o")], check=True))


def loads_data():
    def samples():
        for _ in range(40):
            python_work()
            yield torch.rand(10, 10)

    class Data(torch.utils.data.IterableDataset):
        def __iter__(self):
            return samples()

    def load():
        for _ in torch.utils.data.DataLoader(Data(), num_workers=1, batch_size=40):
            pass

    until_over(load)


def evaluates():
    model = torch.nn.Sequential(torch.nn.Linear(200, 400), torch.nn.ReLU(), torch.nn.Linear(400, 10))

    def batch():
        with torch.no_grad():
            model(torch.rand(64, 200)).argmax(1).tolist()

    until_over(batch)


PHASES = [computes_in_python, computes_in_torch, computes_in_one_call, writes_a_checkpoint, compiles, loads_data,
          evaluates]


def trains(steps):
    for _ in range(steps):
        dist.all_reduce(torch.ones(10_000))


def main():
    dist.init_process_group("gloo")
    end = torch.tensor([time.time() + 60 * minutes])
    turn = 0
    while True:
        for phase in PHASES:
            trains(20)
            over = torch.tensor([float(time.time() > end.item())])
            dist.broadcast(over, 0)
            if over.item():
                dist.destroy_process_group()
                return
            # Rank 0 alone, another alone, then all of them.
            alone = [0, 1 + turn // 3 % (dist.get_world_size() - 1), None][turn % 3]
            if rank == 0:
                with open(folder / "phases", "a", encoding="utf-8") as file:
                    file.write(f"{time.strftime('%H:%M:%S')} {phase.__name__} "
                               f"{'all ranks' if alone is None else f'rank {alone} alone'}\n")
            if alone in (None, rank):
                phase()
            dist.barrier()
        turn += 1


main()
