"""Ensures that all tests of a session that train a case train it alike."""

from dataclasses import dataclass, field

from pytest_dlbench.records.reasons import SharedCaseError
from pytest_dlbench.running.run_spec import RunSpec


@dataclass(slots=True)
class Claims:
    """The cases that tests have claimed. A case has one baseline, so there is one way to train it."""

    _known: dict[str, tuple[str, RunSpec]] = field(default_factory=dict, init=False)

    def claim(self, spec: RunSpec, node: str) -> None:
        """Refuse a case that another test of this session trains differently; raises SharedCaseError."""
        other, known = self._known.setdefault(spec.case.id, (node, spec))
        if (known.recipe, known.network.digest) != (spec.recipe, spec.network.digest):
            raise SharedCaseError(spec.case.id, (node, other))
