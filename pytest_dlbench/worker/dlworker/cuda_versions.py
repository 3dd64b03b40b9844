"""The versions of NVIDIA's driver and libraries in this process, for frameworks that do not report them."""

import ctypes
import re

# A library that is loaded answers itself; else the package that it will be loaded from.
_LOADED = {"cuda": ("libcudart", "cudaRuntimeGetVersion"), "cudnn": ("libcudnn", "cudnnGetVersion")}
_PACKAGES = {
    "cuda": re.compile(r"nvidia-cuda-(runtime|nvrtc)(-cu\d+)?$"),
    "cudnn": re.compile(r"nvidia-cudnn-cu\d+$"),
}


def versions(distributions):
    """{"cuda", "cudnn", "cuda-driver": version} of those that are found, given the versions of installed packages.

    "cuda-driver" is the newest CUDA that the driver has.
    """
    paths = mapped()
    found = {}
    for name, pattern in _PACKAGES.items():
        packaged = [version for package, version in sorted(distributions.items()) if pattern.match(package)]
        version = _answer(name, paths) or (packaged[0] if packaged else None)
        if version:
            found[name] = version
    driver = _driver()
    return dict(found, **{"cuda-driver": driver}) if driver else found


def mapped():
    """The files that are mapped into this process."""
    with open("/proc/self/maps", encoding="utf-8", errors="replace") as file:
        return sorted({line.split(None, 5)[5].strip() for line in file if "/" in line})


def _answer(name, paths):
    """The version that a loaded library returns; None if it is not loaded."""
    library, function = _LOADED[name]
    for path in paths:
        if re.search(r"/%s[-.][^/]*$" % library, path):
            return _cudnn(path, function) if name == "cudnn" else _cuda(path, function)
    return None


def _cudnn(path, function):
    get = getattr(ctypes.CDLL(path), function)
    get.restype = ctypes.c_size_t
    return str(get())


def _cuda(path, function):
    """12090 is 12.9."""
    number = ctypes.c_int()
    try:
        is_error = getattr(ctypes.CDLL(path), function)(ctypes.byref(number))
    except (OSError, AttributeError):
        return None
    return None if is_error or not number.value else "%d.%d" % (number.value // 1000, number.value % 1000 // 10)


def _driver():
    return _cuda("libcuda.so.1", "cuDriverGetVersion")
