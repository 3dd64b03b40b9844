"""Environments that are really built: once, atomically, and with progress reported."""

import errno
import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from unittest.mock import Mock

import pytest

from pytest_dlbench.environments import Environment, building, installing, interpreters
from pytest_dlbench.environments.building import STAMP, EnvironmentStore
from pytest_dlbench.errors import EnvironmentBuildError, EnvironmentMissingError, OptionError
from tests.environments.conftest import HERE
from tests.environments.wheels import write_wheel

ROOT = Path(__file__).parents[2]
# What another process does: build the test's environment, and print the progress.
BUILD = """
import sys
from pathlib import Path
from pytest_dlbench.environments import Environment
from pytest_dlbench.environments.building import EnvironmentStore
from tests.environments.conftest import HERE, RecordedProgress

progress = RecordedProgress()
small = Environment(name="small", python=HERE, requirements=("small==1.0",))
EnvironmentStore(root=Path(sys.argv[1])).build(small, progress)
print(*progress.lines, sep="\\n")
"""


def version(built) -> str:
    command = [str(built.python), "-c", "import small; print(small.VERSION)"]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


@pytest.fixture(params=["uv", "pip"])
def tool(request, monkeypatch):
    if request.param == "pip":
        monkeypatch.setattr(installing, "uv", lambda: None)
    return request.param


def test_an_environment_is_built_with_its_requirements(store, small, progress, tool):
    built = store.build(small, progress)
    assert version(built) == "1.0"
    assert built.tool == tool
    assert "small==1.0" in built.installed
    assert built.caches.is_dir()
    assert [line.split(": ")[1].split()[0] for line in progress.lines] == ["building", "built"]


def test_a_built_environment_is_found_and_not_built_again(store, small, progress):
    assert store.find(small) is None
    built = store.build(small, progress)
    assert store.find(small) == store.build(small, progress) == built
    assert len(progress.lines) == 2


def test_a_changed_pin_is_a_separate_environment(store, small, progress):
    other = replace(small, requirements=("small==2.0",))
    assert version(store.build(small, progress)) == "1.0"
    assert version(store.build(other, progress)) == "2.0"
    assert version(store.find(small)) == "1.0"


def test_an_environment_without_a_stamp_is_unfinished_and_is_rebuilt(store, small, progress):
    built = store.build(small, progress)
    (built.folder / STAMP).unlink()
    (built.folder / "left-over").touch()
    assert store.find(small) is None
    assert store.all() == {built.folder.name: None}
    assert version(store.build(small, progress)) == "1.0"
    assert not (built.folder / "left-over").exists()


def test_an_environment_without_its_python_is_unfinished(store, small, progress):
    built = store.build(small, progress)
    built.python.unlink()
    assert store.find(small) is None
    assert version(store.build(small, progress)) == "1.0"


def test_a_damaged_stamp_counts_as_none(store, small, progress):
    built = store.build(small, progress)
    (built.folder / STAMP).write_text('{"tool": "uv"')
    assert store.find(small) is None
    (built.folder / STAMP).write_text(json.dumps({"tool": "uv"}))
    assert store.find(small) is None


def test_two_processes_build_an_environment_only_once(store, small, tmp_path):
    # Hold the lock until both processes wait for it.
    store.root.mkdir()
    lock = store.root / f"{small.folder_name}.lock"
    command = [sys.executable, "-c", BUILD, str(store.root)]
    with building._lock(lock, lambda: None):
        both = [subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) for _ in range(2)]
        while sum(_waits_for(lock, process.pid) for process in both) < 2:
            assert all(process.poll() is None for process in both)
    printed = [process.communicate(timeout=120)[0] for process in both]
    assert all("another process builds it: waiting" in text for text in printed)
    assert sum("built in" in text for text in printed) == 1
    assert version(store.find(small)) == "1.0"


def _waits_for(lock: Path, pid: int) -> bool:
    """Whether the kernel lists the process as blocked on the lock."""
    waiting = [line.split() for line in Path("/proc/locks").read_text().splitlines() if "->" in line]
    return any(fields[5] == str(pid) and fields[6].endswith(f":{lock.stat().st_ino}") for fields in waiting)


@pytest.fixture
def slow_uv(tmp_path):
    """A uv that creates ``started`` and then, as in a slow download, waits until something is written to ``go``."""
    os.mkfifo(tmp_path / "go")
    program = tmp_path / "uv"
    lines = ["#!/bin/sh", f'echo >"{tmp_path}/started"', f'cat "{tmp_path}/go"', f'exec {interpreters.uv()} "$@"', ""]
    program.write_text("\n".join(lines))
    program.chmod(0o755)
    return program


def test_a_killed_build_is_unfinished_and_its_installer_keeps_the_lock(store, small, progress, tmp_path, slow_uv):
    script = f"from pytest_dlbench.environments import installing\ninstalling.uv = lambda: {str(slow_uv)!r}\n{BUILD}"
    process = subprocess.Popen([sys.executable, "-c", script, str(store.root)], cwd=ROOT)
    while not (tmp_path / "started").exists():
        assert process.poll() is None
    process.kill()
    process.wait()
    assert store.find(small) is None
    # Nobody builds in the same folder before the installer, which outlives its killed parent, has ended.
    go_on = Mock(side_effect=lambda: (tmp_path / "go").write_text("on"))
    with building._lock(store.root / f"{small.folder_name}.lock", go_on):
        go_on.assert_called_once()
    assert version(store.build(small, progress)) == "1.0"


def test_an_unknown_requirement_is_reported_with_the_end_of_the_log(store, small, progress, tool):
    wanted = replace(small, name="broken", requirements=("small==1.0", "nobody-has-this==3.1"))
    with pytest.raises(EnvironmentBuildError) as raised:
        store.build(wanted, progress)
    text = str(raised.value)
    assert "environment 'broken'" in text
    assert "requirements: small==1.0 nobody-has-this==3.1" in text
    assert "  | " in text
    assert text.count("nobody-has-this") >= 2
    # Its remains would only take up space.
    assert not (store.root / wanted.folder_name).exists()


def test_a_full_disk_is_reported_with_the_installers_message(store, small, progress):
    store.root.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(store.root)], check=False)
    if mounted.returncode:
        pytest.skip("mounting a small file system is not allowed here")
    try:
        with pytest.raises(EnvironmentBuildError, match="No space left on device"):
            store.build(small, progress)
        assert store.find(small) is None
    finally:
        subprocess.run(["umount", "-l", str(store.root)], check=True)


def test_a_missing_python_is_reported_before_anything_is_built(store, small, progress):
    with pytest.raises(EnvironmentMissingError, match=r"'small' needs Python 3\.99"):
        store.build(replace(small, python="3.99"), progress)
    assert not store.root.exists()


def test_an_environment_is_built_with_the_chosen_python(store, small, progress):
    here = interpreters.probe(sys.executable).executable
    chosen = replace(store, pythons={"small": here})
    assert chosen.build(small, progress).interpreter == here
    assert chosen.find(small) is not None


def test_a_shim_counts_as_the_python_that_it_starts(store, small, progress, tmp_path):
    shim = tmp_path / "python"
    shim.write_text(f'#!/bin/sh\nexec {sys.executable} "$@"\n')
    shim.chmod(0o755)
    chosen = replace(store, pythons={"small": str(shim)})
    chosen.build(small, progress)
    assert chosen.find(small) is not None


def test_with_a_missing_chosen_python_nothing_is_found_and_building_fails(store, small, progress, tmp_path):
    store.build(small, progress)
    chosen = replace(store, pythons={"small": str(tmp_path / "gone")})
    assert chosen.find(small) is None
    with pytest.raises(OptionError, match="is not a Python that can create environments"):
        chosen.build(small, progress)


def test_a_chosen_python_of_another_version_is_refused(store, small, progress):
    chosen = replace(store, pythons={"small": sys.executable})
    with pytest.raises(OptionError, match=r"expected Python 3\.6"):
        chosen.build(replace(small, python="3.6"), progress)


def test_a_removed_environment_is_deleted(store, small, progress):
    built = store.build(small, progress)
    assert store.remove(built.folder.name)
    assert not built.folder.exists()
    assert not store.remove(built.folder.name)


def test_a_step_after_the_installation_runs_in_the_environment(store, small, progress, monkeypatch):
    monkeypatch.setattr(building, "STEPS", {"touch": lambda python, _: (python.parent / "touched").touch()})
    built = store.build(replace(small, steps=("touch",)), progress)
    assert (built.python.parent / "touched").exists()
    assert built.folder.name != small.folder_name


def test_a_disk_full_after_the_installation_is_reported_with_the_requirements_and_leaves_nothing(
    store, small, progress, monkeypatch
):
    def disk_full(python, log):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(building, "STEPS", {"writes": disk_full})
    wanted = replace(small, steps=("writes",))
    message = r"environment 'small' could not be built: .*No space left on device\n  requirements: small==1\.0"
    with pytest.raises(EnvironmentBuildError, match=message):
        store.build(wanted, progress)
    assert not (store.root / wanted.folder_name).exists()


def test_the_users_own_python_settings_do_not_reach_a_build(store, small, progress, monkeypatch, tool):
    monkeypatch.setenv("PYTHONPATH", "/nowhere")
    monkeypatch.setenv("PYTHONHOME", "/nowhere")
    assert version_in_clean(store.build(small, progress)) == "1.0"


def version_in_clean(built) -> str:
    command = [str(built.python), "-I", "-c", "import small; print(small.VERSION)"]
    environment = interpreters.clean_environment()
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout.strip()


def test_a_wheel_for_another_python_only_is_reported(store, small, progress, wheels):
    wheel = write_wheel(wheels, "elsewhere", "1.0")
    wheel.rename(wheel.with_name("elsewhere-1.0-cp36-cp36m-manylinux1_x86_64.whl"))
    with pytest.raises(EnvironmentBuildError, match="elsewhere"):
        store.build(replace(small, requirements=("elsewhere==1.0",)), progress)


def test_the_default_store_is_in_the_users_cache(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert EnvironmentStore().root == tmp_path / "pytest-dlbench" / "environments"


def test_a_local_folder_is_not_built(store, progress, tmp_path):
    (tmp_path / "source").mkdir()
    mine = Environment(name="mine", python=HERE, requirements=(f"{tmp_path}/source",))
    with pytest.raises(EnvironmentBuildError, match=r"'mine': .*/source' is a folder, whose content may change"):
        store.build(mine, progress)


@pytest.mark.usefixtures("tool")
def test_a_local_wheel_that_was_built_again_is_installed_again(store, progress, wheels):
    wheel = wheels / "small-1.0-py3-none-any.whl"
    mine = Environment(name="mine", python=HERE, requirements=(f"small @ {wheel.as_uri()}",))
    found = []
    for content in ("1.0", "changed"):
        write_wheel(wheels, "small", "1.0", says=content)
        found.append(version(store.build(mine, progress)))
    assert found == ["1.0", "changed"]
