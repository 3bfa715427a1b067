"""Steps of a model whose parameters are sharded by fully_shard (FSDP2) and by FullyShardedDataParallel
(FSDP1), beside the same steps in one process. Prints which of them this build of PyTorch allows.

    sharded_training.py
"""

import copy
import os

import torch
import torch.distributed as dist
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import FullyShardedDataParallel, fully_shard
from torch.distributed.tensor import DTensor

STEPS, BATCH = 2, 4


def network():
    torch.manual_seed(0)
    return torch.nn.Sequential(torch.nn.Linear(6, 9), torch.nn.ReLU(), torch.nn.Linear(9, 2)).double()


def fsdp2(mesh):
    model = network()
    for layer in model:
        if isinstance(layer, torch.nn.Linear):
            fully_shard(layer, mesh=mesh)
    fully_shard(model, mesh=mesh)
    assert all(isinstance(p, DTensor) and p.to_local().numel() < p.numel() for p in model.parameters())
    return model, lambda: {name: value.full_tensor() for name, value in model.state_dict().items()}


def fsdp1(mesh):
    model = FullyShardedDataParallel(network(), device_id=torch.device("cpu"))
    return model, lambda: whole(model)


def whole(model):
    with FullyShardedDataParallel.summon_full_params(model):
        return copy.deepcopy(dict(model.module.state_dict()))


def train(model, batches):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    for inputs in batches:
        model(inputs).square().mean().backward()
        optimizer.step()
        optimizer.zero_grad()


dist.init_process_group("gloo")
rank, ranks = dist.get_rank(), dist.get_world_size()
mesh = init_device_mesh("cpu", (ranks,))
data = torch.randn(STEPS, ranks * BATCH, 6, dtype=torch.float64,
                   generator=torch.Generator().manual_seed(1))
alone = network()
train(alone, data)
for kind in (fsdp2, fsdp1):
    model, weights = kind(mesh)
    train(model, data[:, rank * BATCH:(rank + 1) * BATCH])
    torch.testing.assert_close(dict(weights()), dict(alone.state_dict()))
    print(f"rank {rank}: {kind.__name__} equals one process", flush=True)
dist.destroy_process_group()
os._exit(0)  # without the interpreter's shutdown: examples/train_ddp.py says why
