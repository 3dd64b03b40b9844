"""How frameworks compile in tests: from headers that were compiled before, where they compile C++.

As a plugin (-p tests.worker.compilers) it makes whole sessions compile in this way, optimised.
"""

from collections.abc import Mapping
from dataclasses import replace

from pytest_dlbench.environments import Framework
from pytest_dlbench.environments.placing import Absent, Place, Places
from tests.worker import mlx_compiler, theano_compiler


def variables(framework: Framework, place: Place, *, is_optimised: bool) -> Mapping[str, str]:
    """Variables for a framework's worker at a place."""
    if framework.name in theano_compiler.ON_THEANO:
        return theano_compiler.variables(place, is_optimised=is_optimised)
    return mlx_compiler.variables(place) if framework.name == "mlx" else {}


def pytest_configure() -> None:
    """Let every place of a framework have these variables."""
    usual = Places.find

    def find(self: Places, framework: Framework) -> Place | Absent:
        place = usual(self, framework)
        if isinstance(place, Absent):
            return place
        return replace(place, variables={**place.variables, **variables(framework, place, is_optimised=True)})

    Places.find = find  # type: ignore[method-assign]
