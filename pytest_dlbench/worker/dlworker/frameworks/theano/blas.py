"""The BLAS that Theano's compiled code is linked to: SciPy's OpenBLAS, or MKL. Chosen before Theano is imported."""

import ctypes
import glob
import os
import sys
from importlib.util import find_spec

import numpy as np

from dlworker.protocol import RequestError

# The driver sets it, for library=mkl and library=openblas.
ASKED = os.environ.get("DLBENCH_BLAS", "openblas")


def _found():
    """The library's file; None if there is none, or if somebody's THEANO_FLAGS link to another one."""
    if "ldflags" in os.environ.get("THEANO_FLAGS", ""):
        return None
    packages = os.path.dirname(os.path.dirname(np.__file__))
    # SciPy's has the plain names (sgemm_) that Theano's C code calls; NumPy's has 64-bit integers.
    patterns = {
        "mkl": os.path.join(sys.prefix, "lib", "libmkl_rt.so*"),
        "openblas": os.path.join(packages, "scipy.libs", "libopenblas*.so"),
    }
    return next(iter(sorted(glob.glob(patterns[ASKED]))), None)


def _flags():
    """What Theano cannot detect itself, followed by the given THEANO_FLAGS: of two values the last one counts."""
    # Without OpenMP, pooling has one thread, and convolution only those of BLAS, for one image at a time.
    flags = ["openmp=%s" % (os.environ.get("OMP_NUM_THREADS", "1") != "1")]
    if PATH:
        # Theano looks for BLAS in NumPy's configuration, as it was until 1.21, and fails at import with a newer NumPy.
        package = find_spec("theano").submodule_search_locations[0]
        spelling = "blas.ldflags" if os.path.isdir(os.path.join(package, "gof")) else "blas__ldflags"
        flags.append("%s='-L%s -l:%s'" % ((spelling,) + os.path.split(PATH)))
    return ",".join(flags + [os.environ.get("THEANO_FLAGS", "")])


PATH = _found()
# As in Theano's compiled code: MKL otherwise brings Intel's OpenMP, and both would have threads.
os.environ.setdefault("MKL_THREADING_LAYER", "GNU")
# Theano reads both variables at import. A user's ~/.theanorc must not change what is measured.
os.environ["THEANO_FLAGS"] = _flags()
os.environ.setdefault("THEANORC", os.devnull)
LIBRARY = ctypes.CDLL(PATH) if PATH else None


def threads():
    """Those that the library reports; None if it is not one of the two."""
    if LIBRARY is None:
        return None
    return LIBRARY.MKL_Get_Max_Threads() if ASKED == "mkl" else LIBRARY.openblas_get_num_threads()


def require(library):
    """Raise RequestError if compiled code is not linked to it."""
    if library == ASKED and LIBRARY is not None:
        return
    reasons = {
        "mkl": "THEANO_FLAGS has ldflags, or the package mkl is missing in %s" % sys.prefix,
        "openblas": "THEANO_FLAGS has ldflags, or SciPy's wheel has no OpenBLAS",
    }
    raise RequestError("unsupported", "Theano links to another BLAS than %s: %s" % (library, reasons[library]))


def versions():
    """That of OpenBLAS; MKL is asked as other mapped libraries are."""
    if LIBRARY is None or ASKED == "mkl":
        return {}
    LIBRARY.openblas_get_config.restype = ctypes.c_char_p
    return {"openblas": LIBRARY.openblas_get_config().decode().split()[1]}
