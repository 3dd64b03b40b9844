"""A stub of Open MPI 1.10, which CNTK is linked against and which no current system has.

CNTK can train in a single process, but the dynamic linker needs every symbol first. The symbols are therefore read from
CNTK's libraries and compiled into two libraries with the names that CNTK expects, in the folder of CNTK's own, where
its RUNPATH ($ORIGIN) finds them. Calls that make sense for a single process work; any other call aborts.
"""

import re
import shutil
import subprocess
from collections.abc import Iterable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TextIO

from pytest_dlbench.errors import DlbenchError

# C functions of MPI, its C++ bindings (namespace MPI, mangled), and Open MPI's own functions and handles.
_MPI_SYMBOL = re.compile(r"MPI_\w+|_ZNK?3MPI\w+|ompi_\w+")

# The calls with which a process finds that it is the only one. Handles are pointers in Open MPI, hence void *.
_ANSWERS = {
    "MPI_Init": "int MPI_Init(int *argc, char ***argv) { started = 1; return 0; }",
    "MPI_Init_thread": "int MPI_Init_thread(int *argc, char ***argv, int wanted, int *given)"
    " { started = 1; *given = wanted; return 0; }",
    "MPI_Initialized": "int MPI_Initialized(int *flag) { *flag = started; return 0; }",
    "MPI_Finalize": "int MPI_Finalize(void) { started = 0; return 0; }",
    "MPI_Comm_rank": "int MPI_Comm_rank(void *comm, int *rank) { *rank = 0; return 0; }",
    "MPI_Comm_size": "int MPI_Comm_size(void *comm, int *size) { *size = 1; return 0; }",
    "MPI_Barrier": "int MPI_Barrier(void *comm) { return 0; }",
}

_INSTALL = "install a C compiler and its tools (Debian: gcc libc6-dev binutils; Fedora: gcc glibc-devel binutils)"

_PREFACE = """\
extern int dprintf(int, const char *, ...);
extern void abort(void);
static int started = 0;
static void refuse(const char *name) {
    dprintf(2, "%s was called, but this MPI is a stub of pytest-dlbench for a single process\\n", name);
    abort();
}
"""

# The libraries that CNTK links to; the linker searches all loaded libraries for a symbol, so one of them may be empty.
_FULL, _EMPTY = "libmpi.so.12", "libmpi_cxx.so.1"


def build_mpi_stub(python: Path, log: TextIO) -> None:
    """Make CNTK importable in the environment of this Python; compiler output goes to the log."""
    where = [str(python), "-c", "import sysconfig; print(sysconfig.get_path('platlib'))"]
    packages = Path(_output(where).strip())
    folder = packages / "cntk" / "libs"
    if not folder.is_dir():
        raise DlbenchError(f"there is no {folder}: install cntk==2.7.post2 first")
    libraries = sorted([*folder.glob("*.so*"), *packages.glob("_cntk_py*.so")])
    own = [path for path in libraries if path.name not in (_FULL, _EMPTY)]
    build_libraries(wanted_symbols(own), folder, log)


def wanted_symbols(libraries: Iterable[Path]) -> set[str]:
    """The MPI symbols that these shared libraries use but do not define."""
    command = [_tool("nm"), "-D", "--undefined-only", *map(str, libraries)]
    # With several files, nm prints each file's name on its own line; a symbol's line starts with its missing address.
    names = {line.split()[-1] for line in _output(command).splitlines() if line.startswith(" ")}
    return {name for name in names if _MPI_SYMBOL.fullmatch(name)}


def build_libraries(symbols: Iterable[str], folder: Path, log: TextIO) -> None:
    """Build both libraries in this folder."""
    for name, source in ((_FULL, stub_source(symbols)), (_EMPTY, "")):
        _compile(source, folder / name, log)


def stub_source(symbols: Iterable[str]) -> str:
    """C code that defines every symbol. Handles such as ompi_mpi_int are only used as addresses; a function will do."""
    return _PREFACE + "".join(
        _ANSWERS.get(name, f'void {name}(void) {{ refuse("{name}"); }}') + "\n" for name in sorted(symbols)
    )


def _output(command: list[str]) -> str:
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, encoding="utf-8", errors="replace").stdout


def _compile(source: str, target: Path, log: TextIO) -> None:
    with TemporaryDirectory() as scratch:
        text, made = Path(scratch, "stub.c"), Path(scratch, target.name)
        text.write_text(source, "utf-8")
        soname = f"-Wl,-soname,{target.name}"
        command = [_tool("cc", "gcc"), "-w", "-O1", "-fPIC", "-shared", soname, "-o", str(made), str(text)]
        done = subprocess.run(
            command, check=False, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, encoding="utf-8", errors="replace"
        )
        log.write(f"$ {' '.join(command)}\n{done.stdout}")
        if done.returncode:
            raise DlbenchError(f"{target.name}, the MPI stub for CNTK, does not compile; {_INSTALL}:\n{done.stdout}")
        shutil.move(made, target)


def _tool(*names: str) -> str:
    found = next(filter(None, map(shutil.which, names)), None)
    if found is None:
        raise DlbenchError(f"building CNTK's MPI stub needs {' or '.join(names)}, not found on PATH; {_INSTALL}")
    return found
