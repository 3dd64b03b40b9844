"""The engines of searches, a module each: what to try next, given how good everything before was."""

from collections.abc import Mapping

from pytest_dlbench.planning.search import RANDOM, TPE
from pytest_dlbench.workflows.engines.at_random import RandomEngine
from pytest_dlbench.workflows.engines.engine import Engine, MakeEngine
from pytest_dlbench.workflows.engines.tpe import TPEEngine

MAKERS: Mapping[str, MakeEngine] = {RANDOM: RandomEngine, TPE: TPEEngine}

__all__ = ["MAKERS", "Engine", "MakeEngine"]
