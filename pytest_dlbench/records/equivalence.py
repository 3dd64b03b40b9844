"""The golden losses of a network, and certificates of frameworks that reproduced them."""

from collections.abc import Mapping
from dataclasses import dataclass

from pytest_dlbench.records.versions import FORMAT_VERSION


@dataclass(frozen=True, slots=True, kw_only=True)
class Golden:
    """The losses that a network must have with seeded weights and seeded batches, computed in float64.

    Each of ``losses`` is from before its step's update; ``evaluation_loss`` is that of the test split after the last
    one. ``difference`` is the largest relative difference between the two frameworks that computed them.
    """

    network_digest: str
    dataset_digest: str
    difference: float
    losses: tuple[float, ...]
    evaluation_loss: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Certificate:
    """Evidence that a framework trains a network as the oracle does, with these versions.

    ``deviation`` is the largest relative difference of its losses from the golden ones, ``evaluation_deviation`` that
    of the loss on the test split after training; the first was within ``bound``, the second within five times
    ``bound``. It was trained by that many data-parallel ``workers``, with these settings of ``execution``, on this
    class of ``machine``. Files older than the last three fields have none of them, and hold for no training.
    """

    format: int = FORMAT_VERSION
    framework: str
    model: str
    dataset: str
    device: str
    network_digest: str
    precision: str
    steps: int
    deviation: float
    evaluation_deviation: float
    bound: float
    versions: Mapping[str, str]
    date: str
    workers: int = 1
    execution: tuple[str, ...] = ()
    machine: str = ""
    dataset_digest: str = ""
