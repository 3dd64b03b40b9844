"""Noise of runs, in log time, with which the gate's promises were simulated.

A run is in a fresh process. Besides its own noise it may meet other load, which slows it by 10 to 50 % and often stays
for the next runs; the machine drifts slowly; and the second run of a pair may be a little slower than the first.
"""

from dataclasses import dataclass

import numpy as np

from pytest_dlbench.judging.intervals import MAD_TO_SD, Values
from pytest_dlbench.judging.metrics import METRICS
from pytest_dlbench.judging.scales import smallest_spread

# Correlation of the slow drift between one run and the next.
DRIFT_KEPT = 0.95
BASELINE_RUNS = 10
SESSION_RUNS = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Regime:
    """Standard deviations and shifts of log time; ``slowed_share`` of runs meet other load, ``burst`` in a row.

    ``session_sd`` is what whole sessions differ by, which pairs never see. ``new_slowed_share`` of the new version's
    runs are slowed by 10 to 50 % by itself.
    """

    name: str
    run_sd: float
    slowed_share: float
    burst: float
    drift_sd: float
    second_penalty: float
    session_sd: float
    new_slowed_share: float = 0.0


REGIMES = (
    Regime(
        name="quiet",
        run_sd=0.005,
        slowed_share=0.005,
        burst=1.0,
        drift_sd=0.002,
        second_penalty=0.0,
        session_sd=0.005,
    ),
    Regime(
        name="typical",
        run_sd=0.015,
        slowed_share=0.02,
        burst=1.0,
        drift_sd=0.01,
        second_penalty=0.003,
        session_sd=0.015,
    ),
    Regime(
        name="noisy",
        run_sd=0.03,
        slowed_share=0.05,
        burst=1.5,
        drift_sd=0.02,
        second_penalty=0.005,
        session_sd=0.03,
    ),
    Regime(
        name="contended",
        run_sd=0.06,
        slowed_share=0.15,
        burst=3.0,
        drift_sd=0.04,
        second_penalty=0.01,
        session_sd=0.05,
    ),
)
QUIET, TYPICAL, NOISY, CONTENDED = REGIMES


def runs(random: np.random.Generator, regime: Regime, sessions: int, count: int) -> Values:
    """Log times of ``count`` consecutive runs, a row for each session."""
    own = random.normal(0.0, regime.run_sd, (sessions, count))
    slowed = _slowing(random, sessions, count) * _is_slowed(random, regime, sessions, count)
    return own + slowed + _drift(random, regime, sessions, count)


def pairs(random: np.random.Generator, regime: Regime, sessions: int, count: int, change: Values | float) -> Values:
    """Differences new - old of ``count`` pairs back to back, the order random in each."""
    first, second = np.moveaxis(runs(random, regime, sessions, 2 * count).reshape(sessions, count, 2), -1, 0)
    order = random.choice([-1.0, 1.0], (sessions, count))
    stalls = _slowing(random, sessions, count) * (random.random((sessions, count)) < regime.new_slowed_share)
    return order * (second + regime.second_penalty - first) + stalls + np.reshape(change, (-1, 1))


def reference_spreads(random: np.random.Generator, regime: Regime, sessions: int) -> Values:
    """The reference spread of each session, from ten runs before it."""
    return spreads_of(runs(random, regime, sessions, BASELINE_RUNS))


def spreads_of(baselines: Values) -> Values:
    """``pairs.reference_spread`` for rows of log times; a test compares the two."""
    steps = np.abs(np.diff(baselines, axis=-1))
    return np.maximum(smallest_spread(METRICS["step_time"]), MAD_TO_SD * np.median(steps, axis=-1))


def session_figures(random: np.random.Generator, regime: Regime, histories: int, sessions: int) -> Values:
    """The median over five runs of each session, a row for each history."""
    within = runs(random, regime, histories * sessions, SESSION_RUNS)
    figures: Values = np.median(within, axis=1).reshape(histories, sessions)
    return figures + random.normal(0.0, regime.session_sd, (histories, sessions))


def _slowing(random: np.random.Generator, sessions: int, count: int) -> Values:
    return np.log1p(random.uniform(0.1, 0.5, (sessions, count)))


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
        level = DRIFT_KEPT * level + np.sqrt(1 - DRIFT_KEPT**2) * step
        levels.append(level)
    return np.stack(levels, axis=1)
