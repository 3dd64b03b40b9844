"""PyTorch's optimisers as functions (parameters, settings) -> optimizer, and gradient clipping."""

import torch

from dlworker.frameworks.pytorch.releases import RELEASE


def clip(parameters, length):
    """Clip the gradients by their global norm, unlike clip_grad_norm_ without adding 1e-6 to it."""
    gradients = [parameter.grad for parameter in parameters]
    norm = torch.stack([gradient.norm() for gradient in gradients]).norm()
    factor = (length / norm).clamp(max=1.0)
    for gradient in gradients:
        gradient.mul_(factor)


class AdamOfOld(torch.optim.Adam):
    """Adam of PyTorch before 1.3, which adds epsilon before the bias correction, so it gets a corrected epsilon."""

    def step(self, closure=None):
        for group in self.param_groups:
            taken = next((self.state[p]["step"] for p in group["params"] if p in self.state), 0)
            group["eps"] = self.epsilon * (1 - group["betas"][1] ** (taken + 1)) ** 0.5
        return super().step(closure)


def adam(parameters, settings):
    rate, betas, epsilon = settings["learning_rate"], (settings["beta1"], settings["beta2"]), settings["epsilon"]
    if RELEASE >= (1, 3):
        return torch.optim.Adam(parameters, lr=rate, betas=betas, eps=epsilon)
    optimizer = AdamOfOld(parameters, lr=rate, betas=betas)
    optimizer.epsilon = epsilon
    return optimizer


def adamw(parameters, settings):
    rate, betas = settings["learning_rate"], (settings["beta1"], settings["beta2"])
    groups = [
        {"params": [p for p in parameters if p.dim() > 1], "weight_decay": settings["weight_decay"]},
        {"params": [p for p in parameters if p.dim() < 2], "weight_decay": 0.0},
    ]
    return torch.optim.AdamW([group for group in groups if group["params"]], rate, betas, settings["epsilon"])


def adadelta(parameters, settings):
    rate, rho, epsilon = settings["learning_rate"], settings["rho"], settings["epsilon"]
    return torch.optim.Adadelta(parameters, lr=rate, rho=rho, eps=epsilon)


def rmsprop(parameters, settings):
    rate, rho, epsilon = settings["learning_rate"], settings["rho"], settings["epsilon"]
    return torch.optim.RMSprop(parameters, lr=rate, alpha=rho, eps=epsilon)


def sgd(parameters, settings):
    return torch.optim.SGD(
        parameters,
        lr=settings["learning_rate"],
        momentum=settings["momentum"],
        nesterov=settings["nesterov"],
        weight_decay=settings["weight_decay"],
    )


OPTIMIZERS = {"sgd": sgd, "adam": adam, "adamw": adamw, "adadelta": adadelta, "rmsprop": rmsprop}
