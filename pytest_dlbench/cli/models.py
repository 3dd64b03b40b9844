"""``dlbench models`` and ``dlbench layers``: the networks of the zoo."""

import argparse
from math import prod
from typing import Any

from pytest_dlbench.cli.output import Commands, answer, command
from pytest_dlbench.errors import OptionError, unknown_name
from pytest_dlbench.model import Network, infer
from pytest_dlbench.reporting import listings
from pytest_dlbench.zoo import MODELS

LIST = """
examples:
  dlbench models
  dlbench models --json | jq '.[] | select(.sources[] == "hkbu") | .name'

exit status: 0 listed, 2 a wrong call
"""
LAYERS = """
examples:
  dlbench layers gatech-lenet
  dlbench layers hkbu-resnet-56 --json

exit status: 0 shown, 2 a wrong call or no such model
"""


def declare(commands: Commands) -> None:
    """Add ``models`` and ``layers``."""
    text = "List the models of the zoo with parameters and multiply-adds."
    command(commands, "models", help_text=text, more=LIST).set_defaults(run=_models)
    layers = command(commands, "layers", help_text="Show one model layer by layer.", more=LAYERS)
    layers.add_argument("model", metavar="MODEL")
    layers.set_defaults(run=_layers)


def _models(asked: argparse.Namespace) -> int:
    networks = [infer(model) for model in MODELS.values()]
    answer(asked, [_told(network) for network in networks], listings.models(networks))
    return 0


def _told(network: Network) -> dict[str, Any]:
    model = network.model
    return {
        "name": model.name,
        "family": model.family,
        "sources": list(model.sources),
        "input_shape": list(model.input_shape),
        "parameters": network.parameter_count,
        "multiply_adds": network.multiply_adds,
        "network_digest": network.digest,
    }


def _layers(asked: argparse.Namespace) -> int:
    if asked.model not in MODELS:
        raise OptionError(unknown_name("model", asked.model, "dlbench layers", MODELS))
    network = infer(MODELS[asked.model])
    layers = [
        {
            "name": placed.name,
            "definition": str(placed.layer),
            "output": list(placed.inferred.output),
            "parameters": sum(prod(parameter.shape) for parameter in placed.inferred.parameters),
            "multiply_adds": placed.inferred.multiply_adds,
        }
        for placed in network.layers
    ]
    answer(asked, {**_told(network), "layers": layers}, listings.layers(network))
    return 0
