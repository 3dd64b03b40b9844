"""Frameworks keep settings and compiled code in their environment, and nothing in the user's home."""

from dataclasses import replace

import platformdirs
import pytest

from pytest_dlbench.data.preparation import prepare
from pytest_dlbench.environments import FRAMEWORKS
from pytest_dlbench.model import infer
from pytest_dlbench.planning.plan import synthetic_for
from pytest_dlbench.running.messages import Failed
from tests.worker.places import place_of
from tests.worker.sessions import session
from tests.worker.test_builders_agree import LINEAR, PRECISE

# What each framework is known to keep.
KEPT = {"keras2-theano": (".keras/keras.json", ".theano"), "pytorch-compile": ("inductor",)}


@pytest.mark.parametrize("name", KEPT)
def test_settings_and_compiled_code_are_kept_only_in_the_environment(name, tmp_path, monkeypatch):
    place = place_of(name)
    home = tmp_path / "home"
    home.mkdir()
    # Environments stay where they are; everything else would be written to this home.
    monkeypatch.setenv("XDG_CACHE_HOME", str(platformdirs.user_cache_path()))
    monkeypatch.setenv("HOME", str(home))
    data, recipe = prepare(synthetic_for(LINEAR), tmp_path), replace(PRECISE, precision="float32")
    with session(FRAMEWORKS[name], tmp_path / "run") as asked:
        asked.hello()
        for answer in (asked.build(infer(LINEAR), recipe), asked.train(data, recipe, 2)):
            assert not isinstance(answer, Failed), answer.traceback
    assert list(home.iterdir()) == []
    assert all((place.caches / kept).exists() for kept in KEPT[name])
