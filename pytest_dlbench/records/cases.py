"""What is run, and where."""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True, kw_only=True)
class Machine:
    """The machine class, for which baselines are stored. It has no versions of frameworks: those are what is tested.

    ``memory_gib`` is rounded (1, 1.5, 2, 3, 4, 6, 8 …), because the size that a kernel reports depends on its version.
    ``gpus`` are the kinds of those that the session could use, with their memory, models alone in older files.
    ``gpu_driver`` is the version of their driver, whose compiler and clocks are in every figure.
    """

    name: str
    cpu_model: str
    cores: int
    memory_gib: float
    os_family: str
    gpus: tuple[str, ...] = ()
    gpu_driver: str = ""


PORTABLE = Machine(name="portable", cpu_model="", cores=0, memory_gib=0.0, os_family="")
"""In place of a machine class: baselines of what does not depend on the machine."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Revision:
    """A revision of the user's code, as ``name`` it was asked for.

    ``commit`` is the whole id, ``subject`` the first line of its message. ``uncommitted`` are the files with changes
    that ran as well, which only the name "worktree" can have.
    """

    name: str
    commit: str
    subject: str
    uncommitted: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One cell of the matrix at one scale.

    ``settings`` are recipe settings from the command line; they are part of the id. ``revision`` is that of the user's
    code, and ``variables`` are the environment variables, if a side of a comparison named them. ``workers`` train
    data-parallel, each with ``threads`` CPU threads.
    """

    id: str
    framework: str
    model: str
    dataset: str
    device: str
    scale: str
    threads: int
    settings: Mapping[str, int | float | bool | str | None] = field(default_factory=dict)
    revision: Revision | None = None
    variables: Mapping[str, str] = field(default_factory=dict)
    workers: int = 1


def plain_name(framework: str) -> str:
    """A framework without the version or the environment that was asked for: ``jax`` of ``jax==0.10.2``."""
    return framework.partition("==")[0].partition("@")[0]


def label_of(case: Case) -> str:
    """What begins the id of a case, before its framework: ``training``; empty if its framework is not in the id."""
    label, found, _ = case.id.partition(f"-{case.framework}-")
    return label if found else ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Context:
    """What must be the same on both sides of a comparison.

    A program has no network and no recipe: these fields are empty, and ``batch_size`` is None. ``allocator`` is the
    allocation policy of all workers, as in --dlbench-allocator. ``execution`` are the recipe's settings of execution
    that are on, such as "tf32"; none in files older than this field. ``weights`` begins the hash of the file of weights
    that were given; empty without one.

    The exception is ``recipe_steps``, the recipe's own number of steps: if ``steps`` is lower, the scale ended the
    training early, and its accuracy is not the recipe's. None in files older than this field.
    """

    machine: Machine
    network_digest: str
    dataset_digest: str
    batch_size: int | None
    steps: int
    precision: str
    init: str
    recipe_steps: int | None = None
    input: str = "memory"
    allocator: str = "tuned"
    execution: tuple[str, ...] = ()
    weights: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class SkippedCell:
    """A combination of the axes that is not a case, and why."""

    id: str
    reason: str
