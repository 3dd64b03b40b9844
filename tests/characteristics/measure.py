"""Simulates what the documentation promises of the gate, writes the figures into it, and fails if a promise is broken.

    tox -e characteristics

Every figure is a share of simulated sessions, judged by the shipped rules; the seed is fixed.
"""

import argparse
import platform
import re
import sys
from collections.abc import Iterable, Iterator
from dataclasses import replace
from math import log, sqrt
from pathlib import Path

import numpy as np
import scipy

from pytest_dlbench.judging.intervals import Values
from pytest_dlbench.judging.metrics import METRICS
from pytest_dlbench.judging.multiple_testing import BUDGET, share_in_turn
from tests.characteristics.promises import (
    CASES,
    LEAST_POWER,
    LEAST_POWER_IN_TURN,
    MOST_PAIRS,
    MOST_PAIRS_OF_ONE_PASS,
    PROMISES,
    SUITES,
    keeps_family,
    measured,
    measured_suite,
)
from tests.characteristics.regimes import NOISY, QUIET, REGIMES, TYPICAL, Regime, reference_spreads
from tests.characteristics.simulation import RULE, TOLERANCE, Spreads, SuiteShares, shipped, single, stored

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "explanation" / "error-rates.md"
SUMMARIES = (ROOT / "README.md", ROOT / "docs" / "index.md")
BEGIN, END = "<!-- figures: tox -e characteristics -->", "<!-- end of the figures -->"
SEED = 20261121
QUICK = replace(RULE, max_pairs=10)
# What the promises do not cover.
STALLING = replace(TYPICAL, name="typical, and a fifth of the candidate's runs stall", new_slowed_share=0.2)
WARMING = replace(QUIET, name="quiet, and the second run of a pair 2 % slower", second_penalty=0.02)


def main() -> int:
    """Measure, write, and say which promises are broken."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sessions", type=int, default=200_000, help="Simulated sessions a figure [200000].")
    sessions: int = parser.parse_args().sessions
    suites = {name: measured_suite(name, sessions // 40, SEED) for name in SUITES}
    interleaved = {name: measured_suite(name, sessions // 40, SEED, is_in_turn=True) for name in SUITES}
    lines = [
        *conditions(sessions),
        *whole_rule(sessions),
        *paired(sessions),
        *many(suites, interleaved),
        *baselines(sessions // 20),
    ]
    write(PAGE, lines)
    for page in SUMMARIES:
        write(page, summary(sessions))
    broken = [
        *broken_promises(sessions),
        *broken_suites(suites, LEAST_POWER),
        *broken_suites(interleaved, LEAST_POWER_IN_TURN),
    ]
    for text in broken:
        print(f"broken: {text}", file=sys.stderr)
    return 1 if broken else 0


def broken_promises(sessions: int) -> Iterator[str]:
    """The promises that the paired rule breaks."""
    for promise in PROMISES:
        if not promise.is_kept(measured(promise, sessions, SEED)):
            yield promise.text
    for rule, most in ((shipped, MOST_PAIRS), (single, MOST_PAIRS_OF_ONE_PASS)):
        if (used := rule(TYPICAL, log(1.1), sessions=sessions, seed=SEED).pairs) > most:
            yield f"{rule.__name__}, typical: a case 10 % slower takes {used:.2f} pairs"


def broken_suites(suites: dict[str, SuiteShares], least_power: float) -> Iterator[str]:
    """The promises that the rule for many cases breaks."""
    for name, shares in suites.items():
        if not keeps_family(shares, int((SUITES[name] > TOLERANCE + 1e-12).sum()), least_power):
            yield f"{CASES} cases, {name}: family error {shares.family_error:.1%}, power {shares.power:.1%}"


def conditions(sessions: int) -> list[str]:
    """How the figures were simulated."""
    edge = sqrt(0.025 * 0.975 / sessions)
    return [
        f"Simulated, not measured: {sessions:,} sessions for each number in the first two tables, {sessions // 40:,}",
        f"suites for each row of the third, {sessions // 20:,} histories for each row of the fourth; seed {SEED},",
        f"NumPy {np.__version__}, SciPy {scipy.__version__}, Python {platform.python_version()}; tolerance 5 %.",
        f"The standard error of a share p of n is √(p(1−p)/n), for example {100 * edge:.3f} % at 2.5 % in the first",
        "two tables.",
        "",
    ]


def summary(sessions: int) -> list[str]:
    """What the README and the home page promise."""
    same, ten = (shipped(TYPICAL, change, sessions=sessions, seed=SEED) for change in (0.0, log(1.1)))
    alarms = round(same.regressed * sessions)
    return [
        "In simulation, where two runs of the same code differ by about 2 %, paired runs detect a 10 % slowdown",
        f"**{100 * ten.regressed:.1f} % of the time**, after {ten.pairs:.0f} pairs on average, and unchanged code was",
        f"reported as regressed in **{alarms:,} of {sessions:,} sessions** (one metric, tolerance 5 %).",
    ]


def whole_rule(sessions: int) -> Iterator[str]:
    """What ships: screening, and a confirmation on fresh pairs."""
    yield from (
        "**The rule that ships**, for one metric: screening with up to 10 pairs (α 5 %), then confirmation on up to 20",
        f"fresh pairs (α {100 * share_in_turn(1, BUDGET):.1f} %, the first candidate's share of the budget).",
        "",
    )
    yield from heading(
        *("noise", "reference spread", "0 %: regressed", "improved", "equivalent", "pairs"),
        *("+5 %: regressed", "equivalent", "pairs", "+10 %: regressed", "pairs", "+15 %: regressed", "pairs"),
    )
    for name, spreads in SOURCES:
        for regime in REGIMES:
            same, edge, ten, fifteen = (
                shipped(regime, change, sessions=sessions, seed=SEED, spreads=spreads)
                for change in (0.0, TOLERANCE, log(1.1), log(1.15))
            )
            yield row(
                *(regime.name, name, f"{same.regressed:.2%}", f"{same.improved:.2%}", f"{same.equivalent:.1%}"),
                *(f"{same.pairs:.1f}", f"{edge.regressed:.1%}", f"{edge.equivalent:.1%}", f"{edge.pairs:.1f}"),
                *(f"{ten.regressed:.1%}", f"{ten.pairs:.1f}", f"{fifteen.regressed:.1%}", f"{fifteen.pairs:.1f}"),
            )
    yield ""


def assumed(random: np.random.Generator, regime: Regime, sessions: int) -> Values:
    """What is expected of a case without ten runs before it."""
    return np.full(sessions, sqrt(2) * METRICS["step_time"].run_sd)


def too_quiet(random: np.random.Generator, regime: Regime, sessions: int) -> Values:
    """The reference spread of a day with a third of the noise."""
    return reference_spreads(random, regime, sessions) / 3


SOURCES: tuple[tuple[str, Spreads], ...] = (
    ("ten earlier runs", reference_spreads),
    ("assumed, 2.1 %", assumed),
    ("a third of the true one", too_quiet),
)


def paired(sessions: int) -> Iterator[str]:
    """The paired rule, regime by regime and by where the reference spread is from."""
    yield from (
        "**One pass of the rule**, α 2.5 % a side: what the sequential test does by itself, with other limits on the",
        "number of pairs and other noise.",
        "",
    )
    yield from heading(
        *("noise", "reference spread", "most pairs", "0 %: regressed or improved", "equivalent", "pairs"),
        *("+5 %: regressed", "equivalent", "+10 %: regressed", "pairs", "+15 %: regressed", "pairs"),
    )
    rows = [(regime, RULE, name, spreads) for name, spreads in SOURCES for regime in REGIMES]
    rows += [(regime, QUICK, *SOURCES[0]) for regime in REGIMES]
    rows += [(regime, RULE, *SOURCES[0]) for regime in (STALLING, WARMING)]
    for regime, rule, name, spreads in rows:
        same, edge, ten, fifteen = (
            single(regime, change, sessions=sessions, seed=SEED, rule=rule, spreads=spreads)
            for change in (0.0, TOLERANCE, log(1.1), log(1.15))
        )
        yield row(
            *(regime.name, name, str(rule.max_pairs)),
            *(f"{same.false_alarms:.2%}", f"{same.equivalent:.1%}", f"{same.pairs:.1f}"),
            *(f"{edge.regressed:.1%}", f"{edge.equivalent:.1%}", f"{ten.regressed:.1%}", f"{ten.pairs:.1f}"),
            *(f"{fifteen.regressed:.1%}", f"{fifteen.pairs:.1f}"),
        )
    yield ""


def many(together: dict[str, SuiteShares], interleaved: dict[str, SuiteShares]) -> Iterator[str]:
    """The rule for many cases."""
    yield from ("**Many cases**, screened and confirmed:", "")
    yield from heading(
        *("100 cases, typical noise", "confirmed", "suites with any false regressed", "+10 %: detected", "pairs a case")
    )
    for way, suites in (("together", together), ("one by one", interleaved)):
        for name, shares in suites.items():
            power = "" if np.isnan(shares.power) else f"{shares.power:.1%}"
            yield row(name, way, f"{shares.family_error:.2%}", power, f"{shares.pairs:.1f}")
    yield ""


def baselines(histories: int) -> Iterator[str]:
    """A new session against stored ones."""
    yield from ("**A new session against stored ones**, α 5 %:", "")
    yield from heading(
        *("noise", "stored sessions", "0 %: worse", "equivalent", "+5 %: worse", "equivalent", "+10 %: worse"),
    )
    for regime in (QUIET, TYPICAL, NOISY):
        for count in (1, 4, 5, 8):
            same, edge, ten = (
                stored(regime, change, sessions=count, histories=histories, seed=SEED)
                for change in (0.0, TOLERANCE, log(1.1))
            )
            worse = "suspect" if count < 5 else "regressed"
            yield row(
                *(regime.name, str(count), f"{same.get(worse, 0):.1%} {worse}", f"{same.get('equivalent', 0):.1%}"),
                *(f"{edge.get(worse, 0):.1%}", f"{edge.get('equivalent', 0):.1%}", f"{ten.get(worse, 0):.1%}"),
            )


def heading(*names: str) -> list[str]:
    """The first two lines of a table."""
    return [row(*names), "|" + "---|" * len(names)]


def row(*cells: str) -> str:
    """A line of a table."""
    # Python's format has no space before the sign.
    return re.sub(r"(?<=\d)%", " %", f"| {' | '.join(cells)} |")


def write(page: Path, lines: Iterable[str]) -> None:
    """Replace the figures in a page."""
    before, rest = page.read_text(encoding="utf-8").split(BEGIN)
    _, after = rest.split(END)
    page.write_text("\n".join([f"{before}{BEGIN}", "", *lines, "", f"{END}{after}"]), encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
