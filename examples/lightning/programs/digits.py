"""A LightningModule learns handwritten digits; the Trainer has the loop."""

import lightning
import torch
from inputs import TRAINED_ON, digits, prepared
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

BATCH = 64


class Digits(lightning.LightningModule):
    def __init__(self, rate):
        super().__init__()
        self.rate = rate
        self.network = nn.Sequential(nn.Linear(64, 512), nn.ReLU(), nn.Linear(512, 512), nn.ReLU(), nn.Linear(512, 10))

    def forward(self, images):
        return self.network(prepared(images))

    def training_step(self, batch, number):
        images, labels = batch
        return nn.functional.cross_entropy(self(images), labels)

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=self.rate)


def main(run):
    lightning.seed_everything(run.seed, verbose=False)
    torch.set_num_threads(run.threads)
    images, labels = (torch.from_numpy(array) for array in digits())
    module = Digits(run.parameters["rate"])
    loader = DataLoader(TensorDataset(images[:TRAINED_ON], labels[:TRAINED_ON]), batch_size=BATCH, shuffle=True)
    trainer = lightning.Trainer(
        accelerator="cpu" if run.device == "cpu" else "gpu",
        devices=1,
        max_epochs=-1,
        callbacks=[run.callback("lightning")],
        default_root_dir=run.folder,
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
    )
    trainer.fit(module, loader)
    with torch.no_grad():
        found = module(images[TRAINED_ON:]).argmax(1)
    run.report(accuracy=(found == labels[TRAINED_ON:]).float().mean())
