"""What a pixi.lock pins for a virtual environment, in the formats of pixi, and what is refused."""

import pytest

from pytest_dlbench.environments import pixi
from pytest_dlbench.environments.of_programs import place_of
from pytest_dlbench.errors import OptionError

WHERE = "test_ours"
CONDA = "https://conda.example.org/forge"
FILES = "https://files.example.org/packages"
# What a workspace with python and two packages of PyPI gets, in the order and with the fields of pixi's own files.
LOCK = f"""version: 6
environments:
  default:
    channels:
    - url: {CONDA}/
    indexes:
    - https://index.example.org/simple
    options:
      pypi-prerelease-mode: if-necessary-or-explicit
    packages:
      linux-64:
      - conda: {CONDA}/linux-64/libzlib-1.3.1-hb9d3cd8_2.conda
      - conda: {CONDA}/linux-64/openssl-3.5.0-h7b32b05_1.conda
      - conda: {CONDA}/linux-64/python-3.12.10-h9e4cc4f_0_cpython.conda
      - conda: {CONDA}/noarch/python_abi-3.12-7_cp312.conda
      - conda: {CONDA}/noarch/tzdata-2025b-h78e105d_0.conda
      - pypi: {FILES}/1a/2b/numpy-2.4.6-cp312-cp312-manylinux_2_27_x86_64.manylinux_2_28_x86_64.whl
      - pypi: {FILES}/3c/4d/Plain.Name-1.10.tar.gz
      - pypi: ./
      osx-arm64:
      - conda: {CONDA}/osx-arm64/python-3.12.10-hc22306f_0_cpython.conda
      - pypi: {FILES}/5e/6f/numpy-2.3.0-cp312-cp312-macosx_14_0_arm64.whl
packages:
- conda: {CONDA}/linux-64/libzlib-1.3.1-hb9d3cd8_2.conda
  sha256: d4bfe88d7cb447768e31650f06257995601f89076080e76df55e3112d4e47dc4
  md5: edb0dca6bc32e4f4789199455a1dbeb8
  depends:
  - __glibc >=2.17,<3.0.a0
  license: Zlib
  size: 60963
  timestamp: 1727963148474
- pypi: {FILES}/1a/2b/numpy-2.4.6-cp312-cp312-manylinux_2_27_x86_64.manylinux_2_28_x86_64.whl
  name: numpy
  version: 2.4.6
  sha256: 6e4d7b650c0d5e7a0f0c4ef1c3a3d2b1a0f9e8d7c6b5a4f3e2d1c0b9a8f7e6d5
  requires_python: '>=3.11'
- pypi: {FILES}/5e/6f/numpy-2.3.0-cp312-cp312-macosx_14_0_arm64.whl
  name: numpy
  version: 2.3.0
  sha256: 0a4d7b650c0d5e7a0f0c4ef1c3a3d2b1a0f9e8d7c6b5a4f3e2d1c0b9a8f7e6d5
- conda: {CONDA}/linux-64/openssl-3.5.0-h7b32b05_1.conda
  sha256: b4491077c494dbf0b5eaa6d87738c22f2154e9277e5293175ec187634bd808a0
  depends:
  - __glibc >=2.17,<3.0.a0
  - ca-certificates
  - libgcc >=13
- pypi: ./
  name: ours
  version: 0.1.0
  sha256: 1b4d7b650c0d5e7a0f0c4ef1c3a3d2b1a0f9e8d7c6b5a4f3e2d1c0b9a8f7e6d5
  editable: true
- pypi: {FILES}/3c/4d/Plain.Name-1.10.tar.gz
  name: plain-name
  version: '1.10'
  sha256: 2c4d7b650c0d5e7a0f0c4ef1c3a3d2b1a0f9e8d7c6b5a4f3e2d1c0b9a8f7e6d5
- conda: {CONDA}/linux-64/python-3.12.10-h9e4cc4f_0_cpython.conda
  sha256: 4dc1da115805bd353bded6ab20ff642b6a15fcc72ac2f3de0e1d014ff3612221
  depends:
  - __glibc >=2.17,<3.0.a0
  - libzlib >=1.3.1,<2.0a0
  - openssl >=3.5.0,<4.0a0
  - tzdata
  constrains:
  - python_abi 3.12.* *_cp312
  license: Python-2.0
- conda: {CONDA}/noarch/python_abi-3.12-7_cp312.conda
  build_number: 7
  constrains:
  - python 3.12.* *_cp312
- conda: {CONDA}/noarch/tzdata-2025b-h78e105d_0.conda
  sha256: 5aaa366385d716557e365f0a4e9c3fca43ba196872abbbe3d56bb610d131e192
"""
OLDER = f"""version: 5
environments:
  default:
    channels:
    - url: {CONDA}/
    packages:
      linux-64:
      - conda: {CONDA}/linux-64/libzlib-1.2.13-h4ab18f5_6.conda
      - conda: {CONDA}/linux-64/python-3.11.9-hb806964_0_cpython.conda
      - pypi: {FILES}/7a/8b/six-1.16.0-py2.py3-none-any.whl
      - pypi: ./links/idna-3.7-py3-none-any.whl
packages:
- kind: pypi
  name: idna
  version: '3.7'
  path: ./links/idna-3.7-py3-none-any.whl
  requires_python: '>=3.5'
- kind: conda
  name: libzlib
  version: 1.2.13
  build: h4ab18f5_6
  subdir: linux-64
  url: {CONDA}/linux-64/libzlib-1.2.13-h4ab18f5_6.conda
- kind: conda
  name: python
  version: 3.11.9
  build: hb806964_0_cpython
  subdir: linux-64
  url: {CONDA}/linux-64/python-3.11.9-hb806964_0_cpython.conda
  depends:
  - libzlib >=1.2.13,<1.3.0a0
- kind: pypi
  name: six
  version: 1.16.0
  url: {FILES}/7a/8b/six-1.16.0-py2.py3-none-any.whl
"""
NEWER = """version: 7
platforms:
- name: cluster
  subdir: linux-64
  virtual-packages:
  - __cuda=12
- name: osx-64
environments:
  default:
    channels: []
    packages:
      cluster:
      - pypi: https://wheels.example.org/torch-2.13.0%2Bcpu-cp311-cp311-linux_x86_64.whl
      - pypi: https://other.example.org/mine-1.0-py3-none-any.whl
      - pypi: git+https://code.example.org/tools?subdirectory=python&rev=v1#8f1d0b2c7e3a4f5b6c7d8e9fa0b1c2d3e4f5a6b7
packages:
- pypi: git+https://code.example.org/tools?subdirectory=python&rev=v1#8f1d0b2c7e3a4f5b6c7d8e9fa0b1c2d3e4f5a6b7
  name: tools
  version: 1.0.0
- pypi: https://other.example.org/mine-1.0-py3-none-any.whl
  name: mine
  version: '1.0'
  index: https://other.example.org/simple
- pypi: https://wheels.example.org/torch-2.13.0%2Bcpu-cp311-cp311-linux_x86_64.whl
  name: torch
  version: 2.13.0+cpu
"""


@pytest.fixture(autouse=True)
def _on_linux_64(monkeypatch):
    monkeypatch.setattr(pixi, "HERE", "linux-64")


@pytest.fixture
def lock(tmp_path):
    """Writes a pixi.lock."""

    def written(text):
        (tmp_path / "pixi.lock").write_text(text)
        return tmp_path / "pixi.lock"

    return written


def refused(path):
    with pytest.raises(OptionError) as raised:
        pixi.read(path, WHERE)
    return str(raised.value)


def test_the_packages_of_pypi_for_this_machine_are_pinned_and_python_is_that_of_conda(lock):
    found = pixi.read(lock(LOCK), WHERE)
    assert found == pixi.Pinned(python="3.12", requirements=("numpy==2.4.6", "plain-name==1.10"))


def test_an_older_format_has_the_same_with_its_kinds_of_packages(lock, tmp_path):
    found = pixi.read(lock(OLDER), WHERE)
    wheel = (tmp_path / "links" / "idna-3.7-py3-none-any.whl").as_uri()
    assert found == pixi.Pinned(python="3.11", requirements=("six==1.16.0", f"idna @ {wheel}"))


def test_what_the_usual_index_does_not_have_is_pinned_by_its_address(lock):
    found = pixi.read(lock(NEWER), WHERE)
    assert found.python == ""
    assert found.requirements == (
        "torch @ https://wheels.example.org/torch-2.13.0%2Bcpu-cp311-cp311-linux_x86_64.whl",
        "mine @ https://other.example.org/mine-1.0-py3-none-any.whl",
        "tools @ git+https://code.example.org/tools@8f1d0b2c7e3a4f5b6c7d8e9fa0b1c2d3e4f5a6b7#subdirectory=python",
    )


def test_it_is_an_environment_of_programs(lock):
    path = lock(LOCK)
    found = place_of("pixi.lock", path.parent, WHERE)
    (environment,) = found.environments
    assert (environment.python, environment.requirements) == ("3.12", ("numpy==2.4.6", "plain-name==1.10"))
    assert found.requirements_file == path


@pytest.mark.parametrize("name", ["scipy-1.15.2-py312ha707e6e_0.conda", "cuda-version-12.9-h4f385c5_3.conda"])
def test_other_packages_of_conda_are_refused_by_name_with_what_to_do(lock, name):
    listed = f"      - conda: {CONDA}/linux-64/{name}\n      - conda: {CONDA}/linux-64/openssl"
    message = refused(lock(LOCK.replace(f"      - conda: {CONDA}/linux-64/openssl", listed, 1)))
    assert f"cannot have its conda packages {name.rsplit('-', 2)[0]}; build it with" in message
    assert 'environment=".pixi/envs/default/bin/python"' in message


def test_what_installs_packages_is_no_reason_to_refuse(lock):
    listed = f"      - conda: {CONDA}/noarch/pip-25.1-pyh8b19718_0.conda\n      - pypi: ./\n"
    assert pixi.read(lock(LOCK.replace("      - pypi: ./\n", listed, 1)), WHERE).python == "3.12"


@pytest.mark.parametrize(
    ("old", "new", "part"),
    [
        ("linux-64:", "linux-ppc64le:", "nothing for linux-64, only linux-ppc64le, osx-arm64; add it: pixi workspace"),
        ("  default:", "  cuda:", "no environment 'default', only cuda"),
        ("version: 6", "version: 12", "has format 12; known are 4 to 7"),
        ("environments:", "- environments:", "is no lock file of pixi"),
        ("version: 6", "version: six", "is no lock file of pixi"),
        ("pypi: ./\n", "pypi: ./libs/other\n", "ours is the folder ./libs/other, whose content may change"),
    ],
)
def test_what_cannot_be_read_says_why_and_what_to_do(lock, old, new, part):
    assert part in refused(lock(LOCK.replace(old, new)))
