"""Which test of a session trains which case."""

from dataclasses import dataclass, field

from pytest_dlbench.records.reasons import SharedCaseError
from pytest_dlbench.running.run_spec import RunSpec


@dataclass(slots=True)
class Claims:
    """A case has one baseline, and so one way to train it."""

    _known: dict[str, tuple[str, RunSpec]] = field(default_factory=dict, init=False)

    def claim(self, spec: RunSpec, node: str) -> None:
        """Refuse a case that another test of this session trains differently; raises SharedCaseError."""
        other, known = self._known.setdefault(spec.case.id, (node, spec))
        if (known.recipe, known.network.digest) != (spec.recipe, spec.network.digest):
            raise SharedCaseError(spec.case.id, (node, other))
