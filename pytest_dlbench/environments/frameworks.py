"""The frameworks that a worker can train, as the driver sees them: names and paths, nothing imported."""

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True, kw_only=True)
class Framework:
    """How to run one framework.

    ``builder`` is the module in the worker that builds networks; ``folders`` are put on the worker's path beside
    dlworker, for builders that live elsewhere. ``install`` is the command that makes it importable.
    """

    name: str
    builder: str
    install: str
    folders: tuple[Path, ...] = ()
    more_marks: tuple[str, ...] = ()

    @property
    def marks(self) -> tuple[str, ...]:
        """The pytest marks of its cells."""
        return (self.name, *self.more_marks)


FRAMEWORKS: dict[str, Framework] = {
    framework.name: framework
    for framework in (
        Framework(
            name="pytorch",
            builder="dlworker.frameworks.pytorch",
            # Exactly this version: anything looser takes a build with gigabytes of CUDA on a machine without a GPU.
            install="pip install torch==2.13.0",
        ),
        Framework(name="jax", builder="dlworker.frameworks.jax", install="pip install jax jaxlib optax"),
    )
}
