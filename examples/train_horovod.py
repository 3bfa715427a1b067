"""Trains a small network to recognise synthetic digits with Horovod, whose ranks MPI starts.

    toprun --launcher mpirun --ranks-per-node 4 train_horovod.py --output-dir out
"""

import argparse
import pathlib
import sys

import torch
from torch import nn
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

try:
    import horovod.torch as hvd
except ImportError as error:
    sys.exit(f"train_horovod.py: {error}: build Horovod for this PyTorch with "
             "`toprun setup --venv env --horovod torch`, and run with --venv env")


def digits():
    """Synthetic data: for each digit a fixed random image plus noise, with the digit as label."""
    generator = torch.Generator().manual_seed(0)
    pictures = torch.rand(10, 64, generator=generator)
    labels = torch.arange(2000) % 10
    return TensorDataset(pictures[labels] + 0.3 * torch.randn(2000, 64, generator=generator), labels)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--output-dir", type=pathlib.Path, default=pathlib.Path("."))
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--batch-size", type=int, default=16, help="images per step and process")
    parser.add_argument("--lr", type=float, default=0.01)
    args = parser.parse_args()

    hvd.init()
    device = torch.device(f"cuda:{hvd.local_rank()}" if torch.cuda.is_available() else "cpu")
    if device.type == "cuda":
        torch.cuda.set_device(device)
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 10)).to(device)
    # Each step averages over n times more images, so the learning rate is n times higher.
    optimizer = torch.optim.SGD(model.parameters(), lr=args.lr * hvd.size(), momentum=0.9)
    hvd.broadcast_parameters(model.state_dict(), root_rank=0)
    hvd.broadcast_optimizer_state(optimizer, root_rank=0)
    optimizer = hvd.DistributedOptimizer(optimizer, named_parameters=model.named_parameters())

    data = digits()
    sampler = DistributedSampler(data, num_replicas=hvd.size(), rank=hvd.rank())
    loader = DataLoader(data, args.batch_size, sampler=sampler)
    for epoch in range(args.epochs):
        sampler.set_epoch(epoch)
        for images, labels in loader:
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(model(images.to(device)), labels.to(device))
            loss.backward()
            optimizer.step()
        mean = hvd.allreduce(loss.detach(), name="loss").item()
        if hvd.rank() == 0:
            print(f"epoch {epoch + 1}/{args.epochs}  loss {mean:.4f}", flush=True)
    if hvd.rank() == 0:
        args.output_dir.mkdir(parents=True, exist_ok=True)
        torch.save(model.state_dict(), args.output_dir / "digits.pt")
    hvd.shutdown()


if __name__ == "__main__":
    main()
