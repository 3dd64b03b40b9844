"""Whether two sides are comparable, and what differs between them."""

from collections.abc import Mapping
from typing import Any

from pytest_dlbench.records import Case, Context
from pytest_dlbench.records.reasons import Difference

# Older files call it "shared", because there was no other rule then.
FIRST_RULE = "glorot"
# Two runs are too few to estimate the spread of runs.
FEWEST_RUNS = 3
# The scale whose only limit is the recipe.
WHOLE = "full"
# The settings that change how long a recipe is.
LENGTHS = ("epochs", "steps")
# Fewer sessions are too few to estimate the spread of sessions.
KNOWN_SESSIONS = 5
# The number of reference sessions, after which level shifts are detected.
CUSUM_REFERENCE = 30


def obstacles(old: Context, new: Context) -> tuple[Difference, ...]:
    """Why figures of these two contexts are not comparable; empty if they are."""
    pairs = {
        "machine class": (old.machine.name, new.machine.name),
        "network": (old.network_digest, new.network_digest),
        "data set": (old.dataset_digest, new.dataset_digest),
        "batch size": (old.batch_size, new.batch_size),
        "steps": (old.steps, new.steps),
        "precision": (old.precision, new.precision),
        "initial weights": (_rule(old.init), _rule(new.init)),
        "given weights": (old.weights or "none", new.weights or "none"),
        "input": (old.input, new.input),
        "memory allocator": (old.allocator, new.allocator),
        "settings of execution": (_names(old), _names(new)),
    }
    return _differences(pairs)


def is_whole_recipe(case: Case, context: Context) -> bool:
    """Whether a training was as long as the recipe of its network: suites have shorter ones below scale full.

    With a length of its own (``--dlbench-set steps=8``) it is another recipe.
    """
    is_own = case.settings.keys().isdisjoint(LENGTHS)
    return is_own and case.scale == WHOLE and context.steps >= (context.recipe_steps or 0)


def _names(context: Context) -> str:
    return ", ".join(context.execution) or "none"


def changes(old: Mapping[str, Any], new: Mapping[str, Any]) -> tuple[Difference, ...]:
    """What differs between two sets of versions, or two recipes."""
    before, after = _flat(old), _flat(new)
    names = [*before, *(name for name in after if name not in before)]
    return _differences({name: (before.get(name), after.get(name)) for name in names})


def _flat(tree: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    leaves: dict[str, Any] = {}
    for name, value in tree.items():
        if isinstance(value, Mapping):
            leaves |= _flat(value, f"{prefix}{name}.")
        else:
            leaves[f"{prefix}{name}"] = _rule(value) if name == "init" else _leaf(value)
    return leaves


def _leaf(value: Any) -> Any:
    """What was stored comes back as a list."""
    return list(value) if isinstance(value, tuple) else value


def _rule(init: str) -> str:
    return FIRST_RULE if init == "shared" else init


def _differences(pairs: Mapping[str, tuple[object, object]]) -> tuple[Difference, ...]:
    return tuple(
        Difference(name=name, baseline=then, candidate=now) for name, (then, now) in pairs.items() if then != now
    )
