"""Certificates of equivalence: small files, one for each class of machine, framework, model, data set and device."""

from dataclasses import dataclass
from pathlib import Path

from pytest_dlbench.errors import FileFormatError
from pytest_dlbench.records import Case, Certificate, codec
from pytest_dlbench.storing.files import create_ignored, file_name, write_whole


@dataclass(frozen=True, slots=True, kw_only=True)
class CertificateStore:
    """A folder of certificates."""

    folder: Path

    def _path(self, of: Case | Certificate, machine: str) -> Path:
        several = f"-workers{of.workers}" if of.workers > 1 else ""
        return self.folder / of.framework / file_name(f"{of.model}-{of.dataset}-{of.device}{several}-{machine}")

    def write(self, certificate: Certificate) -> Path:
        """Replace the certificate of its framework, model, data set, device, number of workers and class of machine."""
        path = self._path(certificate, certificate.machine)
        # Next to the journals, whose folder is created by whichever comes first.
        create_ignored(self.folder.parent)
        write_whole(path, codec.checked_file(certificate))
        return path

    def revoke(self, certificate: Certificate) -> None:
        """Delete the certificate of a framework that is no longer equivalent."""
        self._path(certificate, certificate.machine).unlink(missing_ok=True)

    def find(self, case: Case, machine: str, network_digest: str) -> Certificate | None:
        """The certificate of a case's network on a class of machine, or None without a readable one."""
        path = self._path(case, machine)
        try:
            found = codec.decode_versioned(path.read_bytes(), Certificate, str(path))
        except (FileNotFoundError, FileFormatError):
            return None
        return found if found.network_digest == network_digest else None

    def all(self) -> list[Certificate]:
        """All certificates; raises FileFormatError for a damaged one."""
        paths = sorted(self.folder.glob("*/*.json"))
        return [codec.decode_versioned(path.read_bytes(), Certificate, str(path)) for path in paths]
