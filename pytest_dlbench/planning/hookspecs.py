"""What other people may hook into, in a conftest.py or a plugin of their own."""

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


@pytest.hookspec
def pytest_dlbench_frameworks(config: pytest.Config) -> Iterable["Framework"]:  # type: ignore[empty-body]
    """Frameworks to know beside the built-in ones; one of a known name takes its place."""


@pytest.hookspec
def pytest_dlbench_models(config: pytest.Config) -> Iterable["Model"]:  # type: ignore[empty-body]
    """Models to know beside the zoo's."""


@pytest.hookspec
def pytest_dlbench_datasets(config: pytest.Config) -> Iterable["Dataset"]:  # type: ignore[empty-body]
    """Data sets to know beside the built-in ones."""


@pytest.hookspec
def pytest_dlbench_samplers(config: pytest.Config) -> Iterable["MakeSampler"]:  # type: ignore[empty-body]
    """What else to read beside every run, such as a wattmeter; what it tells joins the run's record as ``readings``."""


@pytest.hookspec
def pytest_dlbench_record(config: pytest.Config) -> Iterable["Metric"]:  # type: ignore[empty-body]
    """Metrics to read off every record beside the built-in ones; one with a tolerance is judged, too."""


@pytest.hookspec
def pytest_dlbench_case_finished(config: pytest.Config, record: "Record", result: "CaseResult") -> None:
    """A case was run and judged; called before its test passes or fails."""
