"""Loads the libraries of CUDA that are packages, for a framework that finds only those of the system.

The dynamic linker takes a library that is loaded already for any other of the same name. Where there are no such
packages, importing this does nothing.
"""

import ctypes
import glob
import os
import sys

# Each after those that it needs.
_NAMES = (
    *("libnvJitLink", "libcublasLt", "libcublas", "libcurand", "libcusparse", "libcusolver", "libcufft"),
    *("libcudart", "libnvToolsExt", "libnvrtc", "libnccl", "libcudnn"),
)


def _load():
    for folder in filter(os.path.isdir, (os.path.join(path, "nvidia") for path in sys.path)):
        for name in _NAMES:
            for file in glob.glob(os.path.join(folder, "*", "lib", name + ".so.*")):
                ctypes.CDLL(file)


_load()
