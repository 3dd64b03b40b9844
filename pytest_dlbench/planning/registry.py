"""Everything named: the values of the axes, and metrics."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from typing import Any, cast

from pytest_dlbench.data import ANY_SHAPE, DATASETS, Dataset, SyntheticData
from pytest_dlbench.environments import DEVICES, FRAMEWORKS, Device, Framework
from pytest_dlbench.environments.devices import numbered
from pytest_dlbench.environments.specification import is_specification, specified
from pytest_dlbench.errors import OptionError, unknown_name
from pytest_dlbench.judging import METRICS, Metric, Metrics, extended
from pytest_dlbench.judging.metrics import HOOK
from pytest_dlbench.judging.tolerance import check_declared
from pytest_dlbench.model import Model
from pytest_dlbench.planning.matrix import Value
from pytest_dlbench.zoo import MODELS

ALL = "all"

KINDS: Mapping[str, tuple[type, ...]] = {
    "framework": (Framework,),
    "model": (Model,),
    "dataset": (Dataset, SyntheticData),
    "device": (Device,),
}


def is_pattern(text: str) -> bool:
    """Whether a text stands for several values; an environment's path may have any letters."""
    return text == ALL or (bool(set(text) & set("*?[")) and not is_specification(text))


@dataclass(frozen=True, slots=True, kw_only=True)
class Registry:
    """Values by axis and name, and metrics by name."""

    values: Mapping[str, Mapping[str, Value]]
    metrics: Metrics = field(default_factory=lambda: METRICS)

    def find(self, axis: str, value: Any, where: str) -> Value:
        """The value with a name; a value itself is returned as it is. Raises OptionError."""
        if isinstance(value, KINDS[axis]):
            return cast("Value", value)
        if axis == "framework" and isinstance(value, str) and is_specification(value):
            return specified(value, cast("Mapping[str, Framework]", self.values[axis]), where)
        if axis == "device" and isinstance(value, str) and (device := numbered(value)):
            return device
        known = self.values[axis]
        if axis == "model" and isinstance(value, str) and value not in known:
            # The source may be omitted if the rest is unambiguous: mnist-cnn is tartu-mnist-cnn.
            longer = [name for name in known if name.endswith(f"-{value}")]
            value = longer[0] if len(longer) == 1 else value
        if not isinstance(value, str) or value not in known:
            raise OptionError(unknown_name(axis, str(value), where, known))
        return known[value]

    def matching(self, axis: str, pattern: str, where: str) -> Sequence[Value]:
        """The values that match a name, a pattern such as ``hkbu-*``, or ``all``. Raises OptionError."""
        known = self.values[axis]
        if not is_pattern(pattern):
            return [self.find(axis, pattern, where)]
        found = [value for name, value in known.items() if pattern == ALL or fnmatchcase(name, pattern)]
        if not found:
            raise OptionError(unknown_name(axis, pattern, where, known))
        return found

    def named_in(self, axis: str, node_ids: Iterable[str]) -> Sequence[Value]:
        """The values in the brackets of node ids, such as ``test_training[jax-gatech-lenet-digits28-cpu]``."""
        texts = [f"-{node_id.partition('[')[2].rstrip(']')}-" for node_id in node_ids]
        return [value for name, value in self.values[axis].items() if any(f"-{name}-" in text for text in texts)]

    def extended(self, axis: str, values: Iterable[Value]) -> "Registry":
        """A registry with more values; one with a known name replaces it."""
        return replace(self, values={**self.values, axis: {**self.values[axis], **{v.name: v for v in values}}})

    def measuring(self, added: Iterable[Metric], where: str = HOOK) -> "Registry":
        """A registry with more metrics; raises OptionError for a name that is taken, or a tolerance of no use."""
        metrics = extended(self.metrics, added, where)
        for metric in metrics.values():
            check_declared(metric, where)
        return replace(self, metrics=metrics)


KNOWN = Registry(
    values={
        "framework": FRAMEWORKS,
        "model": MODELS,
        "dataset": {**DATASETS, ANY_SHAPE.name: ANY_SHAPE},
        "device": DEVICES,
    }
)


def hooked(known: Registry, hook: Any, config: Any) -> Registry:
    """The registry with the values from plugins and a suite's conftest.py; ``hook`` is pytest's hook relay."""
    for axis, called in (
        ("framework", hook.pytest_dlbench_frameworks),
        ("model", hook.pytest_dlbench_models),
        ("dataset", hook.pytest_dlbench_datasets),
    ):
        known = known.extended(axis, [value for answer in called(config=config) for value in answer])
    return known
