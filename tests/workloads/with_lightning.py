"""An epoch of a Lightning module on as many nodes and processes as were started."""

import os

import lightning
import torch


class Line(lightning.LightningModule):
    def __init__(self):
        super().__init__()
        self.model = torch.nn.Linear(4, 1)

    def training_step(self, batch, index):
        inputs, targets = batch
        return torch.nn.functional.mse_loss(self.model(inputs), targets)

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=0.1)


data = torch.utils.data.TensorDataset(torch.randn(64, 4), torch.randn(64, 1))
trainer = lightning.Trainer(
    devices=int(os.environ["LOCAL_WORLD_SIZE"]), num_nodes=int(os.environ["GROUP_WORLD_SIZE"]),
    strategy="ddp", max_epochs=1, logger=False, enable_checkpointing=False,
    enable_progress_bar=False, enable_model_summary=False)
trainer.fit(Line(), torch.utils.data.DataLoader(data, batch_size=8))
print(f"rank {trainer.global_rank} of {trainer.world_size}: "
      f"{type(trainer.strategy.cluster_environment).__name__}")
