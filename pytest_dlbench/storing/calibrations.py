"""Results of ``dlbench calibrate``: ``<machine class>/calibrations/<case>.json`` in the folder of baselines."""

from dataclasses import dataclass, replace
from pathlib import Path

from pytest_dlbench.errors import FileFormatError
from pytest_dlbench.records import CALIBRATION_FORMAT, Calibration, Case, Machine, codec
from pytest_dlbench.records.cases import plain_name
from pytest_dlbench.storing.files import file_name, folder_name, write_whole

FOLDER = "calibrations"
FORMATS = (1, CALIBRATION_FORMAT)


@dataclass(frozen=True, slots=True, kw_only=True)
class CalibrationStore:
    """The folder of baselines, which has a subfolder of calibrations per machine class."""

    folder: Path

    def path(self, case: Case, machine: Machine) -> Path:
        """The file of a case's calibration, whether or not it exists."""
        return self.folder / folder_name(machine.name) / FOLDER / file_name(case.id)

    def read(self, case: Case, machine: Machine) -> Calibration | None:
        """The calibration of a case on a machine class, or None; raises FileFormatError for a damaged file."""
        path = self.path(case, machine)
        if not path.is_file():
            return None
        found = codec.decode_versioned(path.read_bytes(), Calibration, str(path), FORMATS)
        if found.case.id != case.id:
            raise FileFormatError(f"{path}: belongs to the case {found.case.id!r} @ $.case.id; calibrate again")
        if not all(spread > 0 for spread in found.spreads.values()):
            raise FileFormatError(f"{path}: every spread must be above 0 @ $.spreads; calibrate again")
        return found

    def nearest(self, case: Case, machine: Machine) -> Calibration | None:
        """Like ``read``; without a calibration, pytorch==2.12.0 falls back to that of pytorch."""
        plain = plain_name(case.framework)
        unversioned = replace(case, id=case.id.replace(f"-{case.framework}-", f"-{plain}-", 1), framework=plain)
        return self.read(case, machine) or self.read(unversioned, machine)

    def write(self, calibration: Calibration) -> Path:
        """Replace the calibration of its case and machine."""
        path = self.path(calibration.case, calibration.context.machine)
        write_whole(path, codec.checked_file(calibration))
        return path
