"""The gradient of a convolution after torch.compile, which on CPUs stores it with the channels last.

Prints the norm of the gradient of the convolution's weights.
"""

import torch
from torch import nn


def norm(**settings):
    """Of the gradient, eagerly without ``settings`` of torch.compile."""
    torch.manual_seed(0)
    model = nn.Sequential(nn.Conv2d(3, 16, 5), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(16 * 12 * 12, 10))
    called = torch.compile(model, **settings) if settings else model
    nn.functional.cross_entropy(called(torch.rand(8, 3, 28, 28)), torch.arange(8)).backward()
    return model[0].weight.grad.norm().item()


print(f"eager: {norm():.3f}")
print(f"compiled: {norm(backend='inductor'):.3f}")
print(f"compiled, layout_optimization off: {norm(options={'layout_optimization': False}):.3f}")
