"""Writes small wheels, so that real installers install real distributions without an index."""

import zipfile
from pathlib import Path


def write_wheel(folder: Path, name: str, version: str, *, says: str = "") -> Path:
    """``<name>-<version>`` with one module of that name, which has its version, or ``says``, as VERSION."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{name}-{version}-py3-none-any.whl"
    info = f"{name}-{version}.dist-info"
    files = {
        f"{name}.py": f"VERSION = {says or version!r}\n",
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: tests\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    record = "".join(f"{file},,\n" for file in (*files, f"{info}/RECORD"))
    with zipfile.ZipFile(path, "w") as wheel:
        for file, content in {**files, f"{info}/RECORD": record}.items():
            wheel.writestr(file, content)
    return path
