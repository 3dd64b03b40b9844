"""The MPI stub, loaded by a small library that uses MPI as CNTK does."""

import shutil
import subprocess
import sys
from io import StringIO
from pathlib import Path

import pytest

from pytest_dlbench.environments import mpi_stub
from pytest_dlbench.errors import DlbenchError

pytestmark = pytest.mark.skipif(shutil.which("gcc") is None or shutil.which("nm") is None, reason="needs gcc and nm")

# Stands for CNTK: functions, a handle, a constructor of the C++ bindings, and a function that is not part of MPI.
USER = """
extern int MPI_Init_thread(int *, char ***, int, int *), MPI_Initialized(int *), MPI_Finalize(void);
extern int MPI_Comm_rank(void *, int *), MPI_Comm_size(void *, int *), MPI_Allreduce(void), getpid(void);
extern void _ZN3MPI4CommC2Ev(void *);
extern char ompi_mpi_comm_world;
int initialized(void) { int flag; MPI_Initialized(&flag); return flag; }
int start(void) { int given = 0; MPI_Init_thread(0, 0, 3, &given); return given; }
int size(void) { int found = 7; MPI_Comm_size(&ompi_mpi_comm_world, &found); return found; }
int rank(void) { int found = 7; MPI_Comm_rank(&ompi_mpi_comm_world, &found); return found; }
int reduce(void) { return MPI_Allreduce(); }
int construct(void) { _ZN3MPI4CommC2Ev(0); return 0; }
int other(void) { return getpid() != 0; }
int finish(void) { return MPI_Finalize(); }
"""


@pytest.fixture(scope="module")
def packages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Laid out like CNTK's wheel: cntk/libs, and next to it a module that is linked to both MPI libraries."""
    folder = tmp_path_factory.mktemp("site-packages")
    libs = folder / "cntk" / "libs"
    libs.mkdir(parents=True)
    source = folder / "wanting.c"
    source.write_text(USER)
    named = []
    for name in ("libmpi.so.12", "libmpi_cxx.so.1"):  # Only to link against; removed before the stub is built.
        subprocess.run(["gcc", "-shared", f"-Wl,-soname,{name}", "-o", libs / name, "-xc", "/dev/null"], check=True)
        named.append(libs / name)
    # Without the flag, the linker drops a library of which nothing is used.
    flags = ["-shared", "-fPIC", "-Wl,--no-as-needed", "-Wl,-rpath,$ORIGIN/cntk/libs"]
    subprocess.run(["gcc", *flags, "-o", folder / "_cntk_py.so", source, *named], check=True)
    for library in named:
        library.unlink()
    return folder


@pytest.fixture(scope="module")
def python(packages: Path) -> Path:
    """A Python that reports this folder as the one of its packages."""
    python = packages / "python"
    python.write_text(f"#!/bin/sh\necho '{packages}'\n")
    python.chmod(0o755)
    return python


@pytest.fixture(scope="module")
def stubbed(packages: Path, python: Path) -> Path:
    """The module, with the stub built."""
    mpi_stub.build_mpi_stub(python, StringIO())
    return packages / "_cntk_py.so"


def called(library: Path, *functions: str) -> subprocess.CompletedProcess[str]:
    """The result of a fresh process that loads the library, resolving every symbol at once, and calls these."""
    program = "import ctypes, os, sys\nlibrary = ctypes.CDLL(sys.argv[1], mode=os.RTLD_NOW)\n"
    program += "".join(f"print(library.{function}(), flush=True)\n" for function in functions)
    return subprocess.run([sys.executable, "-c", program, str(library)], capture_output=True, text=True, check=False)


def test_only_symbols_of_mpi_are_defined(packages):
    assert mpi_stub.wanted_symbols([packages / "_cntk_py.so"]) == {
        "MPI_Allreduce",
        "MPI_Comm_rank",
        "MPI_Comm_size",
        "MPI_Finalize",
        "MPI_Init_thread",
        "MPI_Initialized",
        "_ZN3MPI4CommC2Ev",
        "ompi_mpi_comm_world",
    }


def test_without_the_stub_the_library_does_not_load(packages, tmp_path):
    alone = shutil.copy(packages / "_cntk_py.so", tmp_path)
    assert "libmpi.so.12" in called(alone, "other").stderr


def test_a_process_finds_itself_alone(stubbed):
    done = called(stubbed, "initialized", "start", "initialized", "size", "rank", "finish", "other")
    assert done.stdout.split() == ["0", "3", "1", "1", "0", "0", "1"], done.stderr


@pytest.mark.parametrize(("function", "symbol"), [("reduce", "MPI_Allreduce"), ("construct", "_ZN3MPI4CommC2Ev")])
def test_any_other_call_aborts_and_is_named(stubbed, function, symbol):
    done = called(stubbed, function)
    assert done.returncode == -6
    assert f"{symbol} was called" in done.stderr


def test_building_twice_gives_the_same_result(stubbed, python):
    built = stubbed.parent / "cntk" / "libs" / "libmpi.so.12"
    before = built.read_bytes()
    mpi_stub.build_mpi_stub(python, StringIO())
    assert built.read_bytes() == before


@pytest.mark.parametrize(("there", "named"), [(["nm"], "cc or gcc"), (["gcc"], "nm")])
def test_a_missing_tool_is_named_with_its_package(packages, tmp_path, monkeypatch, there, named):
    for tool in there:
        (tmp_path / tool).symlink_to(str(shutil.which(tool)))
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(DlbenchError, match=f"needs {named}, not found on PATH; install .*gcc libc6-dev binutils"):
        mpi_stub.build_libraries(mpi_stub.wanted_symbols([packages / "_cntk_py.so"]), tmp_path, StringIO())


def test_compiler_errors_are_reported(tmp_path):
    log = StringIO()
    with pytest.raises(DlbenchError, match=r"does not compile; install (.|\n)*error:"):
        mpi_stub.build_libraries(["not C"], tmp_path, log)
    assert "error:" in log.getvalue()
    assert list(tmp_path.iterdir()) == []


def test_an_environment_without_cntk_is_named(tmp_path):
    with pytest.raises(DlbenchError, match=r"install cntk==2\.7\.post2 first"):
        mpi_stub.build_mpi_stub(Path(sys.executable), StringIO())
