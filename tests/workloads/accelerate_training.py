"""A training loop as accelerate's users write it. On all ranks together it must do what one process
does with all the data: the expected weights are computed beside it.

    accelerate_training.py FOLDER_FOR_THE_STATE
"""

import os
import sys

import torch
from accelerate import Accelerator
from accelerate.utils import DistributedType, broadcast_object_list, set_seed
from torch.utils.data import DataLoader, TensorDataset

SAMPLES, BATCH, ACCUMULATED, RATE = 64, 4, 2, 0.05


def network():
    set_seed(1)
    return torch.nn.Linear(3, 1, dtype=torch.float64)


def step_in_one_process(model, inputs, targets):
    loss = torch.nn.functional.mse_loss(model(inputs), targets)
    for weight, gradient in zip(model.parameters(), torch.autograd.grad(loss, model.parameters())):
        weight.data -= RATE * gradient


accelerator = Accelerator(cpu=True, gradient_accumulation_steps=ACCUMULATED)
ranks = accelerator.num_processes
assert (ranks, accelerator.distributed_type) == (4, DistributedType.MULTI_CPU), accelerator.state
assert accelerator.is_main_process == (accelerator.process_index == 0)
assert accelerator.is_local_main_process == (accelerator.process_index % 2 == 0)

inputs = torch.randn(SAMPLES, 3, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
targets = inputs @ torch.tensor([[1.0], [-2.0], [3.0]], dtype=torch.float64)
model = network()
model, optimizer, loader = accelerator.prepare(
    model, torch.optim.SGD(model.parameters(), lr=RATE),
    DataLoader(TensorDataset(inputs, targets, torch.arange(SAMPLES)), batch_size=BATCH))

alone = network()
seen, updates, whole = [], 0, ranks * BATCH * ACCUMULATED
for x, y, index in loader:
    with accelerator.accumulate(model):
        accelerator.backward(torch.nn.functional.mse_loss(model(x), y))
        optimizer.step()
        optimizer.zero_grad()
    seen += accelerator.gather_for_metrics(index).tolist()
    if accelerator.sync_gradients:
        part = slice(updates * whole, (updates + 1) * whole)
        step_in_one_process(alone, inputs[part], targets[part])
        updates += 1
assert updates == SAMPLES // whole == 2, updates
assert seen == list(range(SAMPLES)), seen
trained = accelerator.unwrap_model(model).state_dict()
torch.testing.assert_close(trained, alone.state_dict())

accelerator.save_state(sys.argv[1])
accelerator.wait_for_everyone()
kept = {name: value.clone() for name, value in trained.items()}
for weight in model.parameters():
    weight.data.zero_()
accelerator.load_state(sys.argv[1])
torch.testing.assert_close(accelerator.unwrap_model(model).state_dict(), kept, rtol=0, atol=0)

total = accelerator.reduce(torch.tensor(float(accelerator.process_index)), reduction="sum")
assert total.item() == 6, total
word = broadcast_object_list([f"from {accelerator.process_index}"])
assert word == ["from 0"], word
accelerator.print("once per node")
print(f"rank {accelerator.process_index} trained", flush=True)
accelerator.end_training()
os._exit(0)  # without the interpreter's shutdown: examples/train_ddp.py says why
