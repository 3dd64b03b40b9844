"""Lock files of four kinds, and what is read from them."""

import pytest

from pytest_dlbench.environments.locks import read
from pytest_dlbench.errors import OptionError

COMPILED = """
--extra-index-url https://wheels.example/cpu
numpy==2.4.6 \\
    --hash=sha256:aa \\
    --hash=sha256:bb
    # via
    #   -r requirements.in
    #   torch
sympy==1.14.0  # via torch
torch==2.13.0+cpu ; python_version >= "3.10" \\
    --hash=sha256:cc
    # via -r requirements.in
torch==2.2.2 ; python_version < "3.10"
    # via -r requirements.in
"""
PYLOCK = """
lock-version = "1.0"
created-by = "uv"
[[packages]]
name = "numpy"
version = "2.4.6"
index = "https://usual.example/simple"
[[packages]]
name = "jax"
version = "0.10.2"
marker = "python_version >= '3.10'"
index = "https://usual.example/simple"
dependencies = [{name = "numpy"}]
[[packages]]
name = "jaxlib"
version = "0.10.2"
index = "https://wheels.example/simple"
[[packages]]
name = "ours"
directory = {path = "."}
"""
UV = """
version = 1
requires-python = ">=3.11"
[[package]]
name = "app"
version = "0.1.0"
source = {virtual = "."}
dependencies = [{name = "torch"}]
[[package]]
name = "numpy"
version = "2.4.6"
source = {registry = "https://usual.example/simple"}
[[package]]
name = "torch"
version = "2.13.0"
source = {registry = "https://usual.example/simple"}
dependencies = [{name = "numpy"}, {name = "Typing_Extensions", marker = "sys_platform == 'linux'"}]
resolution-markers = ["sys_platform == 'linux'", "sys_platform == 'darwin'"]
[package.optional-dependencies]
opt = [{name = "opt-einsum"}]
"""
POETRY = """
[[package]]
name = "numpy"
version = "2.4.6"
markers = "python_version >= '3.11'"
[[package]]
name = "torch"
version = "2.13.0"
[package.dependencies]
numpy = {version = ">=1", markers = "x"}
[package.source]
type = "legacy"
url = "https://wheels.example/simple"
[metadata]
lock-version = "2.1"
"""


@pytest.fixture
def lock(tmp_path):
    """The lock read from a file of this name and text."""

    def write(name, text):
        (tmp_path / name).write_text(text)
        return read(tmp_path / name, "dlbench bump")

    return write


def test_compiled_requirements_give_versions_without_hashes(lock):
    assert [pin.requirement for pin in lock("requirements.txt", COMPILED).pins] == [
        "numpy==2.4.6",
        "sympy==1.14.0",
        'torch==2.13.0+cpu ; python_version >= "3.10"',
        'torch==2.2.2 ; python_version < "3.10"',
    ]


def test_markers_are_evaluated_for_the_frameworks_python(lock):
    found = lock("requirements.txt", COMPILED)
    assert found.versions("3.9")["torch"] == "2.2.2"
    assert found.versions("3.11")["torch"] == "2.13.0+cpu"


def test_comments_after_a_pin_list_what_needs_it(lock):
    needs = {pin.name: pin.needs for pin in lock("requirements.txt", COMPILED).pins}
    assert needs["torch"] == {"numpy", "sympy"}
    assert needs["numpy"] == set()


def test_requirements_without_such_comments_list_no_dependencies(lock):
    assert not lock("requirements.txt", "torch==2.13.0\nnumpy==2.4.6\n").lists_dependencies


def test_options_of_requirements_are_kept(lock):
    found = lock("requirements.txt", COMPILED)
    assert found.as_requirements().startswith("--extra-index-url https://wheels.example/cpu\nnumpy==2.4.6\n")


@pytest.mark.parametrize(
    ("name", "text", "versions", "needs"),
    [
        ("pylock.toml", PYLOCK, {"numpy": "2.4.6", "jax": "0.10.2", "jaxlib": "0.10.2"}, ("jax", {"numpy"})),
        (
            "uv.lock",
            UV,
            {"numpy": "2.4.6", "torch": "2.13.0"},
            ("torch", {"numpy", "typing-extensions", "opt-einsum"}),
        ),
        ("poetry.lock", POETRY, {"numpy": "2.4.6", "torch": "2.13.0"}, ("torch", {"numpy"})),
    ],
    ids=["pylock", "uv", "poetry"],
)
def test_versions_and_needs_of_a_lock_file(lock, name, text, versions, needs):
    found = lock(name, text)
    assert found.versions("3.11") == versions
    assert needs in [(pin.name, pin.needs) for pin in found.pins]


def test_an_index_of_few_packages_becomes_an_option(lock):
    assert lock("pylock.toml", PYLOCK).options == ("--extra-index-url=https://wheels.example/simple",)


def test_a_lock_survives_a_round_trip_through_requirements(lock):
    found = lock("uv.lock", UV)
    again = lock("again.txt", found.as_requirements())
    assert again.versions("3.11") == found.versions("3.11")


@pytest.mark.parametrize(
    ("line", "version"),
    [
        ("torch==2.13.0", "2.13.0"),
        ("torch[opt,all]==2.13.0", "2.13.0"),
        ("torch>=2,<3", "<3,>=2"),
        ("torch==2.13.*", "==2.13.*"),
        ("torch @ https://wheels.example/torch-2.13.0.whl", "https://wheels.example/torch-2.13.0.whl"),
        ("torch", ""),
    ],
)
def test_every_requirement_is_read_and_written_again(lock, line, version):
    found = lock("requirements.txt", f"--pre\n--index-url https://usual.example\n{line}\nnumpy==2.4.6\n")
    assert found.pins[0].version == version
    assert found.options == ("--pre", "--index-url https://usual.example")
    assert lock("again.txt", found.as_requirements()).pins[0] == found.pins[0]


AT_GIT = {
    "uv.lock": UV.replace(
        """source = {registry = "https://usual.example/simple"}\ndep""",
        """source = {git = "https://example.org/t?rev=main#abc"}\ndep""",
    ),
    "pylock.toml": f"""{PYLOCK}
[[packages]]
name = "torch"
vcs = {{type = "git", url = "https://example.org/t", commit-id = "abc"}}
""",
    "poetry.lock": """
[[package]]
name = "torch"
version = "2.13.0"
[package.source]
type = "git"
url = "https://example.org/t"
resolved_reference = "abc"
[metadata]
lock-version = "2.1"
""",
}


@pytest.mark.parametrize("name", AT_GIT)
def test_a_repository_is_pinned_with_its_commit(lock, name):
    assert lock(name, AT_GIT[name]).versions("3.11")["torch"] == "git+https://example.org/t@abc"


@pytest.mark.parametrize(
    ("name", "text", "complaint"),
    [
        ("empty.txt", "# nothing\n", "pins no versions"),
        ("loose.txt", "torch\nnumpy\n", "pins no versions"),
        ("broken.toml", "[[package", "cannot be read as"),
        ("other.toml", "[project]\nname = 'x'\n", "is not a supported lock file"),
        ("uv.lock", "version = 1\npackage = [{version = '1'}]\n", "cannot be read as"),
    ],
)
def test_a_file_that_is_not_a_lock_is_refused_with_the_supported_formats(lock, name, text, complaint):
    with pytest.raises(OptionError, match=f"{complaint}.*expected|{complaint} a requirements file"):
        lock(name, text)


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(OptionError, match=r"there is no file .*uv\.lock"):
        read(tmp_path / "uv.lock", "dlbench bump")
