"""Small files in the official formats of data sets, with predictable content."""

import gzip
import hashlib
import io
import tarfile
import zipfile
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np
from PIL import Image
from scipy.io import savemat

from pytest_dlbench.data import File, Source


def idx(array: np.ndarray) -> bytes:
    """Bytes in the format of MNIST's files."""
    header = [2048 + array.ndim, *array.shape]
    return b"".join(number.to_bytes(4, "big") for number in header) + array.astype(np.uint8).tobytes()


def pixels(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, 256, size=shape, dtype=np.uint8)


def mnist(train: int = 20, test: int = 10) -> dict[str, bytes]:
    """The four files of MNIST, unpacked."""
    files = {}
    for split, count in (("train", train), ("t10k", test)):
        files[f"{split}-images-idx3-ubyte"] = idx(pixels(count, 28, 28, seed=count))
        files[f"{split}-labels-idx1-ubyte"] = idx(np.arange(count) % 10)
    return files


def packed(files: Mapping[str, bytes]) -> dict[str, bytes]:
    """Each file in its own .gz, without a time stamp."""
    return {f"{name}.gz": gzip.compress(content, mtime=0) for name, content in files.items()}


def tar(files: Mapping[str, bytes], *more: tarfile.TarInfo, mode: str = "w:gz") -> bytes:
    """An archive of files and of other members."""
    target = io.BytesIO()
    with tarfile.open(fileobj=target, mode=mode) as archive:
        for name, content in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
        for member in more:
            archive.addfile(member)
    return target.getvalue()


def zipped(files: Mapping[str, bytes]) -> bytes:
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return target.getvalue()


def mat(images: np.ndarray, labels: np.ndarray) -> bytes:
    """N×3×32×32 images and labels 1 to 10 in the format of SVHN's files."""
    target = io.BytesIO()
    savemat(target, {"X": images.transpose(2, 3, 1, 0), "y": labels.reshape(-1, 1).astype(np.uint8)})
    return target.getvalue()


def picture(form: str, *, size: tuple[int, int] = (40, 30), colour: tuple[int, int, int] = (255, 0, 0)) -> bytes:
    """An image of one colour, as the content of a JPEG or PNG file."""
    target = io.BytesIO()
    Image.new("RGB", size, colour).save(target, form)
    return target.getvalue()


def write(folder: Path, files: Mapping[str, bytes | str]) -> Path:
    """Write files below a folder, by their path."""
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
    return folder


def source_of(source: Source, files: Mapping[str, bytes], url: str = "http://127.0.0.1:9/") -> Source:
    """The same source with other official files, from another host."""
    official = tuple(
        File(name=name, url=f"{url}{name}", checksum=f"sha256:{hashlib.sha256(content).hexdigest()}")
        for name, content in files.items()
    )
    return replace(source, files=official)
