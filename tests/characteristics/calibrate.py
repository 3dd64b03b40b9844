"""Writes pytest_dlbench/judging/alpha_prime.json: the level of one look that keeps the error of all looks at alpha.

    python tests/characteristics/calibrate.py --paths 20000000

Paths of paired differences are drawn with their true mean at the tolerance, and with a standard deviation as uncertain
as the rule assumes it to be: σ² ~ 4·s0²/χ²(4). Of each path the smallest p value of the looks 3..n is kept; alpha' is
the quantile alpha of these. Both sides of a path count. The standard error is that of the batches' own quantiles.
"""

import argparse
import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from scipy import special

from pytest_dlbench.judging.intervals import PRIOR_FREEDOM, Values, moderated

TABLE = Path(__file__).parents[2] / "pytest_dlbench" / "judging" / "alpha_prime.json"
SEED = 20261121
FIRST_LOOK, LAST_LOOK = 3, 20
ALPHAS = (
    *(0.1, 0.075, 0.05, 0.035, 0.025, 0.0175, 0.0125, 0.01, 0.0075, 0.005, 0.0035, 0.0025, 0.00175, 0.00125, 0.001),
    *(0.00075, 0.0005, 0.00035, 0.00025, 0.000175, 0.000125, 0.0001, 0.00005, 0.000025, 0.00001),
)
BATCHES = 20
CHUNK = 50_000
# Bins of ln p: the error of reading a quantile off them is below 0.05 %.
BINS = np.arange(-30.0, 0.001, 0.001)


def main() -> None:
    """Simulate and write the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--paths", type=int, default=20_000_000)
    paths: int = parser.parse_args().paths
    batches = simulate(paths)
    looks = [str(look) for look in range(FIRST_LOOK, LAST_LOOK + 1)]
    levels = [rounded(quantiles(counts), 5) for counts in batches.sum(axis=0)]
    errors = [relative_errors(batches[:, row]) for row, _ in enumerate(looks)]
    table = {
        "seed": SEED,
        "paths": paths,
        "alphas": ALPHAS,
        "levels": dict(zip(looks, levels, strict=True)),
        "relative_standard_errors": dict(zip(looks, errors, strict=True)),
    }
    TABLE.write_text(as_text(table), encoding="utf-8")


def simulate(paths: int) -> Values:
    """The number of smallest p values in each bin, by batch and last look."""
    random = np.random.default_rng(SEED)
    counts = np.zeros((BATCHES, LAST_LOOK - FIRST_LOOK + 1, len(BINS) - 1))
    for batch in counts:
        for start in range(0, paths // BATCHES, CHUNK):
            differences = draw(random, min(CHUNK, paths // BATCHES - start))
            for row, smallest in enumerate(smallest_p(differences)):
                batch[row] += np.histogram(np.log(smallest), BINS)[0]
    return counts


def draw(random: np.random.Generator, paths: int) -> Values:
    """Differences around the tolerance, in units of the reference spread."""
    sd = np.sqrt(PRIOR_FREEDOM / random.chisquare(PRIOR_FREEDOM, paths))
    return random.standard_normal((paths, LAST_LOOK)) * sd[:, np.newaxis]


def smallest_p(differences: Values) -> Iterator[Values]:
    """After each look, the smallest one-sided p value so far, of either side of every path."""
    smallest = np.ones((2, len(differences)))
    for look in range(FIRST_LOOK, LAST_LOOK + 1):
        found = moderated(differences[:, :look], 1.0, is_robust=True)
        upper = special.stdtr(found.freedom, found.mean / found.error)
        np.minimum(smallest, [upper, special.stdtr(found.freedom, -found.mean / found.error)], out=smallest)
        yield smallest.ravel()


def quantiles(counts: Values) -> Values:
    """The quantiles ALPHAS of binned p values."""
    share = np.cumsum(counts) / counts.sum()
    return np.exp(np.interp(ALPHAS, share, BINS[1:]))


def relative_errors(batches: Values) -> list[float]:
    """The relative standard errors of the quantiles, from those of each batch: a batch's own spread over √batches."""
    each = np.log([quantiles(batch) for batch in batches])
    return rounded(each.std(axis=0, ddof=1) / np.sqrt(len(batches)), 2)


def rounded(values: Values, digits: int) -> list[float]:
    """Rounded to significant digits: more would be noise in the file's diffs."""
    return [float(f"{value:.{digits}g}") for value in values]


def as_text(table: dict[str, object]) -> str:
    """JSON with one line for each row of the table, so that diffs are readable."""
    lines = [f"  {json.dumps(name)}: {_value(value)}" for name, value in table.items()]
    return "{\n" + ",\n".join(lines) + "\n}\n"


def _value(value: object) -> str:
    if not isinstance(value, dict):
        return json.dumps(value)
    return "{\n" + ",\n".join(f"    {json.dumps(key)}: {json.dumps(row)}" for key, row in value.items()) + "\n  }"


if __name__ == "__main__":
    main()
