"""What a network must give, and which frameworks were seen to give it."""

from collections.abc import Mapping
from dataclasses import dataclass

from pytest_dlbench.records.versions import FORMAT_VERSION


@dataclass(frozen=True, slots=True, kw_only=True)
class Golden:
    """What a network must give that starts from seeded weights and takes seeded batches: computed in float64.

    ``losses`` are each before its step's update, ``evaluation_loss`` is of the test split after the last one.
    ``difference`` is the largest relative difference between the two frameworks that computed them.
    """

    network_digest: str
    dataset_digest: str
    difference: float
    losses: tuple[float, ...]
    evaluation_loss: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Certificate:
    """A framework was seen to train a network as the oracle does.

    ``deviation`` is the largest relative difference of its losses from the golden ones, ``evaluation_deviation`` that
    of the loss on the test split after training; the first was within ``bound``, the second within five times of it. It
    holds for these versions.
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
