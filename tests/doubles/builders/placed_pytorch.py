"""PyTorch that checks in every step that everything is on its device, which need not be able to compute."""

from dlworker.frameworks import pytorch
from dlworker.frameworks.pytorch import SUPPORTS, configure, threads, versions

__all__ = ["SUPPORTS", "Trainer", "configure", "threads", "versions"]


class Trainer(pytorch.Trainer):
    def step(self, number):
        loss = super().step(number)
        slots = [slot for slots in self.optimizer.state.values() for slot in slots.values()]
        gradients = [parameter.grad for parameter in self.trained]
        used = [*self.model.state_dict().values(), *slots, *gradients, self.inputs, self.labels, self.order, loss]
        assert {array.device for array in used} == {self.device}, [array.device for array in used]
        return 1.0
