"""Hooks for a conftest.py or another plugin."""

from collections.abc import Iterable
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pytest_dlbench.data import Dataset
    from pytest_dlbench.environments import Framework
    from pytest_dlbench.judging import Metric
    from pytest_dlbench.model import Model
    from pytest_dlbench.records import CaseResult, Record
    from pytest_dlbench.sampling.sampler import MakeSampler

# The name of the plugin by which a command of dlbench takes the cases of tests, in place of measuring them.
TAKER = "dlbench-taker"


@pytest.hookspec
def pytest_dlbench_frameworks(config: pytest.Config) -> Iterable["Framework"]:  # type: ignore[empty-body]
    """Add frameworks; one with the name of a built-in framework replaces it."""


@pytest.hookspec
def pytest_dlbench_models(config: pytest.Config) -> Iterable["Model"]:  # type: ignore[empty-body]
    """Add models; one with the name of a model of the zoo replaces it."""


@pytest.hookspec
def pytest_dlbench_datasets(config: pytest.Config) -> Iterable["Dataset"]:  # type: ignore[empty-body]
    """Add data sets; one with the name of a built-in data set replaces it."""


@pytest.hookspec
def pytest_dlbench_samplers(config: pytest.Config) -> Iterable["MakeSampler"]:  # type: ignore[empty-body]
    """Add samplers for every run, such as a wattmeter's; their values become ``readings`` of the run's record."""


@pytest.hookspec
def pytest_dlbench_record(config: pytest.Config) -> Iterable["Metric"]:  # type: ignore[empty-body]
    """Add metrics, which are computed for every record; those with a tolerance are also judged.

    A value of NaN or infinity is none.
    """


@pytest.hookspec
def pytest_dlbench_case_finished(config: pytest.Config, record: "Record", result: "CaseResult") -> None:
    """A case was run and judged; called before its test passes or fails, and before --dlbench-save saves it."""
