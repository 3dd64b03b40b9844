"""Everything that is sampled during a run: the process tree, the GPUs, the energy, and users' own samplers."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from math import isfinite

from pytest_dlbench.records import Timeline, Usage
from pytest_dlbench.sampling.gpu import GpuSampler
from pytest_dlbench.sampling.loopback import Loopback
from pytest_dlbench.sampling.nvml import NoGpuError, open_gpus
from pytest_dlbench.sampling.processes import ProcessTree
from pytest_dlbench.sampling.rapl import CannotRead, Rapl
from pytest_dlbench.sampling.sampler import MakeSampler, Sampler
from pytest_dlbench.sampling.unavailable import unavailable


class Observer:
    """Samples the workers of a run. A phase lasts from ``begin`` to ``end``; ``absent`` says what cannot be read, why.

    ``origin`` is the start of the run on the monotonic clock. ``gpus`` are the indices or UUIDs of those that it may
    use, None for all.
    """

    def __init__(
        self,
        pids: Sequence[int],
        origin: float,
        *,
        device: str,
        gpus: Sequence[str] | None = None,
        make: Sequence[MakeSampler] = (),
    ) -> None:
        self.absent = unavailable(pids[0])
        self._tree = ProcessTree(*pids, origin=origin)
        self._gpu = self._opened(gpus) if device == "gpu" else None
        traffic = [Loopback()] if len(pids) > 1 else []
        self._samplers: list[Sampler] = [*self._energy(), *traffic, *(one(pids[0]) for one in make)]

    def _opened(self, gpus: Sequence[str] | None) -> GpuSampler | None:
        try:
            return GpuSampler(open_gpus(gpus), self._tree.pids)
        except NoGpuError as error:
            self.absent["gpu"] = str(error)
            return None

    def _energy(self) -> list[Sampler]:
        try:
            return [Rapl()]
        except CannotRead as error:
            self.absent["energy"] = str(error)
            return []

    def settings(self) -> Mapping[str, str]:
        """The settings of the GPUs, which may affect the figures; none of a run on processors."""
        return self._gpu.settings() if self._gpu else {}

    def begin(self) -> None:
        """Start a phase."""
        for sampler in self._samplers:
            sampler.begin()
        if self._gpu:
            self._gpu.begin()
        self._tree.begin()

    def sample(self) -> None:
        """Take one sample."""
        self._tree.sample()
        if self._gpu:
            self._gpu.sample()
        for sampler in self._samplers:
            sampler.sample()

    def end(self) -> Usage:
        """End the phase; what was used in it."""
        usage = self._tree.end()
        gpus = self._gpu.end() if self._gpu else ()
        return replace(usage, gpus=gpus, readings=dict(self._readings()))

    def _readings(self) -> Iterator[tuple[str, float]]:
        """What the samplers read in this phase. JSON has no number that is not finite: such a reading is absent."""
        for sampler in self._samplers:
            for name, value in sampler.end().items():
                reading = float(value)
                if isfinite(reading):
                    yield name, reading
                else:
                    self.absent[name] = f"{type(sampler).__name__} returned {reading} at the end of a phase"

    @property
    def cpu_seconds(self) -> float:
        """Processor time that the workers and their children had used at the last sample."""
        return self._tree.used_seconds

    def shares(self) -> tuple[tuple[float, int], ...]:
        """Processor seconds and peak resident bytes of each worker, in the last phase."""
        return self._tree.shares()

    def timeline(self) -> Timeline:
        """The samples of the process tree in all phases, thinned."""
        return self._tree.timeline()
