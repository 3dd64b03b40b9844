"""Noise of runs, in log time, with which the gate's promises were simulated.

A run is in a fresh process. Besides its own noise it may meet other load, which slows it by 10 to 50 % and often stays
for the next runs; the machine drifts slowly; and the second run of a pair may be a little slower than the first.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from pytest_dlbench.judging.intervals import MAD_TO_SD, QUARTILE_TO_SD, Values
from pytest_dlbench.judging.metric import Metric
from pytest_dlbench.judging.metrics import METRICS
from pytest_dlbench.judging.pairs import REFERENCE_RUNS
from pytest_dlbench.judging.scales import smallest_spread
from tests.characteristics.series import Design, Series, recorded

TIME = METRICS["step_time"]
SESSION_RUNS = 5
# Recorded pairs are drawn in parts of this many consecutive ones, which keeps what lasts longer than a pair.
PART = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Regime:
    """Standard deviations and shifts of log time.

    ``tail`` are the degrees of freedom of the t distribution of the process's own noise, normal without. ``modes`` is
    how far the two kinds of processes are apart, equally likely. ``slowed_share`` of runs meet other load, ``burst`` in
    a row on average, which slows them by ``slowed_by``. The drift keeps ``drift_kept`` of itself from run to run. The
    second run of a pair is slower by ``second_penalty``. ``session_sd`` is what whole sessions differ by, which pairs
    never see. ``reference`` is a factor on the spread that ``earlier`` runs show. With ``recorded`` series of runs back
    to back, all noise is drawn from them, that of a case from one of them.
    """

    name: str
    run_sd: float = 0.0
    tail: int | None = None
    modes: float = 0.0
    slowed_share: float = 0.0
    slowed_by: tuple[float, float] = (0.1, 0.5)
    burst: float = 1.0
    drift_sd: float = 0.0
    drift_kept: float = 0.95
    second_penalty: float = 0.0
    session_sd: float = 0.0
    reference: float = 1.0
    earlier: int = REFERENCE_RUNS
    recorded: tuple[Series, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Alternating:
    """Standard deviations of the differences of pairs whose steps alternate.

    ``process_sd`` is how two processes of one version differ, in wall time and in processor time alike; ``wall_sd`` and
    ``cpu_sd`` are what each has of its own. ``tail`` and ``modes`` are those of a Regime, in place of the processes'
    normal noise and in addition to it. Their reference spread is the assumed one; ``earlier`` is the noise of ten runs
    of the baseline in an earlier session, if there are any. With ``recorded`` series of alternating pairs, all noise is
    drawn from them, that of a case from one of them.
    """

    name: str
    process_sd: float = 0.0
    wall_sd: float = 0.0
    cpu_sd: float = 0.0
    tail: int | None = None
    modes: float = 0.0
    earlier: Regime | None = None
    recorded: tuple[Series, ...] = ()


QUIET = Regime(name="quiet", run_sd=0.005, slowed_share=0.005, drift_sd=0.002, session_sd=0.005)
TYPICAL = Regime(name="typical", run_sd=0.015, slowed_share=0.02, drift_sd=0.01, second_penalty=0.003, session_sd=0.015)
NOISY = Regime(
    name="noisy", run_sd=0.03, slowed_share=0.05, burst=1.5, drift_sd=0.02, second_penalty=0.005, session_sd=0.03
)
CONTENDED = Regime(
    name="contended", run_sd=0.06, slowed_share=0.15, burst=3.0, drift_sd=0.04, second_penalty=0.01, session_sd=0.05
)
USUAL = (QUIET, TYPICAL, NOISY, CONTENDED)
HEAVY = Regime(name="heavy tails", run_sd=0.012, tail=3)
BIMODAL = Regime(name="two kinds of processes", run_sd=0.005, modes=0.08)
ORDERED = replace(QUIET, name="second run +5 %", second_penalty=0.05)
CORRELATED = Regime(name="autocorrelated", run_sd=0.005, drift_sd=0.03, drift_kept=0.7)
TWO_STATES = Regime(name="machine of two speeds", run_sd=0.01, slowed_share=0.3, slowed_by=(0.3, 0.3), burst=8.0)
TWENTY = replace(QUIET, name="quiet, twenty earlier runs", earlier=20)
# The first three are as observed, without other load, with a load of 5 to 9 on two cores, and with that and few steps.
STEPS = (
    Alternating(name="alternating, quiet", process_sd=0.004, wall_sd=0.002, cpu_sd=0.002),
    Alternating(name="alternating, contended", process_sd=0.015, wall_sd=0.01, cpu_sd=0.006),
    Alternating(name="alternating, wall disturbed", process_sd=0.015, wall_sd=0.06, cpu_sd=0.006),
    Alternating(name="alternating, heavy tails", process_sd=0.01, wall_sd=0.005, cpu_sd=0.005, tail=3),
    Alternating(name="alternating, two kinds of processes", process_sd=0.003, wall_sd=0.002, cpu_sd=0.002, modes=0.08),
)
# With earlier runs of the baseline, one after the other.
KNOWN_STEPS = (
    replace(STEPS[0], name="alternating, quiet, ten earlier runs", earlier=QUIET),
    replace(STEPS[0], name="alternating, quiet, twenty earlier runs", earlier=TWENTY),
    replace(STEPS[1], name="alternating, contended, earlier runs quiet", earlier=QUIET),
    replace(STEPS[3], name="alternating, heavy tails, ten earlier runs", earlier=HEAVY),
    replace(STEPS[4], name="alternating, two kinds of processes, ten earlier runs", earlier=BIMODAL),
)


def _recorded(design: Design, *, is_quiet: bool) -> dict[str, Any]:
    """The name of a regime, and its series."""
    machine = "quiet" if is_quiet else "a process computes on each core"
    return {"name": f"recorded, {design}, {machine}", "recorded": recorded(design, is_quiet=is_quiet)}


# Of what series.jsonl has so far.
RECORDED = tuple(
    regime
    for is_quiet in (True, False)
    for regime in (
        Regime(**_recorded("sequential", is_quiet=is_quiet)),
        Alternating(**_recorded("alternating", is_quiet=is_quiet)),
    )
    if regime.recorded
)
REGIMES = (
    *USUAL,
    HEAVY,
    BIMODAL,
    ORDERED,
    CORRELATED,
    TWO_STATES,
    replace(TYPICAL, name="typical, reference a third", reference=1 / 3),
    replace(CONTENDED, name="contended, reference a third", reference=1 / 3),
    replace(TYPICAL, name="typical, reference threefold", reference=3.0),
    TWENTY,
    replace(BIMODAL, name="two kinds of processes, twenty earlier runs", earlier=20),
)


def runs(random: np.random.Generator, regime: Regime, sessions: int, count: int) -> Values:
    """Log times of ``count`` consecutive runs, a row for each session."""
    shape = (sessions, count)
    own = random.standard_normal(shape) if regime.tail is None else random.standard_t(regime.tail, shape)
    kind = regime.modes * (random.random(shape) < 0.5)
    slowed = np.log1p(random.uniform(*regime.slowed_by, shape)) * _is_slowed(random, regime, sessions, count)
    return regime.run_sd * own + kind + slowed + _drift(random, regime, sessions, count)


def pairs(random: np.random.Generator, regime: Regime, sessions: int, count: int) -> Values:
    """Differences second - first of ``count`` pairs back to back."""
    if regime.recorded:
        differences = [np.diff(np.reshape(one.seconds, (-1, 2)), axis=1) for one in regime.recorded]
        return _drawn(random, differences, (sessions, count))[0]
    first, second = np.moveaxis(runs(random, regime, sessions, 2 * count).reshape(sessions, count, 2), -1, 0)
    return second + regime.second_penalty - first


def steps(random: np.random.Generator, regime: Alternating, sessions: int, count: int) -> tuple[Values, Values]:
    """Differences of ``count`` pairs whose steps alternate: of wall time, and of processor time."""
    shape = (sessions, count)
    if regime.recorded:
        # Either side may be the candidate.
        sides = np.repeat(random.choice([-1.0, 1.0], (sessions, -(-count // PART))), PART, axis=1)[:, :count]
        wall, cpu = _drawn(random, [np.stack([one.wall, one.cpu], axis=1) for one in regime.recorded], shape)
        return sides * wall, sides * cpu
    own = random.standard_normal(shape) if regime.tail is None else random.standard_t(regime.tail, shape)
    kinds = regime.modes * ((random.random(shape) < 0.5).astype(float) - (random.random(shape) < 0.5))
    common = regime.process_sd * own + kinds
    return common + random.normal(0.0, regime.wall_sd, shape), common + random.normal(0.0, regime.cpu_sd, shape)


def orders(random: np.random.Generator, sessions: int, count: int) -> Values:
    """1 where the baseline runs first, -1 where the candidate does; a test compares it with ``running.pairs``."""
    blocks = random.choice([-1.0, 1.0], (sessions, (count + 1) // 2))
    return np.stack([blocks, -blocks], axis=-1).reshape(sessions, -1)[:, :count]


def references(random: np.random.Generator, regime: Regime, sessions: int) -> tuple[Values, Values]:
    """The reference spread of each session, and how far the earlier runs that it is from are apart."""
    before = _earlier(random, regime, sessions)
    return regime.reference * spreads_of(before), regime.reference * np.ptp(before, axis=-1)


def _earlier(random: np.random.Generator, regime: Regime, sessions: int) -> Values:
    """Log times of consecutive runs before the session, a row for each."""
    if not regime.recorded:
        return runs(random, regime, sessions, regime.earlier)
    windows = [np.lib.stride_tricks.sliding_window_view(one.seconds, regime.earlier) for one in regime.recorded]
    found = np.empty((sessions, regime.earlier))
    for number, rows in enumerate(windows):
        of_series = _has_series(number, len(windows), sessions)
        found[of_series] = rows[random.integers(len(rows), size=int(of_series.sum()))]
    return found


def _drawn(random: np.random.Generator, series: Sequence[Values], shape: tuple[int, int]) -> Values:
    """Each column (of pairs × columns) of each session's series: columns × sessions × pairs.

    Parts of consecutive pairs, in a circle, begin anywhere.
    """
    sessions, count = shape
    parts = -(-count // PART)
    found = np.empty((series[0].shape[1], sessions, count))
    for number, pairs in enumerate(series):
        of_series = _has_series(number, len(series), sessions)
        begins = random.integers(len(pairs), size=(int(of_series.sum()), parts, 1))
        places = (begins + np.arange(PART)).reshape(-1, parts * PART)[:, :count] % len(pairs)
        found[:, of_series] = np.moveaxis(pairs[places], -1, 0)
    return found


def _has_series(number: int, count: int, sessions: int) -> Values:
    """Which sessions draw from a series, each of them in rotation: a session has the same one for all it draws."""
    found: Values = np.arange(sessions) % count == number
    return found


def spreads_of(baselines: Values, metric: Metric = TIME) -> Values:
    """``pairs.reference_spread`` for rows of values; a test compares the two."""
    steps = np.abs(np.diff(baselines, axis=-1))
    quartile = QUARTILE_TO_SD * np.quantile(steps, 0.75, axis=-1)
    return np.maximum(smallest_spread(metric), np.maximum(MAD_TO_SD * np.median(steps, axis=-1), quartile))


def session_figures(random: np.random.Generator, regime: Regime, histories: int, sessions: int) -> Values:
    """The median over five runs of each session, a row for each history."""
    within = runs(random, regime, histories * sessions, SESSION_RUNS)
    figures: Values = np.median(within, axis=1).reshape(histories, sessions)
    return figures + random.normal(0.0, regime.session_sd, (histories, sessions))


def _is_slowed(random: np.random.Generator, regime: Regime, sessions: int, count: int) -> Values:
    """A Markov chain: its share of slowed runs and how many are in a row on average are the regime's."""
    leaves = 1 / regime.burst
    enters = leaves * regime.slowed_share / (1 - regime.slowed_share)
    draws = random.random((count, sessions))
    state = draws[0] < regime.slowed_share
    states = [state]
    for draw in draws[1:]:
        state = np.where(state, draw >= leaves, draw < enters)
        states.append(state)
    return np.stack(states, axis=1).astype(np.float64)


def _drift(random: np.random.Generator, regime: Regime, sessions: int, count: int) -> Values:
    """An autoregressive series of the first order, stationary from its first run on."""
    noise = random.normal(0.0, regime.drift_sd, (count, sessions))
    level = noise[0]
    levels = [level]
    for step in noise[1:]:
        level = regime.drift_kept * level + np.sqrt(1 - regime.drift_kept**2) * step
        levels.append(level)
    return np.stack(levels, axis=1)
