"""``import pytest_dlbench as dlb``: everything that users need, and nothing loaded before it is used."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import pytest_dlbench as dlb
from pytest_dlbench import errors, model, records

STUB = Path(dlb.__file__).with_suffix(".pyi")
HEAVY = {"numpy", "scipy", "pandas", "msgspec", "psutil", "requests", "pooch", "PIL", "rich", "altair", "pytest"}


def fresh(code):
    """What another Python prints, in which nothing of ours was imported yet."""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return done.stdout.split()


def test_importing_the_package_loads_nothing_else():
    code = "import sys; import pytest_dlbench; print(*(name for name in sys.modules if 'dlbench' in name))"
    assert fresh(code) == ["pytest_dlbench"]
    assert not HEAVY & set(fresh("import sys; import pytest_dlbench as dlb; dir(dlb); print(*sys.modules)"))


def test_a_model_and_an_operator_are_written_without_numpy_and_without_pytest():
    code = "import sys; import pytest_dlbench as dlb; dlb.infer, dlb.MODELS, dlb.GEMM(m=1, n=2, k=3)"
    assert not HEAVY & set(fresh(f"{code}; print(*sys.modules)"))


def test_a_session_of_pytest_that_measures_nothing_does_not_load_numpy():
    assert "numpy" not in fresh("import sys; import pytest_dlbench.plugin.hooks; print(*sys.modules)")


@pytest.mark.parametrize("name", dlb.__all__)
def test_every_public_name_is_there_and_listed(name):
    assert getattr(dlb, name) is not None
    assert name in dir(dlb)


def test_every_public_name_is_listed_before_it_is_used():
    assert set(dlb.__all__) <= set(fresh("import pytest_dlbench; print(*dir(pytest_dlbench))"))


def test_what_type_checkers_see_is_what_there_is():
    imports = [node for node in ast.parse(STUB.read_text()).body if isinstance(node, ast.ImportFrom)]
    seen = {alias.asname: (node.module, alias.name) for node in imports for alias in node.names}
    table = dlb.PUBLIC.items()
    assert seen == {name: (f"pytest_dlbench.{module}", name) for module, names in table for name in names}


def test_no_name_is_public_twice():
    assert len(dlb.__all__) == sum(map(len, dlb.PUBLIC.values()))


def test_the_whole_vocabulary_is_public():
    # What the layers are made of is no part of it.
    assert set(model.layers.__all__) - {"Chained", "DoesNotFit", "Inferred"} <= set(dlb.__all__)
    assert set(model.__all__) <= set(dlb.__all__)


def test_every_error_is_public():
    own = {name for name in vars(errors) if name.endswith("Error")}
    assert own <= set(dlb.__all__)


def test_every_record_is_public():
    assert {name for name in records.__all__ if not name.isupper()} <= set(dlb.__all__)


def test_an_unknown_name_is_an_attribute_error_with_the_closest_match():
    with pytest.raises(AttributeError, match="'pytest_dlbench' has no attribute 'Modle'"):
        _ = dlb.Modle
    failed = subprocess.run(
        [sys.executable, "-c", "import pytest_dlbench as dlb; dlb.Modle"], capture_output=True, text=True, check=False
    )
    assert "Did you mean: 'Model'?" in failed.stderr


def test_modules_are_imported_as_from_any_package():
    assert fresh("from pytest_dlbench import judging; print(judging.__name__)") == ["pytest_dlbench.judging"]
