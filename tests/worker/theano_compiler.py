"""How Theano compiles in tests: with precompiled headers.

Theano generates C++ for every operation, hundreds of modules for these networks, and half of the compiler's time goes
into headers that they all share. C++98, for which the code was written, has the smallest headers; nobody debugs the
modules; and gold links them faster. The results are the same. Without optimisation they are not, but compilation takes
a third of the time, which is enough for tests of what is computed.
"""

import json
import shutil
import subprocess
import tempfile
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from pytest_dlbench.environments.placing import Place

ON_THEANO = ("theano", "theano-pymc", "lasagne", "keras2-theano")

# In the order in which Theano includes them: the first decides what the others declare.
HEADERS = (
    "Python.h",
    "iostream",
    "theano_mod_helper.h",
    "math.h",
    "numpy/arrayobject.h",
    "numpy/arrayscalars.h",
    "vector",
    "algorithm",
)
# With a processor named, Theano does not add a list of this machine's features.
PROCESSOR = "-march=native"
# The last of two flags counts: these come after Theano's -g.
OURS = ("-g0", "-std=gnu++98", PROCESSOR)
# A precompiled header is used only if these are the same; otherwise its text is compiled, as slowly as before.
LIKE_THEANO = ("-fPIC", "-fno-math-errno", "-DNPY_NO_DEPRECATED_API=NPY_1_7_API_VERSION", *OURS)
ASK = """
import json, sysconfig
from importlib.util import find_spec
import numpy
package = find_spec("theano").submodule_search_locations[0]
print(json.dumps([sysconfig.get_paths()["include"], numpy.get_include(), package]))
"""


def variables(place: Place, *, is_optimised: bool) -> Mapping[str, str]:
    """Variables for a worker with Theano at a place, where compiled code is kept. None without g++."""
    compiler = shutil.which("g++")
    if compiler is None:
        return {}
    include, numpy, package = _folders(place.python)
    # Theano-PyMC has neither that folder nor the dots.
    is_original = (package / "gof").is_dir()
    own = package / ("gof/c_code" if is_original else "link/c/c_code")
    header = _precompiled(compiler, place.caches, (include, numpy, own), ("-O3",) if is_optimised else ())
    linker = ["-fuse-ld=gold"] if shutil.which("ld.gold") else []
    dot = "." if is_original else "__"
    flags = f"gcc{dot}cxxflags={' '.join([*OURS, *linker])} -include {header}"
    return {"THEANO_FLAGS": flags if is_optimised else f"{flags},cmodule{dot}remove_gxx_opt=True"}


@cache
def _folders(python: Path) -> tuple[Path, Path, Path]:
    """The headers of Python and of NumPy, and Theano's package."""
    answer = subprocess.run([python, "-c", ASK], capture_output=True, text=True, check=True)
    include, numpy, package = map(Path, json.loads(answer.stdout))
    return include, numpy, package


def _precompiled(compiler: str, caches: Path, include: tuple[Path, ...], optimised: tuple[str, ...]) -> Path:
    """All headers in one; next to it is the folder in which g++ looks for a matching variant."""
    folder = caches / "".join(["precompiled", *OURS, *optimised])
    if not folder.exists():
        caches.mkdir(parents=True, exist_ok=True)
        made = Path(tempfile.mkdtemp(dir=caches))
        header = made / "all.h"
        header.write_text("".join(f"#include <{name}>\n" for name in HEADERS))
        (made / "all.h.gch").mkdir()
        command = [compiler, *LIKE_THEANO, *(f"-I{path}" for path in include), "-x", "c++-header", str(header), "-o"]
        # Operations with one thread, and those with several.
        for name, variant in (("one", optimised), ("several", (*optimised, "-fopenmp"))):
            subprocess.run([*command, str(made / "all.h.gch" / name), *variant], check=True)
        # Two processes of pytest-xdist may have written it.
        try:
            made.rename(folder)
        except OSError:
            shutil.rmtree(made)
    return folder / "all.h"
