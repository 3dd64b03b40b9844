"""The native model as its framework prints it: a worker builds it, describes it, and exits."""

import tempfile
from pathlib import Path
from time import monotonic

from pytest_dlbench.environments import Framework
from pytest_dlbench.environments.placing import Place
from pytest_dlbench.errors import DlbenchError
from pytest_dlbench.model import Network, Recipe
from pytest_dlbench.records.reasons import ProblemError
from pytest_dlbench.running import failures, launch, messages
from pytest_dlbench.running.connection import Worker, WorkerError
from pytest_dlbench.running.run_spec import recipe_json
from pytest_dlbench.running.weights import write_weights

TIMEOUT_SECONDS = 300.0


def describe(framework: Framework, place: Place, network: Network, recipe: Recipe) -> str:
    """The framework's own description of the network that its builder builds. Raises DlbenchError if it fails."""
    with tempfile.TemporaryDirectory(prefix="dlbench-show-") as name:
        folder = Path(name)
        weights = write_weights(network, recipe, seed=1, folder=folder)
        environment = launch.environment(framework, place, device="cpu", threads=1)
        with Worker(launch.command(place.python), environment, folder) as worker:
            hello = {"protocol": messages.PROTOCOL_VERSION, "builder": framework.builder, "device": "cpu", "threads": 1}
            hello |= {"execution": recipe.execution} if recipe.execution else {}
            _ask(worker, "hello", **hello)
            built: messages.Built = _ask(
                worker,
                "build",
                network=network.as_json(),
                recipe=recipe_json(recipe),
                weights=weights,
                seed=1,
            )
            _ask(worker, "close")
    return built.description


def _ask(worker: Worker, op: str, **fields: object) -> messages.Built:
    kills = failures.memory_kills()
    try:
        answer = worker.request(
            op, deadline=monotonic() + TIMEOUT_SECONDS, waiting=lambda: None, period_seconds=1.0, **fields
        )
    except WorkerError as error:
        _, problem = failures.explain(error, worker, kills, TIMEOUT_SECONDS)
        raise ProblemError(problem, worker.log_tail()) from error
    parsed = messages.parse(op, answer)
    if isinstance(parsed, messages.Failed):
        raise DlbenchError(parsed.message)
    return parsed  # type: ignore[no-any-return]
