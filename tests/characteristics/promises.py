"""What docs/explanation/error-rates.md promises of the rules that ship, each with the simulation that shows it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from math import sqrt

from tests.characteristics.regimes import (
    CONTENDED,
    KNOWN_STEPS,
    QUIET,
    RECORDED,
    REGIMES,
    STEPS,
    TWENTY,
    TYPICAL,
    Alternating,
    Regime,
)
from tests.characteristics.simulation import EQUIVALENT, IMPROVED, OTHERS, REGRESSED, Cases, simulate

# How many cases a session has in which nothing changed, and one in which something did.
MANY, FEW = 100, 8


@dataclass(frozen=True, slots=True, kw_only=True)
class Promise:
    """A share of simulated cases that is ``most`` or ``least``; ``others`` are the spreads of metrics besides time."""

    text: str
    regime: Regime | Alternating
    change: float
    figure: Callable[[Cases], float]
    tolerance: float = 0.05
    session: int = FEW
    others: Mapping[str, float] = field(default_factory=lambda: OTHERS)
    most: float = 1.0
    least: float = 0.0

    def is_kept(self, cases: int, seed: int) -> bool:
        """Whether a simulation of that size keeps it, up to three standard errors."""
        found = simulate(
            self.regime,
            self.change,
            cases=cases,
            seed=seed,
            session=self.session,
            tolerance=self.tolerance,
            others=self.others,
        )
        return within(self.figure(found), self.least, self.most, cases)


def within(share: float, least: float, most: float, cases: int) -> bool:
    """Whether a share is between the two, up to three standard errors for that many cases."""
    slack_below, slack_above = (3 * sqrt(bound * (1 - bound) / cases) for bound in (least, most))
    return least - slack_below <= share <= most + slack_above


def share_of(outcome: int) -> Callable[[Cases], float]:
    """The share of cases with an outcome."""
    return lambda found: found.share(outcome)


def time_is_equivalent(found: Cases) -> float:
    """The share of cases whose time is called equivalent."""
    return float((found.time == EQUIVALENT).mean())


def coverage(found: Cases) -> float:
    """The share of cases whose interval of time holds the true change."""
    return float(found.is_covered.mean())


# One case in 10,000 makes 1 % of sessions with 100 cases.
UNCHANGED = tuple(
    Promise(
        text=f"{regime.name}: of 100 unchanged cases any is called {name} in at most 1 % of sessions",
        regime=regime,
        change=0.0,
        session=MANY,
        figure=share_of(outcome),
        most=0.0001,
    )
    for regime in (*REGIMES, *STEPS, *KNOWN_STEPS, *RECORDED)
    for name, outcome in (("regressed", REGRESSED), ("improved", IMPROVED))
)
MISSED = tuple(
    Promise(
        text=f"{regime.name}: 10 % slower is called equivalent at most 0.5 % of the time",
        regime=regime,
        change=0.1,
        figure=time_is_equivalent,
        most=0.005,
    )
    for regime in (*REGIMES, *STEPS, *KNOWN_STEPS, *RECORDED)
)
FOUND = (
    Promise(
        text="alternating, quiet: 3 % slower is found at least 99 % of the time, tolerance 1.5 %",
        regime=STEPS[0],
        change=0.03,
        tolerance=0.015,
        figure=share_of(REGRESSED),
        least=0.99,
    ),
    Promise(
        text="alternating, contended: 5 % slower is found at least 95 % of the time, tolerance 2.5 %",
        regime=STEPS[1],
        change=0.05,
        tolerance=0.025,
        figure=share_of(REGRESSED),
        least=0.95,
    ),
    Promise(
        text="alternating, contended: at least 99 % of unchanged cases pass",
        regime=STEPS[1],
        change=0.0,
        figure=share_of(EQUIVALENT),
        least=0.99,
    ),
    Promise(
        text="quiet: 10 % slower is found at least 99.5 % of the time",
        regime=QUIET,
        change=0.1,
        figure=share_of(REGRESSED),
        least=0.995,
    ),
    Promise(
        text="typical: 10 % slower is found at least 97 % of the time",
        regime=TYPICAL,
        change=0.1,
        figure=share_of(REGRESSED),
        least=0.97,
    ),
    Promise(
        text="quiet: 3 % slower is found at least 98 % of the time, tolerance 1.5 %",
        regime=QUIET,
        change=0.03,
        tolerance=0.015,
        figure=share_of(REGRESSED),
        least=0.98,
    ),
    Promise(
        text="typical: at least 97 % of unchanged cases pass",
        regime=TYPICAL,
        change=0.0,
        figure=share_of(EQUIVALENT),
        least=0.97,
    ),
    Promise(
        text="contended: the interval holds the truth of at least 90 % of unchanged cases",
        regime=CONTENDED,
        change=0.0,
        figure=coverage,
        least=0.9,
    ),
)
# By how much the peak memory of two runs of one version may differ: PyTorch's to JAX's.
MEMORY_SDS = (0.003, 0.01, 0.015, 0.02, 0.03, 0.06)
VARYING = tuple(
    Promise(
        text=f"peak memory differs by {sd:.1%} from run to run: at least 95 % of unchanged cases pass",
        regime=QUIET,
        change=0.0,
        others={**OTHERS, "peak_rss": sd},
        figure=share_of(EQUIVALENT),
        least=0.95,
    )
    for sd in MEMORY_SDS
)
PROMISES = (*UNCHANGED, *MISSED, *FOUND, *VARYING)
# On average, of a case with all its metrics.
MOST_PAIRS = {
    QUIET: 5.0,
    TYPICAL: 15.0,
    TWENTY: 4.0,
    KNOWN_STEPS[0]: 4.5,
    KNOWN_STEPS[1]: 4.0,
}
# Of an unchanged case, however much its memory varies.
MOST_PAIRS_OF_MEMORY = 10.0
# Of a stored baseline: sessions with 100 unchanged cases in which any is called regressed.
MOST_FALSE_OF_SESSIONS = 0.05
