"""A script that initialises CUDA at an import: a fork could not use the GPU."""

import torch
import opens_the_gpu  # by PYTHONPATH: a warm parent imports no module beside the script

device = "cuda" if torch.cuda.is_available() else "cpu"
print((torch.ones(4, device=device) * opens_the_gpu.two).sum().item(), flush=True)
