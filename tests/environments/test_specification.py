"""Frameworks in an environment that is part of the name."""

import hashlib
import json
import platform
from dataclasses import replace

import pytest

from pytest_dlbench.environments import FRAMEWORKS, Framework, declared
from pytest_dlbench.environments.environment import LAYOUT
from pytest_dlbench.environments.specification import specified
from pytest_dlbench.errors import OptionError

WHERE = "--dlbench-frameworks"


def test_the_declared_version_is_the_declared_environment():
    named = specified("pytorch==2.13.0", FRAMEWORKS, WHERE)
    assert named.environments == (declared.PYTORCH,)
    assert named.name == "pytorch==2.13.0"
    assert named.is_explicit


def test_another_version_may_have_older_packages_than_the_declared_one_but_no_newer():
    (environment,) = specified("tensorflow==2.19.0", FRAMEWORKS, WHERE).environments
    assert environment.requirements[0] == "tensorflow-cpu==2.19.0"
    bounds = tuple(pin.replace("==", "<=") for pin in declared.TENSORFLOW.requirements[1:])
    assert environment.requirements[1:] == bounds
    assert environment.folder_name != declared.TENSORFLOW.folder_name


@pytest.mark.parametrize(
    ("text", "pins"),
    [
        ("jax==0.9.0", {"jax==0.9.0", "jaxlib==0.9.0"}),
        ("mlx==0.30.1", {"mlx==0.30.1", "mlx-cpu==0.30.1"}),
        ("keras-jax==3.14.0", {"keras==3.14.0", "jax<=0.10.2", "jaxlib<=0.10.2"}),
    ],
)
def test_packages_released_together_get_the_same_version(text, pins):
    (environment,) = specified(text, FRAMEWORKS, WHERE).environments
    assert pins <= set(environment.requirements)


@pytest.mark.parametrize("version", ["1.11.0", "1.12.1", "2.2.2"])
def test_versions_in_between_get_a_python_that_has_wheels_for_them(version):
    (environment,) = specified(f"pytorch=={version}", FRAMEWORKS, WHERE).environments
    assert (environment.name, environment.python) == ("pytorch-1.11", "3.10")


def test_an_old_version_gets_the_python_and_the_pins_of_its_time():
    (environment,) = specified("pytorch==1.0.1", FRAMEWORKS, WHERE).environments
    assert environment == declared.PYTORCH_1_0


def test_a_version_of_a_variant_is_that_of_its_framework():
    named = specified("pytorch-compile==2.12.0", FRAMEWORKS, WHERE)
    assert "torch==2.12.0" in named.environments[0].requirements
    assert named.marks == ("pytorch-compile", "pytorch")


@pytest.mark.parametrize(
    ("text", "served", "nearest"),
    [
        ("pytorch==0.3", "torch>=1.0.1, not 0.3", "pytorch==1.0.1"),
        ("tensorflow==2.10", "tensorflow-cpu>=2.16, not 2.10", "tensorflow==2.16"),
        ("tensorflow1==2.1", "tensorflow<2,>=1.12, not 2.1", "tensorflow1==1.15.5"),
        ("paddle==2.6.2", "paddlepaddle>=3, not 2.6.2", "paddle==3"),
        ("tinygrad==0.9.0", "tinygrad>=0.14, not 0.9.0", "tinygrad==0.14"),
        ("keras-jax==2.15.0", "keras>=3, not 2.15.0", "keras-jax==3.0"),
        ("pytorch-compile==1.13.1", "torch>=2.1, not 1.13.1", "pytorch-compile==2.3"),
    ],
)
def test_a_version_that_the_builder_does_not_serve_is_refused_with_those_served_and_the_nearest(text, served, nearest):
    with pytest.raises(OptionError) as caught:
        specified(text, FRAMEWORKS, WHERE)
    name = text.partition("==")[0]
    assert str(caught.value) == f"{WHERE}: the builder of {name} serves {served}; the nearest is {nearest}"


def test_a_requirements_file_with_a_version_that_the_builder_does_not_serve_is_refused(tmp_path):
    (tmp_path / "pins.txt").write_text("torch==0.4.1\n")
    with pytest.raises(OptionError, match=r"pins\.txt pins torch==0\.4\.1; the builder of pytorch serves torch>=1"):
        specified(f"pytorch@{tmp_path}/pins.txt", FRAMEWORKS, WHERE)


@pytest.mark.parametrize("line", ["torch>=2.12", "torch==2.12.*", "torch", "torch==0.4.1 ; python_version < '3.7'"])
def test_what_a_range_will_be_is_known_only_when_it_is_built(tmp_path, line):
    (tmp_path / "pins.txt").write_text(f"{line}\n")
    assert specified(f"pytorch@{tmp_path}/pins.txt", FRAMEWORKS, WHERE).environments[0].requirements == (line,)


def test_an_invalid_version_is_refused():
    with pytest.raises(OptionError, match=r"'newest' is not a version; expected something like pytorch==2\.1"):
        specified("pytorch==newest", FRAMEWORKS, WHERE)


def test_a_version_of_a_package_that_is_no_framework_says_how_to_compare_it():
    with pytest.raises(OptionError, match=r'environment="requirements\.txt"\), and compare .* rev:HEAD,worktree'):
        specified("numpy==2.3.5", FRAMEWORKS, "--dlbench-ab")


def test_an_unknown_framework_is_refused_with_a_suggestion():
    with pytest.raises(OptionError, match="did you mean 'pytorch'"):
        specified("pytorhc==2.12.0", FRAMEWORKS, WHERE)


def test_a_version_of_an_unavailable_framework_is_refused():
    with pytest.raises(OptionError, match="'torch7' has no package whose version could be chosen"):
        specified("torch7==7.0", FRAMEWORKS, WHERE)


def test_a_requirements_file_is_read_into_the_environment(tmp_path):
    file = tmp_path / "nightly.txt"
    file.write_text(
        "# of today\n--find-links /wheels\ntorch == 2.14.0 ; python_version > '3'\n\nnumpy==2.4.6  # as ever\n"
    )
    named = specified(f"pytorch@{file}", FRAMEWORKS, WHERE)
    assert named.name == "pytorch@nightly"
    (environment,) = named.environments
    assert environment.python == "3.11"
    assert environment.requirements == (
        "--find-links",
        "/wheels",
        "torch == 2.14.0 ; python_version > '3'",
        "numpy==2.4.6",
    )


def test_a_changed_requirements_file_is_another_environment(tmp_path):
    file = tmp_path / "pins.txt"
    folders = []
    for version in ("2.12.0", "2.13.0"):
        file.write_text(f"torch=={version}\n")
        folders.append(specified(f"pytorch@{file}", FRAMEWORKS, WHERE).environments[0].folder_name)
    assert len(set(folders)) == 2


@pytest.mark.parametrize("line", ["-r other.txt", "-e .", "--constraint pins.txt"])
def test_a_requirements_file_that_refers_to_others_is_refused(tmp_path, line):
    file = tmp_path / "pins.txt"
    file.write_text(f"numpy\n{line}\n")
    with pytest.raises(OptionError, match=r"pins\.txt:2: .* refers to other files"):
        specified(f"pytorch@{file}", FRAMEWORKS, WHERE)


def test_an_existing_python_is_used_as_it_is(tmp_path):
    python = tmp_path / "nightly" / "bin" / "python"
    python.parent.mkdir(parents=True)
    python.touch(0o755)
    named = specified(f"pytorch@{python}", FRAMEWORKS, WHERE)
    assert named.python == python
    assert named.name == "pytorch@nightly"
    assert not named.environments


def test_a_missing_file_is_refused_with_the_supported_forms(tmp_path):
    with pytest.raises(OptionError, match=r"there is no file .*; an environment is NAME, NAME==VERSION"):
        specified(f"pytorch@{tmp_path}/nothing.txt", FRAMEWORKS, WHERE)


def test_a_file_for_a_framework_without_an_environment_is_refused(tmp_path):
    (tmp_path / "pins.txt").touch()
    with pytest.raises(OptionError, match="'mine' has no environment"):
        specified(f"mine@{tmp_path}/pins.txt", {"mine": Framework(name="mine", builder="mine")}, WHERE)


def test_a_path_that_is_too_long_is_refused():
    with pytest.raises(OptionError, match=r"File name too long; an environment is NAME"):
        specified(f"pytorch@{'x' * 5000}", FRAMEWORKS, WHERE)


@pytest.fixture
def pinning(tmp_path, monkeypatch):
    """A function that returns the environment of a requirements file with one line, read in the folder of the test."""
    monkeypatch.chdir(tmp_path)

    def environment(line):
        (tmp_path / "pins.txt").write_text(f"{line}\n")
        return specified("pytorch@pins.txt", FRAMEWORKS, WHERE).environments[0]

    return environment


NAMED = [
    "./dist/mine-1.0.whl",
    "dist/mine-1.0.whl[fast]",
    "mine[fast] @ file://{}/dist/mine-1.0.whl",
    "{}/dist/mine-1.0.whl",
]


@pytest.mark.parametrize("named", NAMED)
def test_a_local_wheel_with_other_content_is_another_environment(pinning, tmp_path, named):
    wheel = tmp_path / "dist" / "mine-1.0.whl"
    wheel.parent.mkdir()
    folders = []
    for content in ("first", "other", "first"):
        wheel.write_text(content)
        environment = pinning(named.format(tmp_path))
        assert environment.requirements == (named.format(tmp_path),)
        folders.append(environment.folder_name)
    assert folders[0] == folders[2] != folders[1]


@pytest.mark.parametrize(
    "line", [".", "./source", ".[test]", "mine @ file://{}/source", "{}/source ; python_version > '3'"]
)
def test_a_local_folder_is_refused_with_what_to_name_instead(pinning, tmp_path, line):
    (tmp_path / "source").mkdir()
    with pytest.raises(OptionError, match=r"pins\.txt: .* is a folder, whose content may change; build a wheel"):
        pinning(line.format(tmp_path))


@pytest.mark.parametrize("line", ["./mine-1.0.whl", "mine-1.0-py3-none-any.whl", "mine @ file:///not/there.whl"])
def test_a_local_file_that_is_not_there_is_refused(pinning, line):
    with pytest.raises(OptionError, match=r"there is no file /.*\.whl; build a wheel"):
        pinning(line)


@pytest.mark.parametrize(
    "line",
    [
        "mine @ file:///not/there.whl ; python_version < '3'",
        "--find-links /not/there",
        "mine @ git+https://code.example/mine@8f1d0b2",
        "https://wheels.example/mine-1.0-py3-none-any.whl",
    ],
)
def test_what_is_not_installed_from_a_local_path_is_no_local_path(pinning, line):
    assert pinning(line).requirements


def test_the_hash_of_ordinary_requirements_depends_on_their_text_alone(pinning):
    environment = replace(pinning("torch==2.13.0"), name="mine")
    content = [LAYOUT, platform.machine(), environment.python, ["torch==2.13.0"], [], []]
    assert environment.folder_name == f"mine-{hashlib.sha256(json.dumps(content).encode()).hexdigest()[:12]}"
