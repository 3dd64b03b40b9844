"""Names the compiler of CUDA that is a package to tinygrad, which looks in the system's folders only.

tinygrad reads the variable when it is imported. Where there is no such package, importing this does nothing.
"""

import glob
import os
import sys

VARIABLE = "NVRTC_PATH"


def _name():
    found = (glob.glob(os.path.join(path, "nvidia", "*", "lib", "libnvrtc.so.*")) for path in sys.path)
    for files in filter(None, found):
        os.environ.setdefault(VARIABLE, files[0])


_name()
