"""Measures how fast all ranks all-reduce one tensor: time, algbw and busbw.

    toprun all_reduce.py                    16 MiB with Gloo on CPUs, 4 GB with NCCL on GPUs
    toprun all_reduce.py --size 256MiB --iterations 20 --json result.json

algbw is bytes / time. busbw is algbw · 2(n−1)/n for n ranks: the bandwidth that each link of a ring
needs. Compare busbw with the bandwidth of the hardware. It does not depend on the number of ranks.
"""

import argparse
import json
import os
import re
import statistics
import sys
import time

import torch
import torch.distributed as dist

UNITS = {"": 1, "B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9,
         "KIB": 2**10, "MIB": 2**20, "GIB": 2**30}


def size(text):
    """Bytes of `16MiB`, `4GB` or a plain number; a whole number of float32."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([A-Za-z]*)", text)
    if not match or match[2].upper() not in UNITS:
        raise argparse.ArgumentTypeError(f"{text!r} is not a size such as 16MiB, 4GB or 1000000")
    count = int(float(match[1]) * UNITS[match[2].upper()]) // 4
    if count == 0:
        raise argparse.ArgumentTypeError(f"{text!r} is less than one float32 (4 bytes)")
    return count * 4


def at_least_one(text):
    if not text.isdigit() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of 1 or more")
    return int(text)


def timed_all_reduce(tensor, device):
    """Seconds that one all-reduce takes on this rank; all ranks start together."""
    dist.barrier()
    if device.type == "cuda":
        torch.cuda.synchronize()
    start = time.perf_counter()
    dist.all_reduce(tensor)
    if device.type == "cuda":
        torch.cuda.synchronize()
    return time.perf_counter() - start


def check(tensor, rank, ranks):
    """Ends the program if the sum of an all-reduce is wrong: its speed would then mean nothing."""
    tensor.fill_(rank + 1)
    dist.all_reduce(tensor)
    expected = ranks * (ranks + 1) / 2
    if not torch.all(tensor == expected):
        sys.exit(f"all_reduce.py: rank {rank}: the sum is wrong, not {expected:g} everywhere")
    tensor.zero_()  # zeros stay zeros however often they are added


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--size", type=size, help="of the tensor on each rank, such as 16MiB")
    parser.add_argument("--warmup", type=at_least_one, default=2, help="rounds that do not count")
    parser.add_argument("--iterations", type=at_least_one, default=5, help="rounds that do")
    parser.add_argument("--backend", choices=["gloo", "nccl"], help="default: nccl with GPUs")
    parser.add_argument("--json", metavar="FILE", help="write the result there as well")
    args = parser.parse_args()

    if "RANK" not in os.environ:
        sys.exit("all_reduce.py: RANK is not set: start it with toprun or torchrun")
    backend = args.backend or ("nccl" if torch.cuda.is_available() else "gloo")
    device = torch.device("cpu")
    if backend == "nccl":
        device = torch.device("cuda", int(os.environ["LOCAL_RANK"]) % torch.cuda.device_count())
        torch.cuda.set_device(device)
    dist.init_process_group(backend)
    rank, ranks = dist.get_rank(), dist.get_world_size()

    nbytes = args.size or (4 * 10**9 if backend == "nccl" else 16 * 2**20)
    tensor = torch.empty(nbytes // 4, dtype=torch.float32, device=device)
    check(tensor, rank, ranks)
    for _ in range(args.warmup):
        timed_all_reduce(tensor, device)
    seconds = torch.tensor([timed_all_reduce(tensor, device) for _ in range(args.iterations)],
                           dtype=torch.float64, device=device)
    dist.all_reduce(seconds, op=dist.ReduceOp.MAX)  # a round ends when its last rank is done

    if rank == 0:
        median = statistics.median(seconds.tolist())
        algbw = nbytes / median / 1e9
        busbw = algbw * 2 * (ranks - 1) / ranks
        print(f"all-reduce of {nbytes / 2**20:.4g} MiB over {ranks} ranks ({backend}), "
              f"median of {args.iterations}: {median * 1e3:.3f} ms\n"
              f"  algbw {algbw:8.3f} GB/s = {algbw * 8:9.3f} Gbps\n"
              f"  busbw {busbw:8.3f} GB/s = {busbw * 8:9.3f} Gbps", flush=True)
        if args.json:
            with open(args.json, "w") as file:
                json.dump({"schema": "toprun.all_reduce/1", "backend": backend, "ranks": ranks,
                           "bytes": nbytes, "iterations": args.iterations,
                           "seconds": seconds.tolist(), "median_s": median,
                           "algbw_gb_per_s": algbw, "busbw_gb_per_s": busbw}, file, indent=2)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
