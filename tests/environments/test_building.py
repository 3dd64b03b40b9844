"""Environments that are really built: once, whole or not at all, and told about."""

import errno
import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from unittest.mock import Mock

import pytest

from pytest_dlbench.environments import building, installing, interpreters
from pytest_dlbench.environments.building import STAMP, EnvironmentStore
from pytest_dlbench.errors import EnvironmentBuildError, EnvironmentMissingError, OptionError
from tests.environments.wheels import write_wheel

ROOT = Path(__file__).parents[2]
# What another process does: build the environment that the test has, and say what it was told meanwhile.
BUILD = """
import sys
from pathlib import Path
from pytest_dlbench.environments import Environment
from pytest_dlbench.environments.building import EnvironmentStore
from tests.environments.conftest import HERE, Told

told = Told()
small = Environment(name="small", python=HERE, requirements=("small==1.0",))
EnvironmentStore(root=Path(sys.argv[1])).build(small, told)
print(*told.lines, sep="\\n")
"""


def version(built) -> str:
    command = [str(built.python), "-c", "import small; print(small.VERSION)"]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


@pytest.fixture(params=["uv", "pip"])
def tool(request, monkeypatch):
    if request.param == "pip":
        monkeypatch.setattr(installing, "uv", lambda: None)
    return request.param


def test_an_environment_is_built_with_what_it_requires(store, small, told, tool):
    built = store.build(small, told)
    assert version(built) == "1.0"
    assert built.tool == tool
    assert "small==1.0" in built.installed
    assert built.caches.is_dir()
    assert [line.split(": ")[1].split()[0] for line in told.lines] == ["building", "built"]


def test_what_is_built_is_found_and_not_built_again(store, small, told):
    assert store.find(small) is None
    built = store.build(small, told)
    assert store.find(small) == store.build(small, told) == built
    assert len(told.lines) == 2


def test_another_pin_is_another_environment_beside_it(store, small, told):
    other = replace(small, requirements=("small==2.0",))
    assert version(store.build(small, told)) == "1.0"
    assert version(store.build(other, told)) == "2.0"
    assert version(store.find(small)) == "1.0"


def test_an_environment_without_a_stamp_is_not_finished_and_is_built_anew(store, small, told):
    built = store.build(small, told)
    (built.folder / STAMP).unlink()
    (built.folder / "left-over").touch()
    assert store.find(small) is None
    assert store.all() == {built.folder.name: None}
    assert version(store.build(small, told)) == "1.0"
    assert not (built.folder / "left-over").exists()


def test_an_environment_whose_python_has_gone_is_not_finished(store, small, told):
    built = store.build(small, told)
    built.python.unlink()
    assert store.find(small) is None
    assert version(store.build(small, told)) == "1.0"


def test_a_damaged_stamp_is_no_stamp(store, small, told):
    built = store.build(small, told)
    (built.folder / STAMP).write_text('{"tool": "uv"')
    assert store.find(small) is None
    (built.folder / STAMP).write_text(json.dumps({"tool": "uv"}))
    assert store.find(small) is None


def test_two_processes_that_want_it_at_once_build_it_once(store, small, tmp_path):
    # The lock is held here until both have come to it.
    store.root.mkdir()
    lock = store.root / f"{small.folder_name}.lock"
    command = [sys.executable, "-c", BUILD, str(store.root)]
    with building._lock(lock, lambda: None):
        both = [subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) for _ in range(2)]
        while sum(_waits_for(lock, process.pid) for process in both) < 2:
            assert all(process.poll() is None for process in both)
    told = [process.communicate(timeout=120)[0] for process in both]
    assert all("another process builds it: waiting" in text for text in told)
    assert sum("built in" in text for text in told) == 1
    assert version(store.find(small)) == "1.0"


def _waits_for(lock: Path, pid: int) -> bool:
    """Whether the kernel lists the process as blocked on the lock."""
    waiting = [line.split() for line in Path("/proc/locks").read_text().splitlines() if "->" in line]
    return any(fields[5] == str(pid) and fields[6].endswith(f":{lock.stat().st_ino}") for fields in waiting)


@pytest.fixture
def slow_uv(tmp_path):
    """A uv that tells that it was started, and waits until something is written to ``go``, as for a slow download."""
    os.mkfifo(tmp_path / "go")
    program = tmp_path / "uv"
    lines = ["#!/bin/sh", f'echo >"{tmp_path}/started"', f'cat "{tmp_path}/go"', f'exec {interpreters.uv()} "$@"', ""]
    program.write_text("\n".join(lines))
    program.chmod(0o755)
    return program


def test_a_killed_build_is_not_finished_and_its_installer_keeps_the_lock(store, small, told, tmp_path, slow_uv):
    script = f"from pytest_dlbench.environments import installing\ninstalling.uv = lambda: {str(slow_uv)!r}\n{BUILD}"
    process = subprocess.Popen([sys.executable, "-c", script, str(store.root)], cwd=ROOT)
    while not (tmp_path / "started").exists():
        assert process.poll() is None
    process.kill()
    process.wait()
    assert store.find(small) is None
    # Nobody builds in the same folder until the installer, which has outlived its master, has ended, too.
    go_on = Mock(side_effect=lambda: (tmp_path / "go").write_text("on"))
    with building._lock(store.root / f"{small.folder_name}.lock", go_on):
        go_on.assert_called_once()
    assert version(store.build(small, told)) == "1.0"


def test_a_requirement_that_nobody_has_is_told_with_the_end_of_the_log(store, small, told, tool):
    wanted = replace(small, name="broken", requirements=("small==1.0", "nobody-has-this==3.1"))
    with pytest.raises(EnvironmentBuildError) as raised:
        store.build(wanted, told)
    text = str(raised.value)
    assert "environment 'broken'" in text
    assert "requirements: small==1.0 nobody-has-this==3.1" in text
    assert "  | " in text
    assert text.count("nobody-has-this") >= 2
    # What is left of it would only take room.
    assert not (store.root / wanted.folder_name).exists()


def test_a_full_disk_is_told_as_the_installer_tells_it(store, small, told):
    store.root.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(store.root)], check=False)
    if mounted.returncode:
        pytest.skip("mounting a small file system is not allowed here")
    try:
        with pytest.raises(EnvironmentBuildError, match="No space left on device"):
            store.build(small, told)
        assert store.find(small) is None
    finally:
        subprocess.run(["umount", "-l", str(store.root)], check=True)


def test_a_python_that_is_missing_is_told_before_anything_is_built(store, small, told):
    with pytest.raises(EnvironmentMissingError, match=r"'small' wants Python 3\.99"):
        store.build(replace(small, python="3.99"), told)
    assert not store.root.exists()


def test_a_chosen_python_is_the_one_that_it_is_built_with(store, small, told):
    here = interpreters.probe(sys.executable).executable
    chosen = replace(store, pythons={"small": here})
    assert chosen.build(small, told).interpreter == here
    assert chosen.find(small) is not None


def test_a_shim_is_the_python_that_it_starts(store, small, told, tmp_path):
    shim = tmp_path / "python"
    shim.write_text(f'#!/bin/sh\nexec {sys.executable} "$@"\n')
    shim.chmod(0o755)
    chosen = replace(store, pythons={"small": str(shim)})
    chosen.build(small, told)
    assert chosen.find(small) is not None


def test_with_a_chosen_python_that_is_not_there_nothing_is_found_and_building_says_so(store, small, told, tmp_path):
    store.build(small, told)
    chosen = replace(store, pythons={"small": str(tmp_path / "gone")})
    assert chosen.find(small) is None
    with pytest.raises(OptionError, match="is no Python that can make an environment"):
        chosen.build(small, told)


def test_a_chosen_python_of_another_version_is_refused(store, small, told):
    chosen = replace(store, pythons={"small": sys.executable})
    with pytest.raises(OptionError, match=r"Python 3\.6 is wanted"):
        chosen.build(replace(small, python="3.6"), told)


def test_what_is_removed_is_gone(store, small, told):
    built = store.build(small, told)
    assert store.remove(built.folder.name)
    assert not built.folder.exists()
    assert not store.remove(built.folder.name)


def test_a_step_that_follows_the_installation_is_done_in_the_environment(store, small, told, monkeypatch):
    monkeypatch.setattr(building, "STEPS", {"touch": lambda python, _: (python.parent / "touched").touch()})
    built = store.build(replace(small, steps=("touch",)), told)
    assert (built.python.parent / "touched").exists()
    assert built.folder.name != small.folder_name


def test_a_disk_that_is_full_behind_the_installation_is_told_with_the_requirements_and_leaves_nothing(
    store, small, told, monkeypatch
):
    def no_room(python, log):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(building, "STEPS", {"writes": no_room})
    wanted = replace(small, steps=("writes",))
    told_of = r"environment 'small' could not be built: .*No space left on device\n  requirements: small==1\.0"
    with pytest.raises(EnvironmentBuildError, match=told_of):
        store.build(wanted, told)
    assert not (store.root / wanted.folder_name).exists()


def test_the_users_own_python_settings_do_not_reach_a_build(store, small, told, monkeypatch, tool):
    monkeypatch.setenv("PYTHONPATH", "/nowhere")
    monkeypatch.setenv("PYTHONHOME", "/nowhere")
    assert version_in_clean(store.build(small, told)) == "1.0"


def version_in_clean(built) -> str:
    command = [str(built.python), "-I", "-c", "import small; print(small.VERSION)"]
    environment = interpreters.clean_environment()
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout.strip()


def test_a_wheel_that_is_not_there_for_this_python_is_told(store, small, told, wheels):
    wheel = write_wheel(wheels, "elsewhere", "1.0")
    wheel.rename(wheel.with_name("elsewhere-1.0-cp36-cp36m-manylinux1_x86_64.whl"))
    with pytest.raises(EnvironmentBuildError, match="elsewhere"):
        store.build(replace(small, requirements=("elsewhere==1.0",)), told)


def test_stores_lie_in_the_users_cache(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert EnvironmentStore().root == tmp_path / "pytest-dlbench" / "environments"
