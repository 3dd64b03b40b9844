"""A machine whose speed is known."""

from pytest_dlbench.records import MachineSpeed


def known(threads: int, precision: str) -> MachineSpeed:
    """What a machine with two processors might have."""
    return MachineSpeed(
        threads=threads, precision=precision, flops_per_second=2e11, copied_bytes_per_second=1e10, launch_seconds=1e-6
    )
