"""A DistributedDataParallel training under @record, in which one rank meets a bad batch.

    recorded_failure.py RANK_THAT_RAISES
"""

import sys

import torch
import torch.distributed as dist
from torch.distributed.elastic.multiprocessing.errors import record
from torch.nn.parallel import DistributedDataParallel

BAD_STEP = 3


@record
def main():
    dist.init_process_group("gloo")
    torch.manual_seed(0)
    model = DistributedDataParallel(torch.nn.Linear(4, 2))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for step in range(1000):
        if step == BAD_STEP and dist.get_rank() == int(sys.argv[1]):
            raise ValueError(f"step {step}: a label is out of range")
        model(torch.randn(8, 4)).square().mean().backward()
        optimizer.step()
        optimizer.zero_grad()


if __name__ == "__main__":
    main()
