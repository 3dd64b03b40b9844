"""The sentence about every problem of a run."""

from typing import get_args

import pytest

from pytest_dlbench.records import RunOutcome
from pytest_dlbench.records import problems as of
from pytest_dlbench.reporting import problems
from tests.doubles import records

DIED = of.WorkerDied(request="train", cause="signal", number=11)
HOLDER = of.Holder(user="ann", pid=4711, command="pytest bench", since=1.8e9)
PIN = of.WrongVersion(requested=("tensorflow==2.20", "tensorflow-cpu==2.20"), installed=("2.19", "2.18"))
LACKING = of.WrongVersion(requested=("numpy==2.4.6",))
REPORTED = of.WrongVersion(reported="torch 2.12.0", installed=("torch 2.13.0",))


def died(cause, number=0, *, is_before=False):
    return of.WorkerDied(request="train", cause=cause, number=number, is_before=is_before)


def repeat(**changes):
    return of.LossesRepeat(**{"repeated": 2, "steps": 3, "loss": 2.3, **changes})


def bad(fault, **changes):
    return of.BadAnswer(request="train", fault=fault, **changes)


def unawaited(unit, **changes):
    return of.NotAwaited(unit=unit, count=20, seconds=0.002, after_seconds=0.22, alone_seconds=0.02, **changes)


SENTENCES = [
    (
        of.TimedOut(request="train", limit_seconds=1.5),
        "no answer to 'train' in time: the run was ended after 1.5 s; --dlbench-timeout=SECONDS allows more",
    ),
    (
        of.Hung(request="train", idle_seconds=600.0),
        "no answer to 'train': the worker hangs, because its processes have used no processor for 600 s",
    ),
    (
        of.NotPrepared(said="[Errno 28] No space left on device", folder="/tmp", free_bytes=3 << 20),
        (
            "the run could not be prepared: [Errno 28] No space left on device; temporary files are in /tmp (3 MiB"
            " free); TMPDIR=FOLDER names a folder for temporary files"
        ),
    ),
    (
        of.NotPrepared(said="no usable temporary directory", folder=""),
        (
            "the run could not be prepared: no usable temporary directory; TMPDIR=FOLDER names a folder for temporary"
            " files"
        ),
    ),
    (died("status", 3), "the worker died during 'train' (exit status 3)"),
    (died("status", is_before=True), "the worker had ended before 'train' (exit status 0)"),
    (DIED, "the worker died during 'train' (killed by SIGSEGV)"),
    (died("signal", 39), "the worker died during 'train' (killed by signal 39)"),
    (
        died("signal", 9),
        "the worker died during 'train' (killed by SIGKILL); the kernel's log shows whether memory ran out",
    ),
    (died("memory"), "the worker died during 'train': the kernel killed it because memory ran out"),
    (
        died("pipe"),
        "the worker died during 'train', or so it seemed: it closed its pipe, did not exit, and was killed",
    ),
    (bad("too_long", limit_bytes=64), "the answer to 'train' is longer than 64 bytes"),
    (bad("several", quoted="b'and'"), "more than one answer to 'train': b'and'"),
    (bad("not_json", quoted="b'Epoch 1'"), "the answer to 'train' is not JSON: b'Epoch 1'"),
    (bad("no_status", quoted="b'[1]'"), "the answer to 'train' has no status 'done' or 'failed': b'[1]'"),
    (
        of.WrongVersions(framework="jax", environment="jax-0.4", versions=(PIN, REPORTED), folder="/caches/jax-0.4"),
        (
            "the environment 'jax-0.4' of jax is not what it should be:\n"
            "  tensorflow==2.20 or tensorflow-cpu==2.20 was requested, 2.19 and 2.18 is installed\n"
            "  the builder reports torch 2.12.0, but torch 2.13.0 is installed\n"
            "  if it was changed after it was built, delete /caches/jax-0.4; --dlbench-build builds it again"
        ),
    ),
    (
        of.WrongVersions(framework="jax", environment="current", versions=(LACKING,), python="/bin/python"),
        (
            "the environment 'current' of jax is not what it should be:\n"
            "  numpy==2.4.6 was requested, it is not installed\n"
            "  to see what is installed: /bin/python -m pip list"
        ),
    ),
    (
        of.SameVersions(
            baseline="jax@old",
            candidate="jax@new",
            versions=(of.SameVersion(baseline="jax>=0.4", candidate="jax>=0.5", installed="0.10.2"),),
        ),
        (
            "the two sides were asked for different versions and have the same: jax>=0.4 for jax@old, jax>=0.5 "
            "for jax@new, and both have 0.10.2\n"
            "  name versions that differ; for an A/A test, name the same on both sides"
        ),
    ),
    (
        of.OtherFiles(modules=("ours", "theirs"), repository="/src/ours", revision="main"),
        (
            "ours, theirs: imported from /src/ours, as it is, and not from the revision main\n"
            "  workers find a revision's modules in its root, in src, and in the folders of the framework's "
            "builder: name their folder there, Framework(folders=…)"
        ),
    ),
    (of.OtherThreads(framework="mlx", requested=2, found=8), "2 threads were requested, but mlx uses 8"),
    (
        of.OtherDevice(framework="mlx", requested="gpu"),
        "mlx does not report what it computes on: its Trainer lacks computes_on()",
    ),
    (
        of.OtherDevice(framework="mlx", requested="gpu", found="cpu", name="PoCL"),
        "a gpu was requested, but mlx computes on a cpu: PoCL",
    ),
    (
        of.OtherDevice(framework="mlx", requested="cpu", found="gpu"),
        "a cpu was requested, but mlx computes on a gpu: without a name",
    ),
    (
        of.OtherDevice(framework="tinygrad", requested="opencl:cpu", found="gpu", name="H100"),
        "opencl:cpu was requested, but tinygrad computes on a gpu: H100",
    ),
    (
        of.OtherLibrary(framework="pytorch", requested="mkl", calls={"onednn": {"convolution": 5}}),
        (
            "library=mkl was requested, but pytorch does not compute this network with it; libraries report in a"
            " step: onednn: convolution ×5"
        ),
    ),
    (
        of.OtherLibrary(framework="pytorch", requested="onednn", calls={}),
        (
            "library=onednn was requested, but pytorch does not compute this network with it; libraries report in a"
            " step: no calls of oneDNN or MKL"
        ),
    ),
    (
        of.OtherParameters(model="mlp", built={"b": (3,), "c": (4,)}, expected={"b": (2,)}),
        "the parameters of the built network differ from those of mlp: [('b', (2,)), ('b', (3,)), ('c', (4,))]",
    ),
    (
        of.OtherOutput(model="mlp", found=(9,), expected=(10,)),
        "one example gives an output of (9,), mlp has (10,)",
    ),
    (
        of.OtherOutputs(reference="jax", deviation=0.25, bound=1e-4),
        ("with the same weights and examples, outputs differ by 2.5e-01 from those of jax; the bound is 1.0e-04"),
    ),
    (
        of.OffReference(array="weights", operator_pass="backward_weights", deviation=1e-4, bound=1e-5),
        (
            "the weights of its pass backward_weights differs from NumPy's in float64 by 1.0e-04 of the largest "
            "number; the bound is 1.0e-05"
        ),
    ),
    (
        of.OffReference(array="output", operator_pass="forward", deviation=None, bound=4.2e-5, products=500_000),
        (
            "the output of its pass forward differs from NumPy's in float64 by nan of the largest number; the "
            "bound is 4.2e-05: 2⁻²⁴·√n for sums of n = 500,000 products"
        ),
    ),
    (of.NotFinite(figure="loss", value="nan", step=5, steps=8), "the loss became nan at step 5 of 8"),
    (of.NotFinite(figure="test_loss", value="inf", step=8, steps=8), "the test loss after training is inf"),
    (
        of.NotFinite(figure="validation_loss", value="nan", step=4, steps=8),
        "the validation loss after step 4 of 8 is nan",
    ),
    (
        of.NotResumed(mechanism="torch.save", step=2, losses=("1.5", "1.8"), deviation=0.17, bound=1e-5),
        (
            "training that goes on from a checkpoint (torch.save) in a fresh process has the loss 1.8 in step 2 instead"
            " of 1.5: a relative difference of 0.17, where at most 1e-05 is allowed; does the checkpoint lack a part of"
            " the optimiser's state?"
        ),
    ),
    (
        of.NotResumed(mechanism="torch.save", step=0, losses=("1.5", "1.8"), deviation=0.17, bound=1e-5),
        (
            "training that goes on from a checkpoint (torch.save) in a fresh process has the loss 1.8 on test examples"
            " instead of 1.5: a relative difference of 0.17, where at most 1e-05 is allowed; does the checkpoint lack a"
            " part of the model?"
        ),
    ),
    (
        of.NotResumed(mechanism="torch.save", step=2, losses=("1.5", "nan"), deviation=None, bound=1e-5),
        (
            "training that goes on from a checkpoint (torch.save) in a fresh process has the loss nan in step 2 instead"
            " of 1.5; does the checkpoint lack a part of the optimiser's state?"
        ),
    ),
    (of.NotFinite(figure="test_loss", value="inf", step=2, steps=8), "the test loss after step 2 of 8 is inf"),
    (of.NotFinite(figure="reported", name="perplexity", value="inf", steps=8), "the perplexity after 8 steps is inf"),
    (of.NotFinite(figure="output"), "not all outputs are finite numbers"),
    (
        of.StepsMissing(unit="steps", requested=8, reported=7, examples=112),
        "8 steps were requested, the worker reported 7 with 112 examples",
    ),
    (
        of.StepsMissing(unit="batches", requested=8, reported=7, examples=112),
        "8 batches were requested, the worker reported 7 with 112 examples",
    ),
    (
        of.StepsMissing(unit="loop", requested=24, reported=3),
        (
            "main(run) ended after 3 of 24 steps; train for run.total_steps, or measure fewer: "
            "dlbench.measure(..., steps=3)"
        ),
    ),
    (
        of.CallsMissing(
            requested=5,
            passes=("forward", "backward_weights"),
            probes=("gemm",),
            reported={"forward": 5, "backward_weights": 4},
            reported_probes=("gemm",),
        ),
        (
            "5 calls of forward, backward_weights and the probes gemm were requested, the worker reported 5 of "
            "forward, 4 of backward_weights and gemm"
        ),
    ),
    (
        of.NoNumberOfSamples(name="samples_per_step", reported=0.5),
        "main(run) reported samples_per_step=0.5; expected a whole number of at least 1",
    ),
    (
        of.TooFast(share=1.3, limit=1.05),
        (
            "impossible: 130% of the arithmetic that this machine is capable of (limit 105%); steps do less than "
            "the network has, or their clock stops too early"
        ),
    ),
    (
        of.AboveDataSheet(precision="float32", measured=156e12, published=19.5e12),
        (
            "impossible: a large product in float32 ran at 156.0 TFLOP/s, the data sheet of this GPU has 19.5; steps "
            "do not wait for their work, or numbers are rounded to TF32 although that is not set"
        ),
    ),
    (
        of.LossBelowBound(loss=-5.0, step=2, bound=0.0),
        "impossible: the loss is -5 at step 2, but this loss cannot be below 0",
    ),
    (
        repeat(),
        (
            "impossible: the loss is 2.3 in each of 3 steps, to the last digit; steps do not train, or do not "
            "report their own loss"
        ),
    ),
    (
        repeat(is_of_program=True),
        (
            "impossible: the loss is 2.3 in each of 3 steps, to the last digit; steps do not train, or do not "
            "report their own loss (return 0.0 if there is none)"
        ),
    ),
    (
        repeat(repeated=20, steps=120, loss=None),
        (
            "impossible: 20 of 119 steps report the loss of the step before, to the last digit; some steps do not"
            " train, or do not report their own loss"
        ),
    ),
    (
        of.StepsChangeNothing(unchanged=8, steps=16),
        (
            "impossible: 8 of 16 more steps, taken one by one, changed no parameter; steps are asked for, and not"
            " all of them train"
        ),
    ),
    (
        of.StepsChangeNothing(unchanged=30, steps=30, test_loss="0.51"),
        (
            "impossible: 30 more steps leave the test loss at 0.51 to the last digit; steps do not touch the "
            "weights (or the learning rate is 0)"
        ),
    ),
    (
        of.EvaluationVaries(losses=("0.42", "0.44")),
        "evaluated twice: loss 0.42, then 0.44; is dropout left on?",
    ),
    (
        of.EvaluationVaries(losses=("0.42", "0.44"), is_checked=True),
        (
            "impossible: the same weights give a test loss of 0.42, and then of 0.44; evaluation changes with "
            "repetition (dropout left on?)"
        ),
    ),
    (
        unawaited("steps"),
        (
            "impossible: 20 steps ended after 0.002 s, but the evaluation after them took 0.220 s and alone takes"
            " 0.020 s; a step does not wait for its own work (a missing synchronisation)"
        ),
    ),
    (
        unawaited("calls", operator_pass="forward"),
        (
            "impossible: of its pass forward, 20 calls ended after 0.0020 s, but a copy of the last result took "
            "0.2200 s, and again takes 0.0200 s; a call does not wait for its own work (a missing "
            "synchronisation)"
        ),
    ),
    (
        of.NotDouble(steps=10, seconds=0.1, double_seconds=0.6),
        (
            "impossible: 10 steps took 0.100 s and 20 took 0.600 s, which is far from 1:2; steps are not all "
            "done, or not alike"
        ),
    ),
    (
        of.DeviceBusy(device="gpu", limit_seconds=600.0),
        (
            "gpu did not become free within 600 s: another session uses it, whose name is not known; "
            "--dlbench-wait=TIME waits longer"
        ),
    ),
    (
        of.DeviceBusy(device="cpu", limit_seconds=0.0, holders=(HOLDER,)),
        f"cpu did not become free at once: {problems.users((HOLDER,))}; --dlbench-wait=TIME waits longer",
    ),
    (of.MachineLost(host="node7", cause="silent", silent_seconds=12.0), "node7 has not answered for 12 s"),
    (of.MachineLost(host="node7", cause="ended", said="killed"), "node7: killed"),
    (
        of.MachineLost(host="10.0.0.7", cause="engine", engine="ray", said="The actor died."),
        "10.0.0.7 was lost: The actor died.",
    ),
    (of.MachineLost(cause="none_left", engine="ray"), "the Ray cluster has no node with CPUs"),
    (
        of.MachineLost(cause="none_left", engine="ray", is_repetition=True),
        "the Ray cluster has no other node with CPUs",
    ),
    (
        of.MachineLost(cause="none_left", engine="slurm", is_repetition=True, said="salloc: error"),
        "SLURM gives no other node: salloc: error",
    ),
    (
        of.WorkersDiffer(aspect="versions", ranks=(1, 3), workers=4, versions={"a": ("1", "2"), "b": (None, "3")}),
        "the workers 1 and 3 of 4 have different versions: a 1 and 2, b none and 3",
    ),
    (of.WorkersDiffer(aspect="shapes", workers=2), "the workers have built networks of different shapes"),
    (
        of.WorkersDiffer(aspect="steps", workers=2, steps=(8, 7)),
        "the workers took different numbers of steps: 8, 7",
    ),
    (
        of.WorkersDiffer(aspect="weights", ranks=(2, 3), workers=4),
        (
            "after training, the weights of worker 2 and 3 of 4 are not those of worker 1: their gradients were "
            "not exchanged in every step"
        ),
    ),
    (
        of.OfWorkers(ranks=(2,), workers=2, problem=DIED),
        "worker 2 of 2: the worker died during 'train' (killed by SIGSEGV)",
    ),
    (
        of.OfWorkers(ranks=(1, 2), workers=2, said="KeyError: 1\nTraceback"),
        "workers 1 and 2 of 2: KeyError: 1\nTraceback",
    ),
    (
        of.NothingFound(seed=1, trials=20, budget_seconds=60.0, outcome=RunOutcome.CRASHED, problem=DIED),
        (
            "seed 1: none of 20 trials finished within 60 s of processor time; the last one: crashed the worker "
            "died during 'train' (killed by SIGSEGV)"
        ),
    ),
    (
        of.NothingFound(seed=1, trials=1, budget_seconds=60.0, outcome=RunOutcome.FINISHED),
        "seed 1: none of 1 trials finished within 60 s of processor time; the last one: finished",
    ),
]


@pytest.mark.parametrize(("problem", "sentence"), SENTENCES, ids=lambda value: type(value).__name__)
def test_a_problem_has_its_sentence(problem, sentence):
    assert problems.text(problem) == sentence


def test_every_problem_is_in_this_table():
    assert {type(problem) for problem, _ in SENTENCES} == {*get_args(of.Problem)}


def test_a_holder_has_its_user_since_when_its_process_and_its_command():
    text = problems.users((HOLDER, HOLDER))
    assert text.startswith("ann uses it since ")
    assert text.count("(process 4711: pytest bench)") == 2


def test_without_a_problem_a_run_has_the_words_of_others_if_there_are_any():
    assert problems.of_run(records.run(message="KeyError: 1\nTraceback")) == "KeyError: 1\nTraceback"
    assert problems.first_line(records.run(message="KeyError: 1\nTraceback")) == "KeyError: 1"
    assert problems.of_run(records.run()) == ""


def test_the_problem_counts_where_a_document_has_its_sentence_too():
    assert problems.of_run(records.run(problem=DIED, message="an older wording")) == problems.text(DIED)
