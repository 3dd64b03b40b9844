"""Accepted figures: ``<machine class>/<case>.json``, one small sorted text file a case."""

from dataclasses import dataclass
from glob import escape
from pathlib import Path

from pytest_dlbench import codec
from pytest_dlbench.errors import FileFormatError
from pytest_dlbench.records import Baseline, Case, Machine
from pytest_dlbench.storing.files import write_whole


@dataclass(frozen=True, slots=True, kw_only=True)
class BaselineStore:
    """A folder of baselines, as it lies in a repository."""

    folder: Path

    def path(self, case: Case, machine: Machine) -> Path:
        """Where the baseline of a case lies, whether or not there is one."""
        return self.folder / machine.name / f"{case.id}.json"

    def read(self, case: Case, machine: Machine) -> Baseline | None:
        """The baseline of a case on a machine class, or None; FileFormatError for a file that cannot be trusted."""
        path = self.path(case, machine)
        if not path.is_file():
            return None
        try:
            baseline = codec.decode_versioned(path.read_bytes(), Baseline, str(path))
            _check(baseline, case, path)
        except FileFormatError as error:
            advice = "restore it from version control, or delete it and save a new one with --dlbench-save"
            raise FileFormatError(f"{error}\n  {advice}") from error
        return baseline

    def others(self, case: Case, machine: Machine) -> tuple[str, ...]:
        """The other machine classes that have a baseline of this case."""
        found = self.folder.glob(f"*/{escape(case.id)}.json")
        return tuple(sorted(path.parent.name for path in found if path.parent.name != machine.name))

    def write(self, baseline: Baseline) -> Path:
        """Replace the baseline of its case and machine class."""
        path = self.path(baseline.case, baseline.context.machine)
        write_whole(path, codec.encode_file(baseline))
        return path


def _check(baseline: Baseline, case: Case, path: Path) -> None:
    """What types do not say."""
    if baseline.case.id != case.id:
        raise FileFormatError(f"{path}: is of the case {baseline.case.id!r} @ $.case.id")
    if len(set(baseline.seeds)) != len(baseline.seeds):
        raise FileFormatError(f"{path}: a seed is there twice @ $.seeds")
    if not baseline.metrics:
        raise FileFormatError(f"{path}: there are no figures @ $.metrics")
    for name, values in baseline.metrics.items():
        if len(values) != len(baseline.seeds) or not values:
            raise FileFormatError(f"{path}: {len(values)} values for {len(baseline.seeds)} seeds @ $.metrics.{name}")
        if min(values) < 0:
            raise FileFormatError(f"{path}: no figure is below 0, got {min(values)} @ $.metrics.{name}")
