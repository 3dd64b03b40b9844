"""Checkpoints of Paddle: the state dictionaries of model and optimiser, by paddle.save."""

import os

import paddle

from dlworker.frameworks.paddle.optimizers import Update

MECHANISM = "paddle.save"
NOT_KEPT = ("random numbers",)


def save(trainer, folder):
    """Write everything on which later steps depend, except the state of the random numbers."""
    paddle.save(trainer.model.state_dict(), _path(folder, "model"))
    paddle.save(_of_optimizer(trainer.optimizer), _path(folder, "optimizer"))
    if trainer.scaler:
        paddle.save(trainer.scaler.state_dict(), _path(folder, "scaler"))


def restore(trainer, folder):
    """Read it into a Trainer of the same network and recipe."""
    trainer.model.set_state_dict(paddle.load(_path(folder, "model")))
    state = paddle.load(_path(folder, "optimizer"))
    if isinstance(trainer.optimizer, Update):
        for name, slot in _of_optimizer(trainer.optimizer).items():
            slot.set_value(state[name])
    else:
        trainer.optimizer.set_state_dict(state)
    if trainer.scaler:
        trainer.scaler.load_state_dict(paddle.load(_path(folder, "scaler")))


def _of_optimizer(optimizer):
    """The state of Paddle's own optimiser, or of one that is written out."""
    if not isinstance(optimizer, Update):
        return optimizer.state_dict()
    slots = [slot for _, of_one in optimizer.slotted for slot in of_one]
    return {"slot_%d" % place: slot for place, slot in enumerate(slots)}


def _path(folder, name):
    return os.path.join(folder, "%s.pdparams" % name)
