"""Computes π by the trapezoid rule. All ranks share the interval.

    toprun --nproc-per-node 20 pi.py

π is the integral of 4 / (1 + x²) from 0 to 1. With n equal steps the error is 1 / 6n².
"""

import argparse
import math
import os
import sys
import time

import torch
import torch.distributed as dist

CHUNK = 1_000_000  # points per vector operation: 8 MB


def integrand(x):
    return 4 / (1 + x * x)


def trapezoid(first, last, h):
    """Area under the curve from first·h to last·h in steps of h. The two end points count half."""
    if first == last:
        return 0.0
    ends = torch.tensor([first * h, last * h], dtype=torch.float64)
    total = integrand(ends).sum().item() / 2
    for start in range(first + 1, last, CHUNK):
        points = torch.arange(start, min(start + CHUNK, last), dtype=torch.float64)
        total += integrand(points * h).sum().item()
    return total * h


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=10_000_000)
    args = parser.parse_args()
    if args.steps < 1:
        parser.error(f"--steps {args.steps}: must be 1 or more")

    if "RANK" not in os.environ:
        sys.exit("pi.py: RANK is not set: start it with toprun or torchrun")
    dist.init_process_group("gloo")
    rank, ranks = dist.get_rank(), dist.get_world_size()

    dist.barrier()
    start = time.perf_counter()
    # Each rank's part begins where the previous part ends: no step is lost if n is not divisible.
    first, last = args.steps * rank // ranks, args.steps * (rank + 1) // ranks
    area = torch.tensor(trapezoid(first, last, 1 / args.steps), dtype=torch.float64)
    dist.all_reduce(area)
    seconds = time.perf_counter() - start

    estimate = area.item()
    error = abs(estimate - math.pi)
    if rank == 0:
        print(f"pi = {estimate:.12f}  error {error:.1e}  "
              f"({args.steps} steps, {ranks} ranks, {seconds:.3f} s)", flush=True)
    dist.destroy_process_group()
    assert error < 1e-9, f"the estimate is off by {error:.1e}: take more steps"


if __name__ == "__main__":
    main()
