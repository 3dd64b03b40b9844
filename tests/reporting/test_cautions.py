"""Cautions as sentences."""

from typing import get_args

import pytest

from pytest_dlbench.records import reasons as of
from pytest_dlbench.reporting import cautions

BREAKS = of.CountChange(metric="graph_breaks", baseline=0, candidate=2)
TIGHT = of.TightTolerance(metric="step_time", asked=0.001, smallest=0.0165)


@pytest.mark.parametrize(
    ("caution", "words"),
    [
        (of.InvalidRuns(invalid=1, runs=2, first="hot"), "1 of 2 runs are invalid: hot"),
        (of.Neighbours(cpus=1.04, disturbed=2, runs=3), "used 1.0 CPUs while 2 of 3 runs trained"),
        (of.StepsExcluded(steps=14, runs=2), "14 steps of 2 runs are excluded from the step times"),
        (of.UnevenCompilation(cold=1, runs=3), "1 of 3 runs compiled what the others found in the cache"),
        (of.NeverSteady(unsteady=1, runs=3), "1 of 3 runs never reached a steady state"),
        (of.PageFaults(per_step=1000.0), "1,000 page faults per step"),
        (of.Survivors(names=("a", "b")), "workers left processes running, which were terminated: a, b"),
        (
            of.TargetMissed(missed=1, runs=2, target=0.9, seconds=3.0, epochs=1.5),
            "1 of 2 runs did not reach an accuracy of 90 %: their time to it is longer than 3 s, or 1.5 epochs",
        ),
        (
            of.SidesDisagree(metric="step_time", sides=1.165, paired=0.891),
            "step_time: ratio 1.165 between the medians of the two sides, ratio 0.891 within the pairs, which decides",
        ),
        (
            of.NotRequired(bounds={"accuracy": 0.9}, steps=20, recipe_steps=176),
            "20 of 176 steps were trained; not required: accuracy ≥ 90.00 %",
        ),
        (
            of.ToleranceTooTight(metrics=(TIGHT,), basis="sessions"),
            "step_time: the stored sessions on this machine resolve no change below 1.7%",
        ),
        (of.ToleranceTooTight(metrics=(TIGHT,), pairs=20, basis="any"), "step_time: 20 pairs on this machine"),
        (
            of.ToleranceTooTight(metrics=(TIGHT,), pairs=20, basis="pairs"),
            "below 1.7%, above its tolerance; it varies that much from run to run, and does not decide",
        ),
        (
            of.CountsChanged(changes=(BREAKS, of.CountChange(metric="own", baseline=1200, candidate=1))),
            "changed, in all runs: 2 graph breaks, before 0; 1 own, before 1,200; this fails no test",
        ),
        (of.MedianRegressed(), "the median step regressed and the 10 % quantile did not: some steps are delayed"),
    ],
)
def test_a_caution_has_its_figures(caution, words):
    (sentence,) = cautions.sentences([caution])
    assert words in sentence


def test_every_caution_has_a_sentence():
    assert set(get_args(of.Caution)) <= cautions._sentences.registry.keys()
