"""Ranks in a loop of all_reduce, one of which exits; in the next attempt another one does.

    restart_loop.py RANK_THAT_EXITS_IN_ATTEMPT_0,…IN_ATTEMPT_1,…

Each attempt fails with an exit code of its own: toprun gives up after three failures of one kind
within a second of their start, and on a fast machine PyTorch is imported within a second.
"""

import os
import sys

import torch
import torch.distributed as dist

FIRST_EXIT_CODE, ROUNDS = 3, 20

attempt = int(os.environ["TOPRUN_ATTEMPT"])
who_exits = [int(rank) for rank in sys.argv[1].split(",")]
dist.init_process_group("gloo")
rank = dist.get_rank()
total = torch.tensor([100.0 * attempt + rank])
dist.all_reduce(total)
print(f"attempt {attempt} restarts {os.environ['TORCHELASTIC_RESTART_COUNT']} rank {rank} "
      f"sum {total.item():g}", flush=True)
if attempt < len(who_exits):
    step = 0
    while True:
        if step == ROUNDS and rank == who_exits[attempt]:
            os._exit(FIRST_EXIT_CODE + attempt)
        dist.all_reduce(total)
        step += 1
dist.destroy_process_group()
os._exit(0)  # without the interpreter's shutdown: examples/train_ddp.py says why
