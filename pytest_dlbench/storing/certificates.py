"""Certificates of equivalence: one small file per framework, model, data set, device and number of workers."""

from dataclasses import dataclass
from pathlib import Path

from pytest_dlbench.errors import FileFormatError
from pytest_dlbench.records import Case, Certificate, codec
from pytest_dlbench.storing.files import create_ignored, file_name, write_whole


@dataclass(frozen=True, slots=True, kw_only=True)
class CertificateStore:
    """A folder of certificates."""

    folder: Path

    def _path(self, of: Case | Certificate) -> Path:
        several = f"-workers{of.workers}" if of.workers > 1 else ""
        return self.folder / of.framework / file_name(f"{of.model}-{of.dataset}-{of.device}{several}")

    def write(self, certificate: Certificate) -> Path:
        """Replace the certificate of its framework, model, data set, device and number of workers."""
        path = self._path(certificate)
        # Next to the journals, whose folder is created by whichever comes first.
        create_ignored(self.folder.parent)
        write_whole(path, codec.checked_file(certificate))
        return path

    def revoke(self, certificate: Certificate) -> None:
        """Delete the certificate of a framework that is no longer equivalent."""
        path = self._path(certificate)
        path.unlink(missing_ok=True)

    def find(self, case: Case, network_digest: str) -> Certificate | None:
        """The certificate of a case's network, or None without a readable one."""
        path = self._path(case)
        try:
            found = codec.decode_versioned(path.read_bytes(), Certificate, str(path))
        except (FileNotFoundError, FileFormatError):
            return None
        return found if found.network_digest == network_digest else None

    def all(self) -> list[Certificate]:
        """All certificates; raises FileFormatError for a damaged one."""
        paths = sorted(self.folder.glob("*/*.json"))
        return [codec.decode_versioned(path.read_bytes(), Certificate, str(path)) for path in paths]
