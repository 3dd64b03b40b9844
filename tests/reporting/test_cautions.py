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
        (of.InvalidRuns(invalid=1, runs=2, first=of.OnBattery()), "1 of 2 runs are invalid: the machine ran on its"),
        (of.Neighbours(cpus=1.04, disturbed=2, runs=3), "used 1.0 CPUs while 2 of 3 runs trained"),
        (
            of.UnsteadyCores(variation=1.93, unsteady=2, runs=3),
            "after 2 of 3 runs, equal work took up to 1.9 times",
        ),
        (of.StepsExcluded(steps=14, runs=2), "14 steps of 2 runs are excluded from the step times"),
        (of.UnevenCompilation(cold=1, runs=3), "1 of 3 runs compiled what the others found in the cache"),
        (of.NeverSteady(unsteady=1, runs=3), "1 of 3 runs never reached a steady state"),
        (of.TimedTooShort(seconds=0.13, asked_seconds=1.0), "timed steps last 130 ms in place of 1.00 s"),
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
        (
            of.KernelsChanged(baseline={"BlockLSTM": "fused"}, candidate={"While": "scan"}),
            "layers are computed by other kernels: While (scan), before BlockLSTM (fused); this fails no test",
        ),
        (
            of.Undivided(cause="one_program", what="theano.function"),
            "no phases of a step: the framework compiles the whole step into one program (theano.function)",
        ),
        (
            of.PhasesDoNotAddUp(ratio=1.25, least=0.9, most=1.2),
            "together they take 1.25 times as long as the step, and 0.9 to 1.2 would be plausible",
        ),
        (
            of.PhaseNotAwaited(phase="forward", late_seconds=0.004, step_seconds=0.01),
            "the phase forward went on for 4.00 ms after it was waited for, of a step of 10.00 ms",
        ),
        (of.MedianRegressed(), "the median step regressed and the 10 % quantile did not: some steps are delayed"),
    ],
)
def test_a_caution_has_its_figures(caution, words):
    (sentence,) = cautions.sentences([caution])
    assert words in sentence


@pytest.mark.parametrize("cause", get_args(of.Undivided.__annotations__["cause"]))
def test_every_cause_of_an_undivided_step_has_a_sentence(cause):
    (sentence,) = cautions.sentences([of.Undivided(cause=cause, what="the name of it")])
    assert "the name of it" in sentence


TROUBLES = [
    (
        of.Waited(computed_seconds=19.0, waited_seconds=45.04, foreign_cpus=1.5),
        "its threads computed for 19.0 s and waited 45.0 s for a processor: others used 1.5 CPUs",
    ),
    (of.Stolen(stolen=0.81, cpus=2), "the hypervisor took 0.8 of 2 CPUs away"),
    (of.Swapped(read_bytes=2**31), "memory was swapped: 2,048 MiB came back from the disk"),
    (of.Overheated(times=200), "the processor was too hot, and slowed 200 times"),
    (of.OnBattery(), "the machine ran on its battery"),
    (
        of.GpuSlowed(gpu="Acme", causes={"hot (driver)": 0.4, "power brake": 0.2}),
        "the GPU Acme was throttled: hot (driver) for 40% of the time, power brake for 20% of the time",
    ),
    (of.GpuSlowed(gpu="Acme", causes={"hot": None, "brake": None}), "the GPU Acme was throttled: hot, brake"),
    (of.GpuShared(gpu="Acme", processes=2), "2 other processes used the GPU Acme"),
    (
        of.StepsUnclear(checks=2, foreign_cpus=1.24),
        "its steps were checked 2 times while others used 1.2 CPUs, and seemed not alike",
    ),
    (of.NotTimed(), "it was not timed: other runs may have used the machine at the same time"),
    (
        of.NotExamined(said="KeyboardInterrupt"),
        "nothing examined whether it is plausible and undisturbed: KeyboardInterrupt",
    ),
    ("others used 1.7 CPUs", "others used 1.7 CPUs"),
]


@pytest.mark.parametrize(("trouble", "sentence"), TROUBLES)
def test_a_trouble_of_the_machine_has_its_figures(trouble, sentence):
    assert cautions.trouble(trouble) == sentence


def test_every_trouble_has_a_sentence():
    assert {type(trouble) for trouble, _ in TROUBLES} == {*get_args(of.Trouble), str}


def test_every_caution_has_a_sentence():
    assert set(get_args(of.Caution)) <= cautions._sentences.registry.keys()
