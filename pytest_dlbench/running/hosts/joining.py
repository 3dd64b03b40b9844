"""The parts of one run that several hosts made, one worker each, as one run.

Hosts have clocks of their own. What is added up over time is aligned where all of them were together: the workers leave
the last step's exchange at the same time.
"""

from collections.abc import Sequence
from dataclasses import fields, replace
from itertools import pairwise
from statistics import fmean
from typing import Any

import numpy as np

from pytest_dlbench.records import Exchange, Run, Timeline, Training, UpdateCheck, Usage
from pytest_dlbench.running import messages
from pytest_dlbench.running.merging import loaded_by_all, merged
from pytest_dlbench.sampling.joining import summed_readings

# Fields of a usage that are not summed over the hosts.
HIGHEST = ("wall_seconds", "load")
FIRST = ("began_seconds", "gpus")


def joined(runs: Sequence[Run]) -> Run:
    """The finished runs of all hosts, in the order of the ranks, as one."""
    first = runs[0]
    imports, builds = ([getattr(run, name) for run in runs] for name in ("import_seconds", "build_seconds"))
    return replace(
        first,
        wall_seconds=max(run.wall_seconds for run in runs),
        import_seconds=_slowest(imports),
        build_seconds=_slowest(builds),
        training=_training([run.training for run in runs if run.training]),
        usage={phase: _usage([run.usage[phase] for run in runs if phase in run.usage]) for phase in first.usage},
        timeline=_timeline([run.timeline for run in runs]),
        cores=tuple(sorted({core for run in runs for core in run.cores})),
        compiled="cold" if any(run.compiled == "cold" for run in runs) else first.compiled,
        workers=tuple(share for run in runs for share in run.workers),
        exchange=_exchange([run.exchange for run in runs if run.exchange]),
        update_check=first.update_check and _updates([run.update_check for run in runs if run.update_check]),
        survivors=tuple(name for run in runs for name in run.survivors),
        absent={name: why for run in reversed(runs) for name, why in run.absent.items()},
        on_battery=any(run.on_battery for run in runs),
    )


def _training(parts: Sequence[Training]) -> Training | None:
    if not parts:
        return None
    ended = [np.cumsum(part.step_seconds) for part in parts]
    last_ended = np.max([of_part - of_part[-1] for of_part in ended], axis=0)
    began = min(-of_part[-1] for of_part in ended)
    waits = [part.input_seconds for part in parts]
    return replace(
        parts[0],
        step_seconds=tuple(float(late - early) for early, late in pairwise([began, *last_ended])),
        losses=tuple(map(fmean, zip(*(part.losses for part in parts), strict=True))),
        examples=sum(part.examples for part in parts),
        batch_size=sum(part.batch_size for part in parts),
        tokens=None if parts[0].tokens is None else sum(part.tokens or 0 for part in parts),
        load_seconds=_slowest([part.load_seconds for part in parts]),
        input_seconds=tuple(map(max, zip(*waits, strict=True))),
        loading=loaded_by_all([part.loading for part in parts]),
    )


def _usage(parts: Sequence[Usage]) -> Usage:
    found: dict[str, Any] = {}
    for name in [field.name for field in fields(Usage) if field.name not in (*FIRST, "readings", "core_use")]:
        values = [getattr(part, name) for part in parts]
        # A figure that one host lacks is not that of all.
        found[name] = None if None in values else max(values) if name in HIGHEST else sum(values)
    # What is summed is compared with the processors of all hosts.
    cores = tuple(use for part in parts for use in part.core_use)
    return replace(parts[0], **found, core_use=cores, readings=summed_readings(parts))


def _timeline(parts: Sequence[Timeline]) -> Timeline:
    """All values at the times of the first host, whose run began when the others' did."""
    first = parts[0]
    if not all(part.seconds for part in parts):
        return first

    def summed(name: str) -> list[float]:
        series = [(part.seconds, getattr(part, name)) for part in parts]
        values: list[float] = np.sum([np.interp(first.seconds, *one) for one in series], axis=0).tolist()
        return values

    return replace(
        first,
        rss_bytes=tuple(map(round, summed("rss_bytes"))),
        cpu_seconds=tuple(summed("cpu_seconds")),
        machine_seconds=tuple(summed("machine_seconds")) if all(part.machine_seconds for part in parts) else (),
    )


def _exchange(parts: Sequence[Exchange]) -> Exchange | None:
    if not parts:
        return None
    alone = tuple(map(max, zip(*(part.alone_seconds for part in parts), strict=False)))
    return Exchange(join_seconds=_slowest([part.join_seconds for part in parts]), alone_seconds=alone)


def _updates(parts: Sequence[UpdateCheck]) -> UpdateCheck:
    answers = [messages.Updated(changed=part.changed, losses=part.losses) for part in parts]
    both: messages.Updated = merged("check_updates", answers)
    return replace(parts[0], changed=both.changed, losses=both.losses)


def _slowest(seconds: Sequence[float | None]) -> float | None:
    return max((one for one in seconds if one is not None), default=None)
