"""Three steps of Hugging Face's Trainer with a tiny model of its own."""

import torch
from transformers import LlamaConfig, LlamaForCausalLM, Trainer, TrainingArguments

model = LlamaForCausalLM(LlamaConfig(
    vocab_size=64, hidden_size=32, intermediate_size=64, num_hidden_layers=2,
    num_attention_heads=2, max_position_embeddings=32))
words = torch.randint(0, 64, (32, 16), generator=torch.Generator().manual_seed(1))
arguments = TrainingArguments(
    max_steps=3, per_device_train_batch_size=2, save_strategy="no", report_to=[],
    disable_tqdm=True, use_cpu=not torch.cuda.is_available())
trainer = Trainer(model, arguments,
                  train_dataset=[{"input_ids": row, "labels": row} for row in words])
loss = trainer.train().training_loss
print(f"rank {arguments.process_index} of {arguments.world_size}: loss {loss:.3f}")
torch.distributed.destroy_process_group()
