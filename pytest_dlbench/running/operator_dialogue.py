"""The requests that the driver sends to the worker of a single operator, and the checks of its answers."""

from collections.abc import Iterator, Mapping, Sequence
from math import ceil, isfinite
from statistics import median
from typing import Any, ClassVar

import numpy as np

from pytest_dlbench.errors import FileFormatError
from pytest_dlbench.model.operator_values import Arrays
from pytest_dlbench.model.operators import BOUND, Operator, Pass
from pytest_dlbench.records import CallCheck, Operation, OperatorPass, RunOutcome
from pytest_dlbench.records.problems import CallsMissing, OffReference, OfWorkers
from pytest_dlbench.running import messages
from pytest_dlbench.running.dialogue import CHECKED_SECONDS, CHECKS, Dialogue
from pytest_dlbench.running.failures import NotDoneError
from pytest_dlbench.running.group import PerWorker
from pytest_dlbench.running.network_dialogue import in_worker, wrong_device
from pytest_dlbench.running.run_spec import OperatorSpec

# How often each probe is called, spread over all calls.
PROBE_ROUNDS = 5
# The check makes as many calls as have this much arithmetic together: with fewer, work that a call does not wait for
# would be as short as the clock's errors.
CHECKED_FLOPS: Mapping[str, float] = {"cpu": 2e9, "gpu": 1e13}
MOST_CHECKED = 1000


class OperatorDialogue(Dialogue[OperatorSpec]):
    """The requests of a run of one operator."""

    answers: ClassVar[Mapping[str, type]] = messages.OPERATOR_ANSWERS

    def samples(self, spec: OperatorSpec) -> int:  # noqa: ARG002 - a call is one
        """One call."""
        return 1

    def run(self, spec: OperatorSpec, environment: str, seed: int, inputs: dict[str, Any]) -> Iterator[None]:
        """Import, build, call every pass, check that calls wait for their work, close."""
        self._hello(
            spec, environment, builder=spec.framework.builder, device=in_worker(spec.case.device), **inputs["group"]
        )
        passes = self._prepare(spec, inputs["files"])
        operated: messages.Operated = self._ask(
            "operate", calls=spec.steps, rounds=PROBE_ROUNDS, outputs=PerWorker(inputs["outputs"])
        )
        if spec.case.workers > 1:
            self._add_shares()
        _check_calls(spec, passes, operated)
        found = [self._deviations(spec, passes, inputs, rank) for rank in range(spec.case.workers)]
        deviations = {name: max(of_worker[name] for of_worker in found) for name in passes}
        self._record(spec, operated, deviations)
        # In the first run only: if the calls of one run do not wait, those of all runs do not.
        if self._hooks.is_suspicious and seed == spec.seed:
            checks = {name: tuple(self._checks(spec, name, operated.seconds[name])) for name in passes}
            self._record(spec, operated, deviations, checks)
        self._ask("close")
        # Its calls do not alternate with another worker's.
        yield from ()

    def _deviations(
        self, spec: OperatorSpec, passes: Sequence[Pass], inputs: Mapping[str, Any], rank: int
    ) -> dict[Pass, float]:
        """How far a worker's results are from NumPy's; raises NotDoneError, which names one of several workers."""
        workers = spec.case.workers
        with np.load(inputs["outputs"][rank], allow_pickle=False) as outputs:
            found = {name: _deviation(spec.operator, name, outputs, inputs["expected"]) for name in passes}
        off = next((one for one in found.values() if isinstance(one, OffReference)), None)
        if off is not None:
            problem = off if workers == 1 else OfWorkers(ranks=(rank + 1,), workers=workers, problem=off)
            raise NotDoneError(RunOutcome.FAILED, problem)
        return {name: one for name, one in found.items() if not isinstance(one, OffReference)}

    def _prepare(self, spec: OperatorSpec, files: Mapping[str, Sequence[str]]) -> tuple[Pass, ...]:
        """The passes that the framework computes apart from each other."""
        prepared: messages.Prepared = self._ask(
            "prepare",
            operator=PerWorker([(spec.operator.as_json(), path) for path in files["operator"]]),
            probes={name: (probe.as_json(), files[name][0]) for name, probe in spec.probes.items()},
        )
        self.measured |= {"build_seconds": prepared.seconds, "device": prepared.device}
        if problem := wrong_device(spec, prepared.device):
            raise NotDoneError(RunOutcome.FAILED, problem)
        return prepared.passes

    def _record(
        self,
        spec: OperatorSpec,
        operated: messages.Operated,
        deviations: Mapping[Pass, float],
        checks: Mapping[Pass, tuple[CallCheck, ...]] | None = None,
    ) -> None:
        operator = spec.operator
        self.measured["operation"] = Operation(
            passes={
                name: OperatorPass(
                    seconds=operated.seconds[name],
                    flops=operator.flops(name),
                    least_bytes=operator.least_bytes(name),
                    bus_bytes=operator.bus_bytes,
                    deviation=deviation,
                    bounds=operator.bounds(name),
                    checks=(checks or {}).get(name, ()),
                )
                for name, deviation in deviations.items()
            },
            probes=operated.probes,
            probe_flops={name: probe.flops("forward") for name, probe in spec.probes.items()},
        )

    def _checks(self, spec: OperatorSpec, name: Pass, seconds: Sequence[float]) -> Iterator[CallCheck]:
        """A check of a pass, repeated while it is suspicious: a disturbance of one of them must not decide."""
        flops = CHECKED_FLOPS["cpu" if spec.case.device == "cpu" else "gpu"]
        # Where calls wait for their work, these take that long.
        most = min(MOST_CHECKED, ceil(CHECKED_SECONDS / median(seconds)))
        calls = min(most, ceil(flops / spec.operator.flops(name)))
        for _ in range(CHECKS):
            found: CallCheck = self._ask("check_calls", name=name, calls=calls)
            yield found
            if not (self._hooks.is_suspicious and self._hooks.is_suspicious(found)):
                return


def _check_calls(spec: OperatorSpec, passes: tuple[Pass, ...], operated: messages.Operated) -> None:
    """Raise NotDoneError unless every pass was called as often as requested, and every probe."""
    counts = {name: len(seconds) for name, seconds in operated.seconds.items()}
    if counts != dict.fromkeys(passes, spec.steps + 1) or operated.probes.keys() != spec.probes.keys():
        missing = CallsMissing(
            requested=spec.steps + 1,
            passes=passes,
            probes=tuple(spec.probes),
            reported=counts,
            reported_probes=tuple(operated.probes),
        )
        raise NotDoneError(RunOutcome.BROKEN_PROTOCOL, missing)


def _deviation(operator: Operator, name: Pass, outputs: Mapping[str, Any], expected: Arrays) -> float | OffReference:
    """How far the arrays that a pass computes are from NumPy's, or the first one that is too far."""
    largest = 0.0
    for part in operator.results(name):
        found, right = outputs.get(f"{name}.{part}"), expected[part]
        if found is None or found.shape != right.shape:
            shape = "is missing" if found is None else f"has the shape {found.shape}"
            raise FileFormatError(f"the answer to 'operate': {name}.{part} {shape}, expected {right.shape}")
        # With a single step, recurrent weights have a gradient of 0.
        scale, bound = np.max(np.abs(right)) or 1.0, operator.bound(part)
        deviation = float(np.max(np.abs(found - right)) / scale)
        # NaN is not below a bound.
        if not deviation <= bound:
            return _off_reference(operator, name, part, deviation)
        largest = max(largest, deviation)
    return largest


def _off_reference(operator: Operator, name: Pass, part: str, deviation: float) -> OffReference:
    """An array that is too far from NumPy's, with what its bound follows from if that is not the usual one."""
    bound = operator.bound(part)
    return OffReference(
        array=part,
        operator_pass=name,
        deviation=deviation if isfinite(deviation) else None,
        bound=bound,
        products=round(operator.products(part)) if bound > BOUND else 0,
    )
