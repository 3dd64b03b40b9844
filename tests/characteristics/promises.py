"""What docs/explanation/error-rates.md promises, each with the simulation that shows it."""

from collections.abc import Callable
from dataclasses import dataclass
from math import log, sqrt

import numpy as np

from pytest_dlbench.judging.intervals import Values
from tests.characteristics.regimes import NOISY, QUIET, REGIMES, TYPICAL, Regime
from tests.characteristics.simulation import TOLERANCE, Shares, SuiteShares, shipped, single, suite

CASES = 100


def changes(*, regressed: int, others: float) -> Values:
    """True changes of 100 cases: some by +10 %, and the others."""
    return np.where(np.arange(CASES) < regressed, log(1.1), others)


SUITES = {
    "nothing changed": changes(regressed=0, others=0.0),
    "all exactly 5 % slower": changes(regressed=0, others=TOLERANCE),
    "one 10 % slower, nothing else changed": changes(regressed=1, others=0.0),
    "ten 10 % slower, nothing else changed": changes(regressed=10, others=0.0),
    "ten 10 % slower, all others 2.5 %": changes(regressed=10, others=log(1.025)),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Promise:
    """A share of sessions that is ``most`` or ``least``; ``rule`` simulates all that ships, or one pass of it."""

    text: str
    rule: Callable[..., Shares]
    regime: Regime
    change: float
    figure: Callable[[Shares], float]
    most: float = 1.0
    least: float = 0.0

    def is_kept(self, shares: Shares) -> bool:
        """Whether the share is within the promise, up to three standard errors of a simulation of that size."""
        return within(self.figure(shares), self.least, self.most, shares.sessions)


def within(share: float, least: float, most: float, sessions: int) -> bool:
    """Whether a share is between the two, up to three standard errors for that many sessions."""
    slack_below, slack_above = (3 * sqrt(bound * (1 - bound) / sessions) for bound in (least, most))
    return least - slack_below <= share <= most + slack_above


def promises(rule: Callable[..., Shares], *, name: str, at_the_tolerance: float) -> tuple[Promise, ...]:
    """Promises of a rule: false alarms, detections, and the share called regressed at the tolerance."""
    unchanged = (
        Promise(
            text=f"{name}, {regime.name}: an unchanged case is called regressed or improved in at most {most:.1%}",
            rule=rule,
            regime=regime,
            change=0.0,
            figure=lambda shares: shares.false_alarms,
            most=most,
        )
        for regime, most in ((QUIET, 0.001), (TYPICAL, 0.001), (NOISY, 0.005))
    )
    at_the_limit = (
        Promise(
            text=f"{name}, {regime.name}: exactly 5 % slower is called regressed in at most {at_the_tolerance:.1%}",
            rule=rule,
            regime=regime,
            change=TOLERANCE,
            figure=lambda shares: shares.regressed,
            most=at_the_tolerance,
        )
        for regime in REGIMES
    )
    detected = (
        Promise(
            text=f"{name}, {regime.name}: 10 % slower is called regressed at least 99 % of the time",
            rule=rule,
            regime=regime,
            change=log(1.1),
            figure=lambda shares: shares.regressed,
            least=0.99,
        )
        for regime in (QUIET, TYPICAL)
    )
    return (*unchanged, *at_the_limit, *detected)


PROMISES = (
    *promises(shipped, name="screened and confirmed", at_the_tolerance=0.005),
    *promises(single, name="one pass", at_the_tolerance=0.025),
)
# Of a case 10 % slower in the typical regime, on average.
MOST_PAIRS = 11.0
MOST_PAIRS_OF_ONE_PASS = 5.5
# Of 100 cases in the typical regime, under the usual budget of 1 %.
MOST_FAMILY_ERROR = 0.015
LEAST_POWER = 0.99
# If each case is settled before the next begins, and ten of them are 10 % slower.
LEAST_POWER_IN_TURN = 0.96


def measured(promise: Promise, sessions: int, seed: int) -> Shares:
    """The simulation of a promise."""
    return promise.rule(promise.regime, promise.change, sessions=sessions, seed=seed)


def measured_suite(name: str, suites: int, seed: int, *, is_in_turn: bool = False) -> SuiteShares:
    """100 cases in the typical regime."""
    return suite(TYPICAL, SUITES[name], suites=suites, seed=seed, is_in_turn=is_in_turn)


def keeps_family(shares: SuiteShares, regressed: int, least_power: float = LEAST_POWER) -> bool:
    """Whether a simulation of suites with this many truly regressed cases keeps the promises for many cases."""
    is_quiet = within(shares.family_error, 0.0, MOST_FAMILY_ERROR, shares.suites)
    return is_quiet and (not regressed or within(shares.power, least_power, 1.0, shares.suites * regressed))
