"""Ensures that all tests of a session that train a case train it alike."""

from dataclasses import dataclass, field

from pytest_dlbench.records.reasons import SharedCaseError
from pytest_dlbench.running.run_spec import NetworkSpec, OperatorSpec, ProgramSpec, RunSpec


@dataclass(slots=True)
class Claims:
    """The cases that tests have claimed. A case has one baseline, so there is one way to train it."""

    _known: dict[str, tuple[str, object]] = field(default_factory=dict, init=False)

    def claim(self, spec: RunSpec, node: str) -> None:
        """Refuse a case that another test of this session trains differently; raises SharedCaseError."""
        other, known = self._known.setdefault(spec.case.id, (node, claimed := _training(spec)))
        if known != claimed:
            raise SharedCaseError(spec.case.id, (node, other))


def _training(spec: RunSpec) -> object:
    """What a case trains, and how."""
    if isinstance(spec, NetworkSpec):
        return spec.recipe, spec.network.digest
    if isinstance(spec, OperatorSpec):
        return spec.operator, spec.steps
    assert isinstance(spec, ProgramSpec)
    return spec.program, spec.root, spec.steps, sorted(spec.data)
