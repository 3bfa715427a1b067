"""Trains a small network to read handwritten digits, in one process.

    python train_single.py --output-dir out

train_ddp.py does the same on many ranks. `diff train_single.py train_ddp.py` shows what differs.
"""

import argparse
import gzip
import pathlib
import sys

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def read_idx(folder, name):
    """Reads one of MNIST's four files in IDX format, compressed or not."""
    path = folder / name
    if path.exists():
        data = path.read_bytes()
    elif (packed := folder / f"{name}.gz").exists():
        data = gzip.decompress(packed.read_bytes())
    else:
        sys.exit(f"{path}: no such file, nor {name}.gz: --data is the folder of MNIST's four files")
    dimensions = data[3]
    shape = [int.from_bytes(data[4 + 4 * i:8 + 4 * i], "big") for i in range(dimensions)]
    return torch.frombuffer(bytearray(data[4 + 4 * dimensions:]), dtype=torch.uint8).reshape(shape)


def load_digits(folder):
    """Returns the training set and the held-out set: images of one channel (0 to 1) with their digits."""
    if folder:
        return [TensorDataset(read_idx(folder, f"{part}-images-idx3-ubyte").unsqueeze(1) / 255,
                              read_idx(folder, f"{part}-labels-idx1-ubyte").long())
                for part in ("train", "t10k")]
    try:
        from sklearn import datasets
    except ImportError:
        sys.exit("scikit-learn, whose digits are the default data, is not installed: "
                 "`pip install scikit-learn`, or name a folder with MNIST's files by --data")
    digits = datasets.load_digits()
    images = torch.tensor(digits.images, dtype=torch.float32).unsqueeze(1) / 16
    labels = torch.tensor(digits.target)
    order = torch.randperm(len(labels), generator=torch.Generator().manual_seed(0))
    held_out, training = order[:len(order) // 3], order[len(order) // 3:]
    return [TensorDataset(images[part], labels[part]) for part in (training, held_out)]


def network():
    return nn.Sequential(
        nn.Conv2d(1, 16, 3, padding=1), nn.ReLU(),
        nn.Conv2d(16, 32, 3, padding=1), nn.ReLU(),
        nn.AdaptiveMaxPool2d(4), nn.Flatten(),
        nn.Linear(32 * 4 * 4, 64), nn.ReLU(), nn.Linear(64, 10))


def train(model, loader, device, args):
    # The learning rate rises from a small value to the maximum and falls again.
    lr = args.lr
    optimizer = torch.optim.SGD(model.parameters(), lr=lr, momentum=0.9)
    steps = args.epochs * len(loader)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, lr, total_steps=steps)
    for epoch in range(args.epochs):
        for images, labels in loader:
            loss = nn.functional.cross_entropy(model(images.to(device)), labels.to(device))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            schedule.step()
        print(f"epoch {epoch + 1}/{args.epochs}  loss {loss.item():.4f}", flush=True)


@torch.no_grad()
def accuracy(model, loader, device):
    right = torch.zeros(2, device=device)  # correct answers, questions
    for images, labels in loader:
        answers = model(images.to(device)).argmax(dim=1).cpu()
        right += torch.tensor([(answers == labels).sum(), len(labels)], device=device)
    return (right[0] / right[1]).item()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=pathlib.Path, metavar="DIR",
                        help="folder with MNIST's four files (default: scikit-learn's digits)")
    parser.add_argument("--output-dir", type=pathlib.Path, default=pathlib.Path("."))
    parser.add_argument("--epochs", type=int, default=15)
    parser.add_argument("--batch-size", type=int, default=8, help="images per step and process")
    parser.add_argument("--lr", type=float, default=0.01)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()

    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    torch.manual_seed(args.seed)

    training, held_out = load_digits(args.data)
    model = network().to(device)
    train(model, DataLoader(training, args.batch_size, shuffle=True), device, args)
    result = accuracy(model, DataLoader(held_out, 256), device)
    print(f"held-out accuracy {result:.4f}")

    args.output_dir.mkdir(parents=True, exist_ok=True)
    torch.save(model.state_dict(), args.output_dir / "digits.pt")


if __name__ == "__main__":
    main()
