"""Suggested commands, quoted for a shell."""

import os
import shlex
from pathlib import Path

from pytest_dlbench.judging import Metrics
from pytest_dlbench.records import Case
from pytest_dlbench.records.reasons import InPairs, MoveReference, Portable, Repeat
from pytest_dlbench.reporting import figures

# Options that select cells or apply to one side: the command for pairs sets them itself.
OF_ONE_SIDE = ("--dlbench-frameworks", "--dlbench-ab", "--dlbench-runs", "--dlbench-baselines", "--dlbench-build")
DEFAULT_BASELINES = "baselines"


def again(repeat: Repeat) -> str:
    """The command that runs the same case again."""
    return shlex.join(["pytest", repeat.node, *repeat.flags])


def accept(repeat: Repeat, reason: str = "why the new figure is right") -> str:
    """The command that runs the same case again and makes its figures the baseline."""
    return f'{again(repeat)} --dlbench-save --dlbench-reason "{reason}"'


def accept_portable(case: Case, portable: Portable) -> str:
    """The command that adds the newest recorded session of a case to its portable baseline."""
    folder = os.path.relpath(Path(portable.path).parents[1])
    found = ["dlbench", "baseline", "portable", ".dlbench", "--case", case.id]
    return f'{shlex.join([*found, *_in_folder(folder)])} --reason "why the new figure is right"'


def in_pairs(case: Case, repeat: Repeat, pairs: InPairs, metrics: Metrics) -> str:
    """The command that runs the case in pairs: the baseline's version and the current one, or two revisions."""
    if pairs.is_of_program:
        # The user's own code is what changed last.
        return shlex.join(["pytest", repeat.node, *_kept(repeat), "--dlbench-ab=rev:OLD,rev:HEAD"])
    cells = {"models": case.model, "datasets": case.dataset, "devices": case.device}
    flags = [f"--dlbench-{axis}={value}" for axis, value in cells.items()]
    # Requirements files may pin other frameworks too.
    flags += [] if pairs.versions else [f"--dlbench-frameworks={pairs.framework}"]
    amounts = {name: figures.amount(name, value, metrics) for name, value in pairs.tolerances.items()}
    flags += [f"--dlbench-tolerance={name}:{amount}" for name, amount in amounts.items()]
    flags += _kept(repeat)
    sides = [f"{pairs.framework}=={version}" for version in pairs.versions or ()] or ["old.txt", "new.txt"]
    test = repeat.node.partition("[")[0]
    return shlex.join(["pytest", test, *flags, "--dlbench-build", f"--dlbench-ab={','.join(sides)}"])


def _kept(repeat: Repeat) -> list[str]:
    return [flag for flag in repeat.flags if not flag.startswith(OF_ONE_SIDE)]


def move_reference(case: Case, move: MoveReference) -> str:
    """The command that makes the newest session the reference session."""
    return shlex.join(["dlbench", "baseline", "anchor", case.id, "--last", *_in_folder(move.baselines)])


def _in_folder(baselines: str) -> list[str]:
    return [] if baselines == DEFAULT_BASELINES else ["--baselines", baselines]
