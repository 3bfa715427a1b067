"""Initialises CUDA when it is imported."""

import torch

two = torch.full((4,), 2.0, device="cuda" if torch.cuda.is_available() else "cpu")
