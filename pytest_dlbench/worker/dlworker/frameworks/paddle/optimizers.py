"""Optimisers for Paddle: its own where they compute the canonical update, otherwise the update written out."""

import paddle
from paddle import nn


class Update:
    """An update written out, where Paddle's own optimiser rounds to float32 or computes something else."""

    slots = 1

    def __init__(self, parameters, settings, clip):
        self.settings, self.clip, self.rate = settings, clip, settings["learning_rate"]
        # Where paddle.amp.GradScaler looks for gradients.
        self._parameter_list = parameters
        self.slotted = [(one, [paddle.zeros_like(one) for _ in range(self.slots)]) for one in parameters]

    def set_lr(self, rate):
        self.rate = rate

    @paddle.no_grad()
    def step(self):
        pairs = [(parameter, parameter.grad) for parameter, _ in self.slotted]
        pairs = self.clip(pairs) if self.clip else pairs
        for (parameter, gradient), (_, slots) in zip(pairs, self.slotted):
            parameter.subtract_(self.moved(parameter, gradient, *slots) * self.rate)

    def clear_grad(self):
        for parameter, _ in self.slotted:
            parameter.clear_gradient()


def _move(average, value, share):
    return average.scale_(share).add_(value * (1 - share))


class MomentumInDouble(Update):
    """paddle.optimizer.Momentum with a momentum and a decay that are not rounded to float32."""

    def moved(self, parameter, gradient, velocity):
        momentum = self.settings["momentum"]
        gradient = gradient + parameter * self.settings["weight_decay"]
        velocity.scale_(momentum).add_(gradient)
        return gradient + velocity * momentum if self.settings["nesterov"] else velocity


class AdadeltaInDouble(Update):
    """paddle.optimizer.Adadelta with a rho and an epsilon that are not rounded to float32."""

    slots = 2

    def moved(self, parameter, gradient, squares, moves):
        rho, epsilon = self.settings["rho"], self.settings["epsilon"]
        _move(squares, gradient * gradient, rho)
        move = paddle.sqrt((moves + epsilon) / (squares + epsilon)) * gradient
        _move(moves, move * move, rho)
        return move


class RMSprop(Update):
    """RMSprop with epsilon outside the root; paddle.optimizer.RMSProp has it inside."""

    def moved(self, parameter, gradient, squares):
        _move(squares, gradient * gradient, self.settings["rho"])
        return gradient / (paddle.sqrt(squares) + self.settings["epsilon"])


# For each optimiser, a function (recipe, settings, parameters, clipping): Paddle's own where it computes the canonical
# update, otherwise the update written out.


def sgd(recipe, settings, parameters, clip):
    if recipe["precision"] == "float64":
        return MomentumInDouble(parameters, settings, clip)
    rate, usual = settings["learning_rate"], {"parameters": parameters, "grad_clip": clip}
    usual["weight_decay"] = settings["weight_decay"] or None
    if not settings["momentum"]:
        return paddle.optimizer.SGD(rate, **usual)
    return paddle.optimizer.Momentum(rate, settings["momentum"], use_nesterov=settings["nesterov"], **usual)


def adam(recipe, settings, parameters, clip):
    betas, usual = {name: settings[name] for name in ("beta1", "beta2")}, {"parameters": parameters, "grad_clip": clip}
    return paddle.optimizer.Adam(settings["learning_rate"], epsilon=settings["epsilon"], **betas, **usual)


def adamw(recipe, settings, parameters, clip):
    betas, usual = {name: settings[name] for name in ("beta1", "beta2")}, {"parameters": parameters, "grad_clip": clip}
    decayed = {parameter.name for parameter in parameters if parameter.ndim > 1}
    return paddle.optimizer.AdamW(
        settings["learning_rate"],
        epsilon=settings["epsilon"],
        weight_decay=settings["weight_decay"],
        apply_decay_param_fun=decayed.__contains__,
        **betas,
        **usual,
    )


def adadelta(recipe, settings, parameters, clip):
    if recipe["precision"] == "float64":
        return AdadeltaInDouble(parameters, settings, clip)
    rate, usual = settings["learning_rate"], {"parameters": parameters, "grad_clip": clip}
    return paddle.optimizer.Adadelta(rate, epsilon=settings["epsilon"], rho=settings["rho"], **usual)


def rmsprop(recipe, settings, parameters, clip):
    return RMSprop(parameters, settings, clip)


OPTIMIZERS = {"sgd": sgd, "adam": adam, "adamw": adamw, "adadelta": adadelta, "rmsprop": rmsprop}


def optimizer(parameters, recipe):
    clip = nn.ClipGradByGlobalNorm(recipe["clip_norm"]) if recipe.get("clip_norm") else None
    return OPTIMIZERS[recipe["optimizer"]["kind"]](recipe, recipe["optimizer"], parameters, clip)
