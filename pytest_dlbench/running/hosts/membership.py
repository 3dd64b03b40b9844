"""Whether this process can become part of a Ray cluster: found without loading Ray, which is slow."""

import os
from importlib.util import find_spec

from pytest_dlbench.errors import OptionError


def check() -> None:
    """Raise OptionError if Ray is not installed, or RAY_ADDRESS is that of no cluster that this process can join."""
    _check_address(os.environ.get("RAY_ADDRESS", ""))
    # A folder of that name is found, too, without a file.
    if (found := find_spec("ray")) is None or found.origin is None:
        install = 'pip install "pytest-dlbench[ray]"'
        raise OptionError(f"--dlbench-on ray: needs Ray, which is not installed: {install}")


def _check_address(address: str) -> None:
    if address.startswith("ray://"):
        host = address.removeprefix("ray://").partition("/")[0].partition(":")[0] or "HOST"
        raise OptionError(
            f"--dlbench-on ray: RAY_ADDRESS={address} is an address of Ray Client, whose proxy would hide"
            " which host is lost: run pytest on a node of the cluster (on any machine, ray start"
            f" --address={host}:6379 --num-cpus=0 makes it one), with RAY_ADDRESS={host}:6379 or without"
        )
    if address == "local":
        raise OptionError(
            "--dlbench-on ray: RAY_ADDRESS=local would start a cluster of this machine alone: unset it, or set"
            " RAY_ADDRESS=HOST:6379, the head's address; --dlbench-on=local needs no cluster"
        )
