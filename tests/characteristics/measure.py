"""Simulates the gate as it ships, writes the figures into the documentation, and fails if a promise is broken.

    tox -e characteristics

Every figure is of whole cases with all their metrics, judged by the shipped rules; the seed is fixed.
"""

import argparse
import platform
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import scipy

from pytest_dlbench.judging.power import smallest_tolerance
from tests.characteristics import bumps, series
from tests.characteristics.bumps import Bump
from tests.characteristics.lines import lines
from tests.characteristics.promises import (
    FEW,
    MANY,
    MEMORY_SDS,
    MOST_FALSE_OF_SESSIONS,
    MOST_PAIRS,
    MOST_PAIRS_OF_MEMORY,
    PROMISES,
    within,
)
from tests.characteristics.regimes import KNOWN_STEPS, QUIET, RECORDED, REGIMES, STEPS, TYPICAL, Alternating, Regime
from tests.characteristics.series import FILE, Measured
from tests.characteristics.simulation import EQUIVALENT, IMPROVED, OTHERS, REGRESSED, Cases, cleared, simulate, stored
from tests.figures import heading, row, wrapped, write

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "explanation" / "error-rates.md"
SUMMARIES = (ROOT / "README.md", ROOT / "docs" / "index.md")
COMMAND = "tox -e characteristics"
SEED = 20261122
# Peaks of a process with PyTorch and a small network, and of one in which 16 MiB are less than the tolerance.
SMALL_MIB, LARGE_MIB = 380, 1000
SESSION_SDS = (0.01, 0.02, 0.04, 0.05, 0.06)
SPREADS = (0.01, 0.02, 0.03, 0.05)


def main() -> int:
    """Measure, write, and say which promises are broken."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", type=int, default=200_000, help="Simulated unchanged cases a row [200000].")
    cases: int = parser.parse_args().cases
    few = cases // 10
    figures = *pairs(cases), *recorded_series(), *memory(few), *tolerances(few), *baselines(cases // 2)
    write(PAGE, COMMAND, [*conditions(cases), *figures])
    for page in SUMMARIES:
        write(page, COMMAND, summary(cases))
    broken = [*broken_promises(cases // 2), *broken_baselines(cases // 2)]
    for text in broken:
        print(f"broken: {text}", file=sys.stderr)
    return 1 if broken else 0


def broken_promises(cases: int) -> Iterator[str]:
    """The promises that the paired rule breaks."""
    yield from (promise.text for promise in PROMISES if not promise.is_kept(cases, SEED))
    for regime, most in MOST_PAIRS.items():
        used = simulate(regime, 0.1, cases=cases // 5, seed=SEED).pairs.mean()
        if used > most:
            yield f"{regime.name}: a case 10 % slower takes {used:.2f} pairs"
    for sd in MEMORY_SDS:
        used = with_memory(sd, cases // 5).pairs.mean()
        if used > MOST_PAIRS_OF_MEMORY:
            yield f"peak memory differs by {sd:.1%}: an unchanged case takes {used:.2f} pairs"


def broken_baselines(histories: int) -> Iterator[str]:
    """The spreads of sessions at which a stored baseline raises too many false alarms."""
    for session_sd in SESSION_SDS:
        share = stored(0.0, session_sd=session_sd, sessions=8, cases=MANY, histories=histories, seed=SEED)
        if not within(share.get("regressed", 0.0), 0.0, MOST_FALSE_OF_SESSIONS / MANY, histories):
            yield f"sessions that differ by {session_sd:.0%}: {share}"


def conditions(cases: int) -> list[str]:
    """How the figures were simulated."""
    return wrapped(
        f"Simulated, not measured: {cases:,} unchanged cases for each row of the first table, and {cases // 10:,} for"
        f" each of its shares of changed ones; {cases // 10:,} for each row of the second and each number of the third;"
        f" {cases // 2:,} histories for each row of the last, {cases // 20:,} for changed ones. Seed {SEED}, NumPy"
        f" {np.__version__}, SciPy {scipy.__version__}, Python {platform.python_version()}."
    )


def summary(cases: int) -> list[str]:
    """What the README and the home page promise."""
    same = simulate(TYPICAL, 0.0, cases=cases, seed=SEED, session=MANY)
    ten = simulate(TYPICAL, 0.1, cases=cases // 10, seed=SEED, session=FEW)
    alarms = round(same.share(REGRESSED) * cases)
    return wrapped(
        "In simulation, where two runs of the same code differ by about 2 %, paired runs detect a 10 % slowdown in one"
        f" of {FEW} cases **{100 * ten.share(REGRESSED):.1f} % of the time**, after {ten.pairs.mean():.0f} pairs on"
        f" average, and unchanged code was reported as regressed in **{alarms:,} of {cases:,} cases** (time, accuracy,"
        " memory and leaks together, tolerance 5 %)."
    )[:-1]


def pairs(cases: int) -> Iterator[str]:
    """Whole cases in pairs."""
    seconds = seconds_per_pair(lines(bumps.FILE, Bump))
    yield from wrapped(
        "**Pairs**: a case with all its metrics, screened and confirmed. Its minutes are those of pairs that take"
        f" {seconds:.1f} s, as small networks did at scale quick on a quiet machine ([bumps](#on-real-trainings))."
    )
    yield from heading(
        *("noise", "unchanged: passes", "regressed", "of 100 cases", "improved", "of 100 cases", "pairs", "minutes"),
        *("interval", "+3 % at 1.5 %", "+5 % at 2.5 %", "+10 % at 5 %", "pairs", "minutes", "time equivalent"),
        "exactly 5 %: regressed",
    )
    yield from (row(*_of_regime(regime, cases, seconds)) for regime in (*REGIMES, *STEPS, *KNOWN_STEPS, *RECORDED))
    yield ""


def seconds_per_pair(bumped: Sequence[Bump]) -> float:
    """The time of a pair, with all that a session does for it, in unchanged quiet bumps at scale quick."""
    chosen = [one for one in bumped if one.scale == "quick" and not one.planted and not one.neighbours]
    return 60 * sum(one.minutes for one in chosen) / sum(sum(one.pairs.values()) for one in chosen)


def _of_regime(regime: Regime | Alternating, cases: int, seconds: float) -> Iterator[str]:
    same = simulate(regime, 0.0, cases=cases, seed=SEED, session=MANY)
    three, five, ten, edge = (
        simulate(regime, change, cases=cases // 10, seed=SEED, session=FEW, tolerance=tolerance)
        for change, tolerance in ((0.03, 0.015), (0.05, 0.025), (0.1, 0.05), (0.05, 0.05))
    )
    yield regime.name
    yield f"{same.share(EQUIVALENT):.1%}"
    for outcome in (REGRESSED, IMPROVED):
        yield f"{same.share(outcome):.3%}"
        yield f"{same.sessions_with(outcome, MANY):.1%}"
    yield from _effort(same, seconds)
    yield f"{same.is_covered.mean():.1%}"
    yield from (f"{found.share(REGRESSED):.1%}" for found in (three, five, ten))
    yield from _effort(ten, seconds)
    yield f"{(ten.time == EQUIVALENT).mean():.2%}"
    yield f"{edge.share(REGRESSED):.2%}"


def _effort(found: Cases, seconds: float) -> Iterator[str]:
    """The pairs of a case, and the minutes that they take."""
    pairs = found.pairs.mean()
    yield from (f"{pairs:.1f}", f"{pairs * seconds / 60:.1f}")


def recorded_series() -> Iterator[str]:
    """What the rows called recorded are drawn from."""
    measured = lines(FILE, Measured)
    if not measured:
        return
    yield from ("**Recorded series**: pairs of a framework with itself, how far they are apart, and the load then.", "")
    yield from series.summary(measured)
    yield from ("", *wrapped(f"All with one thread on {', '.join(sorted({one.machine for one in measured}))}."))


def with_memory(sd: float, cases: int, mib: int = LARGE_MIB) -> Cases:
    """Unchanged cases whose peak memory has this standard deviation from run to run."""
    size = {"peak_rss": mib * 2**20}
    return simulate(QUIET, 0.0, cases=cases, seed=SEED, others={**OTHERS, "peak_rss": sd}, old=size)


def memory(cases: int) -> Iterator[str]:
    """What peak memory that differs from run to run costs at its default tolerance."""
    yield from ("**Peak memory that varies**, at its default tolerance of 2 %, with quiet times:", "")
    names = ("MiB", "standard deviation from run to run", "unchanged: passes", "regressed", "improved", "pairs")
    yield from heading(*names)
    for mib in (SMALL_MIB, LARGE_MIB):
        for sd in MEMORY_SDS:
            found = with_memory(sd, cases, mib)
            shares = (f"{found.share(outcome):.2%}" for outcome in (EQUIVALENT, REGRESSED, IMPROVED))
            yield row(str(mib), f"{sd:.1%}", *shares, f"{found.pairs.mean():.1f}")
    yield ""


def tolerances(cases: int) -> Iterator[str]:
    """What a refusal suggests, and what is cleared there."""
    yield from ("**The tightest tolerance** that is not refused, by how much a pair's difference varies:", "")
    yield from heading("standard deviation of a pair", "most pairs", "tightest tolerance", "unchanged: cleared there")
    for spread in SPREADS:
        for most in (10, 20):
            least = smallest_tolerance(spread, max_pairs=most)
            share = cleared(spread, least, cases=cases, seed=SEED, max_pairs=most)
            yield row(f"{spread:.0%}", str(most), f"{np.expm1(least):.1%}", f"{share:.1%}")
    yield ""


def baselines(histories: int) -> Iterator[str]:
    """A new session against stored ones."""
    yield from ("**A new session against stored ones**, in a session of 100 cases:", "")
    yield from heading(
        *("sessions differ by", "stored sessions", "unchanged: regressed", "of 100 cases", "suspect", "equivalent"),
        *("+10 %: regressed", "suspect", "+15 %: regressed"),
    )
    for session_sd in SESSION_SDS:
        for count in (5, 8):
            same = stored(0.0, session_sd=session_sd, sessions=count, cases=MANY, histories=histories, seed=SEED)
            ten, fifteen = (
                stored(change, session_sd=session_sd, sessions=count, cases=MANY, histories=histories // 10, seed=SEED)
                for change in (0.1, 0.15)
            )
            alarm = same.get("regressed", 0.0)
            yield row(
                *(f"{session_sd:.0%}", str(count), f"{alarm:.3%}", f"{1 - (1 - alarm) ** MANY:.1%}"),
                *(f"{same.get('suspect', 0):.1%}", f"{same.get('equivalent', 0):.1%}"),
                *(f"{ten.get('regressed', 0):.1%}", f"{ten.get('suspect', 0):.1%}"),
                f"{fifteen.get('regressed', 0):.1%}",
            )
    yield ""


if __name__ == "__main__":
    sys.exit(main())
