"""``dlbench models``: list the models of the zoo, or show one layer by layer or as a framework builds it."""

import argparse
from math import prod
from typing import Any, cast

from pytest_dlbench.cli.output import Commands, answer, command
from pytest_dlbench.environments import Framework
from pytest_dlbench.environments.placing import Absent, Places
from pytest_dlbench.errors import DlbenchError, OptionError
from pytest_dlbench.model import Model, Network, infer
from pytest_dlbench.planning.registry import KNOWN
from pytest_dlbench.reporting import listings
from pytest_dlbench.zoo import MODELS

WHERE = "dlbench models"
MORE = """
Without NAME: all models. With NAME (lenet is gatech-lenet): its layers. With --native: the model as the framework
prints it.

examples:
  dlbench models
  dlbench models lenet
  dlbench models gatech-lenet --native jax
  dlbench models --json | jq '.[] | select(.sources[] == "hkbu") | .name'

exit status: 0 shown, 2 usage error, or no such model or framework
"""


def declare(commands: Commands) -> None:
    """Add ``models``."""
    text = "List the models of the zoo with parameters and multiply-adds, or show one layer by layer."
    parser = command(commands, "models", help_text=text, more=MORE)
    parser.add_argument("name", metavar="NAME", nargs="?", help="Show the layers of this model.")
    parser.add_argument("--native", metavar="FRAMEWORK", help="Print the model as this framework builds it.")
    parser.set_defaults(run=_models)


def _models(asked: argparse.Namespace) -> int:
    if not asked.name:
        if asked.native:
            raise OptionError(f"{WHERE} --native: name a model, such as {WHERE} gatech-lenet --native {asked.native}")
        return _list(asked)
    model = cast("Model", KNOWN.find("model", asked.name, WHERE))
    return _native(asked, model) if asked.native else _layers(asked, infer(model))


def _list(asked: argparse.Namespace) -> int:
    networks = [infer(model) for model in MODELS.values()]
    answer(asked, [_as_json(network) for network in networks], listings.models(networks))
    return 0


def _as_json(network: Network) -> dict[str, Any]:
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


def _layers(asked: argparse.Namespace, network: Network) -> int:
    layers = [
        {
            "name": placed.name,
            "definition": str(placed.layer),
            "output": list(placed.inferred.output),
            "arrays": {name: list(parameter.shape) for name, parameter in placed.parameters.items()},
            "parameters": sum(prod(parameter.shape) for parameter in placed.inferred.parameters),
            "multiply_adds": placed.inferred.multiply_adds,
        }
        for placed in network.layers
    ]
    answer(asked, {**_as_json(network), "layers": layers}, listings.layers(network))
    return 0


def _native(asked: argparse.Namespace, model: Model) -> int:
    # Late: NumPy and psutil are slow to load, and only needed here.
    from pytest_dlbench.running.native_model import describe  # noqa: PLC0415

    framework = cast("Framework", KNOWN.find("framework", asked.native, f"{WHERE} --native"))
    place = Places().find(framework)
    if isinstance(place, Absent):
        raise DlbenchError(place.reason)
    shown = describe(framework, place, infer(model), model.recipe)
    answer(asked, {"model": model.name, "framework": framework.name, "description": shown}, [shown])
    return 0
