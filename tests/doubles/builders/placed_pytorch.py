"""PyTorch that checks in every step that everything is on its device, which need not be able to compute."""

import torch
from dlworker.frameworks import pytorch
from dlworker.frameworks.pytorch import SUPPORTS, configure, threads, versions

__all__ = ["SUPPORTS", "Trainer", "configure", "threads", "versions"]


class Checked:
    """A model whose inputs and outputs are on the device; the latter leave it as zeros, since it has no numbers."""

    def __init__(self, trainer, model):
        self.trainer, self.model = trainer, model

    def __call__(self, inputs, **more):
        outputs = self.model(inputs, **more)
        assert {inputs.device, outputs.device} == {self.trainer.device}
        return outputs if self.model.training else torch.zeros(outputs.shape)


class Trainer(pytorch.Trainer):
    def _called(self, model):
        return Checked(self, model)

    def step(self, number):
        loss = super().step(number)
        slots = [slot for slots in self.optimizer.state.values() for slot in slots.values()]
        gradients = [parameter.grad for parameter in self.trained]
        used = [*self.model.state_dict().values(), *slots, *gradients, self.inputs, self.labels, self.order, loss]
        assert {array.device for array in used} == {self.device}, [array.device for array in used]
        return 1.0
