"""``dlbench models``, as a user calls it."""

from dataclasses import replace

from pytest_dlbench.cli.main import main
from pytest_dlbench.environments import FRAMEWORKS


def test_models_are_listed_with_parameters_and_multiply_adds(capsys):
    assert main(["models"]) == 0
    (line,) = (line for line in capsys.readouterr().out.splitlines() if line.startswith("hkbu-fcn-r "))
    assert line.split()[1:5] == ["hkbu", "1×28×28", "14,205,962", "14,198,784"]


def test_a_model_is_shown_layer_by_layer_with_the_total(capsys):
    assert main(["models", "gatech-lenet"]) == 0
    lines = capsys.readouterr().out.splitlines()
    first = lines[1].split()
    assert " ".join(first[:-3]) == "conv1 Conv2D(filters=20, kernel=5, stride=1, padding='valid', bias=True, groups=1)"
    assert first[-3:] == ["20×24×24", "520", "288,000"]
    assert lines[-1].split() == ["total", "431,080", "2,293,000"]


def test_the_source_of_a_model_may_be_omitted_as_in_options(capsys):
    assert main(["models", "lenet"]) == 0
    assert "431,080" in capsys.readouterr().out


def test_an_unknown_model_is_reported_with_the_closest_match(capsys):
    assert main(["models", "gatech-lennet"]) == 2
    assert "did you mean 'gatech-lenet'?" in capsys.readouterr().err


def test_the_native_model_is_printed_by_the_framework(capsys):
    assert main(["models", "gatech-lenet", "--native", "pytorch"]) == 0
    out = capsys.readouterr().out
    assert "Conv2d(1, 20, kernel_size=(5, 5), stride=(1, 1))" in out
    assert "Linear(in_features=800, out_features=500, bias=True)" in out


def test_a_native_model_of_an_unknown_framework_is_reported_with_the_closest_match(capsys):
    assert main(["models", "gatech-lenet", "--native", "pytorhc"]) == 2
    assert "did you mean 'pytorch'?" in capsys.readouterr().err


def test_a_native_model_of_an_unknown_name_is_reported_with_the_closest_match(capsys):
    assert main(["models", "gatech-lennet", "--native", "pytorch"]) == 2
    assert "did you mean 'gatech-lenet'?" in capsys.readouterr().err


def test_a_model_that_the_framework_cannot_build_is_an_error_with_the_reason(capsys, monkeypatch):
    broken = replace(FRAMEWORKS["pytorch"], builder="dlworker.frameworks.nobody_wrote_this")
    monkeypatch.setitem(FRAMEWORKS, "pytorch", broken)
    assert main(["models", "gatech-lenet", "--native", "pytorch"]) == 2
    assert "nobody_wrote_this" in capsys.readouterr().err


def test_native_without_a_model_is_a_usage_error(capsys):
    assert main(["models", "--native", "jax"]) == 2
    assert "name a model, such as dlbench models gatech-lenet --native jax" in capsys.readouterr().err
