"""Trains a model and survives restarts: each epoch ends with a checkpoint, and each start loads it.

    toprun --nproc-per-node 4 --max-restarts 3 train_resume.py --output-dir out

Kill a rank while it runs: all ranks start again and resume after the last complete epoch.
"""

import argparse
import os
import pathlib
import sys

import torch
import torch.distributed as dist
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


def samples():
    inputs = torch.randn(2048, 16, generator=torch.Generator().manual_seed(0))
    return TensorDataset(inputs, inputs.square().sum(dim=1, keepdim=True).sqrt())


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--output-dir", type=pathlib.Path, default=pathlib.Path("."))
    parser.add_argument("--epochs", type=int, default=20)
    args = parser.parse_args()
    if "RANK" not in os.environ:
        sys.exit("train_resume.py: RANK is not set: start it with toprun or torchrun")
    dist.init_process_group("gloo")
    torch.manual_seed(0)
    model = torch.nn.parallel.DistributedDataParallel(torch.nn.Sequential(
        torch.nn.Linear(16, 64), torch.nn.ReLU(), torch.nn.Linear(64, 1)))
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    done, checkpoint = 0, args.output_dir / "last.pt"
    if checkpoint.exists():  # all ranks read it, so it must be on a shared file system
        state = torch.load(checkpoint)
        model.module.load_state_dict(state["model"])
        optimizer.load_state_dict(state["optimizer"])
        done = state["epochs"]
    loader = DataLoader(data := samples(), batch_size=16, sampler=DistributedSampler(data))
    for epoch in range(done, args.epochs):
        loader.sampler.set_epoch(epoch)
        for inputs, targets in loader:
            loss = torch.nn.functional.mse_loss(model(inputs), targets)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        if dist.get_rank() == 0:
            args.output_dir.mkdir(parents=True, exist_ok=True)
            torch.save({"model": model.module.state_dict(), "optimizer": optimizer.state_dict(),
                        "epochs": epoch + 1}, partial := checkpoint.with_suffix(".new"))
            partial.replace(checkpoint)  # atomic: no reader sees half a checkpoint
            print(f"epoch {epoch + 1}/{args.epochs}  loss {loss.item():.4f}", flush=True)
    dist.destroy_process_group()
    os._exit(0)  # train_ddp.py explains why


if __name__ == "__main__":
    main()
