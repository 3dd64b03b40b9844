"""The versions of the BLAS and kernel libraries loaded in this process, each returned by the library itself."""

import ctypes
import os
import re

# A library may be part of a framework's own file, under these names or with the prefixes and endings of wheels.
_OPENBLAS = tuple(
    prefix + "openblas_get_config" + ending for prefix in ("scipy_", "") for ending in ("64_", "", "_64", "64_64")
)
_ONEDNN = ("dnnl_version", "mkldnn_version")
_MKL = ("MKL_Get_Version_String", "mkl_get_version_string")
_RTLD_NOLOAD = getattr(os, "RTLD_NOLOAD", 4)


class _OneDnnVersion(ctypes.Structure):
    _fields_ = [("major", ctypes.c_int), ("minor", ctypes.c_int), ("patch", ctypes.c_int)]


def versions(paths):
    """{"openblas", "onednn", "mkl": version} of those among the mapped files that are loaded and answer.

    A process may have several of one name, NumPy's and the framework's: "0.3.13, 0.3.31".
    """
    found = {}
    for library in filter(None, map(_loaded, paths)):
        for name, read in (("openblas", _openblas), ("onednn", _onednn), ("mkl", _mkl)):
            version = read(library)
            if version:
                found.setdefault(name, set()).add(version)
    return {name: ", ".join(sorted(versions)) for name, versions in found.items()}


def _loaded(path):
    """The library at a path; None if it is mapped as a file only. Nothing is loaded by asking."""
    if not re.search(r"\.so[.\d]*$", path):
        return None
    try:
        return ctypes.CDLL(path, mode=_RTLD_NOLOAD | os.RTLD_LAZY)
    except OSError:
        return None


def _function(library, names):
    return next((getattr(library, name) for name in names if hasattr(library, name)), None)


def _openblas(library):
    """The text begins with "OpenBLAS 0.3.29 "; it names the kernels, too, which depend on the processor."""
    get = _function(library, _OPENBLAS)
    if get is None:
        return None
    get.restype = ctypes.c_char_p
    matched = re.match(r"OpenBLAS (\S+)", (get() or b"").decode("ascii", "replace"))
    return matched.group(1) if matched else None


def _onednn(library):
    get = _function(library, _ONEDNN)
    if get is None:
        return None
    get.restype = ctypes.POINTER(_OneDnnVersion)
    version = get().contents
    return "%d.%d.%d" % (version.major, version.minor, version.patch)


def _mkl(library):
    get = _function(library, _MKL)
    if get is None:
        return None
    text = ctypes.create_string_buffer(256)
    get(text, len(text))
    matched = re.search(r"Version (\d+(?:\.\d+)+)", text.value.decode("ascii", "replace"))
    return matched.group(1) if matched else None
