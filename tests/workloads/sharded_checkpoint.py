"""A checkpoint of torch.distributed.checkpoint, saved by so many ranks and loaded by others.

    sharded_checkpoint.py save|load FOLDER
"""

import os
import sys

import torch
import torch.distributed as dist
import torch.distributed.checkpoint as checkpoint
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor import Replicate, Shard, distribute_tensor

ROWS = 10  # neither 4 nor 3 ranks divide them


def state(mesh, rows, column, step):
    return {"rows": distribute_tensor(rows, mesh, [Shard(0)]),
            "column": distribute_tensor(column, mesh, [Replicate()]), "step": step}


action, folder = sys.argv[1:]
dist.init_process_group("gloo")
mesh = init_device_mesh("cpu", (dist.get_world_size(),))
rows, column = torch.arange(ROWS * 3.0).reshape(ROWS, 3), torch.linspace(0, 1, 5)
if action == "save":
    checkpoint.save(state(mesh, rows, column, step=41), checkpoint_id=folder)
else:
    loaded = state(mesh, torch.zeros_like(rows), torch.zeros_like(column), step=0)
    checkpoint.load(loaded, checkpoint_id=folder)
    assert loaded["step"] == 41, loaded
    torch.testing.assert_close(loaded["rows"].full_tensor(), rows)
    torch.testing.assert_close(loaded["column"].full_tensor(), column)
    ours = loaded["rows"].to_local()
    assert len(ours) < ROWS and (dist.get_rank() > 0 or torch.equal(ours, rows[:len(ours)])), ours
print(f"rank {dist.get_rank()} of {dist.get_world_size()}: {action} done", flush=True)
dist.destroy_process_group()
os._exit(0)  # without the interpreter's shutdown: examples/train_ddp.py says why
