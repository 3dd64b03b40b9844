"""How MLX compiles in tests: with a precompiled header.

On CPUs, mx.compile generates C++ for every fused kernel and calls ``g++`` by that name. Nearly all of the compiler's
time goes into one header that the kernels share. The flags are MLX's own, and the results are the same.
"""

import os
import shutil
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path

from pytest_dlbench.environments.placing import Place

HEADER = "mlx/backend/cpu/compiled_preamble.h"
# A precompiled header is used only if these are the same; otherwise its text is compiled, as slowly as before.
LIKE_MLX = ("-std=c++17", "-O3", "-Wall", "-fPIC")


def variables(place: Place) -> Mapping[str, str]:
    """Variables for a worker with MLX at a place, where compiled code is kept. None without g++."""
    compiler = shutil.which("g++")
    if compiler is None:
        return {}
    folder = place.caches / "precompiled"
    if not folder.exists():
        _precompile(compiler, _include(place.python), folder)
    return {"PATH": os.pathsep.join([str(folder), os.environ["PATH"]])}


def _include(python: Path) -> Path:
    """The folder of MLX's headers."""
    ask = "import importlib.util as util; print(util.find_spec('mlx').submodule_search_locations[0])"
    answer = subprocess.run([python, "-c", ask], capture_output=True, text=True, check=True)
    return Path(answer.stdout.strip()) / "include"


def _precompile(compiler: str, include: Path, folder: Path) -> None:
    """Write the header, what g++ makes of it, and a ``g++`` that includes it first."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    made = Path(tempfile.mkdtemp(dir=folder.parent))
    (made / "all.h").write_text(f"#include <{HEADER}>\n")
    command = [compiler, *LIKE_MLX, f"-I{include}", "-x", "c++-header", str(made / "all.h"), "-o"]
    subprocess.run([*command, str(made / "all.h.gch")], check=True)
    ours = made / "g++"
    ours.write_text(f'#!/bin/sh\nexec {compiler} -include "{folder}/all.h" "$@"\n')
    ours.chmod(0o755)
    made.chmod(0o755)
    # Two processes of pytest-xdist may have written it.
    try:
        made.rename(folder)
    except OSError:
        shutil.rmtree(made)
