"""tinygrad's optimisers from a recipe's settings, and those that it lacks."""

from tinygrad import Tensor, nn


def clip(parameters, length):
    """Clip the gradients by their global norm."""
    norm = sum(parameter.grad.square().sum() for parameter in parameters).sqrt()
    factor = (length / norm).minimum(1.0)
    for parameter in parameters:
        parameter.grad = parameter.grad * factor


class RMSprop(nn.optim.Optimizer):
    """RMSprop, which tinygrad lacks."""

    def __init__(self, parameters, settings, precision):
        super().__init__(parameters, settings["learning_rate"])
        self.rho, self.epsilon = settings["rho"], settings["epsilon"]
        self.squares = _slots(self, precision)

    def _step(self, params, grads):
        moves = []
        for gradient, squares in zip(grads, self.squares):
            squares.assign(self.rho * squares + (1 - self.rho) * gradient.square())
            moves.append(self.lr * gradient / (squares.sqrt() + self.epsilon))
        return moves, self.squares


class Adadelta(nn.optim.Optimizer):
    """Adadelta, which tinygrad lacks."""

    def __init__(self, parameters, settings, precision):
        super().__init__(parameters, settings["learning_rate"])
        self.rho, self.epsilon = settings["rho"], settings["epsilon"]
        self.squares, self.steps = _slots(self, precision), _slots(self, precision)

    def _step(self, params, grads):
        moves = []
        for gradient, squares, steps in zip(grads, self.squares, self.steps):
            squares.assign(self.rho * squares + (1 - self.rho) * gradient.square())
            move = ((steps + self.epsilon).sqrt() / (squares + self.epsilon).sqrt() * gradient).contiguous()
            steps.assign(self.rho * steps + (1 - self.rho) * move.square())
            moves.append(self.lr * move)
        return moves, self.squares + self.steps


class AdamW(nn.optim.LAMB):
    """Adam with a decay only of arrays of two or more axes; tinygrad's own AdamW decays all."""

    def __init__(self, parameters, settings):
        betas = {"b1": settings["beta1"], "b2": settings["beta2"]}
        super().__init__(parameters, settings["learning_rate"], eps=settings["epsilon"], adam=True, **betas)
        self.decay = settings["weight_decay"]

    def _step(self, params, grads):
        moves, slots = super()._step(params, grads)
        for place, parameter in enumerate(params):
            if parameter.ndim > 1:
                moves[place] = moves[place] + self.lr * self.decay * parameter.detach()
        return moves, slots


def _slots(optimizer, precision):
    return [Tensor.zeros(parameter.shape, dtype=precision).contiguous() for parameter in optimizer.params]


# tinygrad keeps slots in float32 unless an environment variable changes that for the whole process.


def sgd(parameters, settings, precision):
    optimizer = nn.optim.SGD(
        parameters,
        lr=settings["learning_rate"],
        momentum=settings["momentum"],
        nesterov=settings["nesterov"],
        weight_decay=settings["weight_decay"],
    )
    optimizer.b = [velocity.cast(precision) for velocity in optimizer.b]
    return optimizer


def adam(parameters, settings, precision):
    b1, b2, epsilon = settings["beta1"], settings["beta2"], settings["epsilon"]
    return _in(precision, nn.optim.Adam(parameters, lr=settings["learning_rate"], b1=b1, b2=b2, eps=epsilon))


def adamw(parameters, settings, precision):
    return _in(precision, AdamW(parameters, settings))


def _in(precision, optimizer):
    optimizer.m, optimizer.v = ([slot.cast(precision) for slot in slots] for slots in (optimizer.m, optimizer.v))
    optimizer.b1_t, optimizer.b2_t = optimizer.b1_t.cast(precision), optimizer.b2_t.cast(precision)
    return optimizer


OPTIMIZERS = {"sgd": sgd, "adam": adam, "adamw": adamw, "adadelta": Adadelta, "rmsprop": RMSprop}
