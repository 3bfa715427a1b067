"""Three steps of DeepSpeed's ZeRO."""

import deepspeed
import torch

deepspeed.init_distributed()
model = torch.nn.Linear(4, 1)
engine, *_ = deepspeed.initialize(model=model, model_parameters=model.parameters(), config={
    "train_micro_batch_size_per_gpu": 8,
    "optimizer": {"type": "Adam", "params": {"lr": 0.1, "torch_adam": True}},
    "zero_optimization": {"stage": 1}})
for _ in range(3):
    inputs = torch.randn(8, 4, device=engine.device)
    loss = torch.nn.functional.mse_loss(engine(inputs), inputs.sum(1, keepdim=True))
    engine.backward(loss)
    engine.step()
print(f"rank {torch.distributed.get_rank()} of {torch.distributed.get_world_size()}: "
      f"ZeRO stage {engine.zero_optimization_stage()}")
torch.distributed.destroy_process_group()
