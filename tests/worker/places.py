"""Where a test trains a framework, and whether it must: what CI requires, and what passed before."""

import json
import os
from pathlib import Path

import pytest

from pytest_dlbench.environments import FRAMEWORKS
from pytest_dlbench.environments.placing import Absent, Place, Places
from pytest_dlbench.running import pinning


def place_of(framework: str, sweep: str = "", library: str | None = None, engine: str = "") -> Place:
    """The framework's place, with a ``library`` or an ``engine`` of searches if one is named.

    Skips the test if there is none, or if its sweep passed before with the same content.

    DLBENCH_REQUIRE_FRAMEWORKS names those without which a test fails. DLBENCH_CI_PLAN is the plan of .ci/stamps.py,
    which has the sweeps.
    """
    if stamp := _skipped(sweep).get(framework):
        pytest.skip(stamp["reason"])
    place = Places().find(FRAMEWORKS[framework].computing_with(library).searched_by(engine))
    if isinstance(place, Absent):
        if framework in os.environ.get("DLBENCH_REQUIRE_FRAMEWORKS", "").split(","):
            pytest.fail(f"DLBENCH_REQUIRE_FRAMEWORKS asks for it: {place.reason}")
        pytest.skip(place.reason)
    return place


def own_core() -> frozenset[int]:
    """A core for the workers of this process of pytest-xdist: by default all runs with one thread have the same one."""
    number = int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw"))
    ranked = pinning.ranked()
    return frozenset({ranked[number % len(ranked)]}) if ranked else frozenset()


def _skipped(sweep: str) -> dict[str, dict[str, str]]:
    plan = os.environ.get("DLBENCH_CI_PLAN")
    return json.loads(Path(plan).read_text())["skipped"].get(sweep, {}) if plan else {}
