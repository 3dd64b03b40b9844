"""Where bench/test_equivalence.py has a looser bound, the stated reason is the only one."""

import sys
from dataclasses import replace
from pathlib import Path

import pytest

from bench.fixtures import golden_losses, make_golden
from bench.test_equivalence import LOOSER
from pytest_dlbench.data.preparation import prepare
from pytest_dlbench.environments import Framework
from pytest_dlbench.environments.placing import CURRENT, Place
from pytest_dlbench.judging.equivalence import BOUND
from pytest_dlbench.model import infer
from pytest_dlbench.planning.plan import synthetic_for
from pytest_dlbench.reporting import problems
from pytest_dlbench.running.run_spec import NetworkSpec
from pytest_dlbench.running.training import train_once
from tests.worker.places import place_of
from tests.worker.test_builders_agree import PADDINGS, PRECISE

BUILDERS = Path(__file__).parents[1] / "doubles" / "builders"
# With the kernels that they choose on an Intel Xeon, the losses are 2e-5 off; with these 2e-7.
SAME_KERNELS = {"ATEN_CPU_CAPABILITY": "avx2", "ONEDNN_MAX_CPU_ISA": "AVX2", "MKL_CBWR": "COMPATIBLE"}
ROUNDED = sorted(LOOSER["gatech-lenet"].keys() - {"caffe2"})


def figures(spec: NetworkSpec) -> list[float]:
    """Ten losses, followed by the loss of the test split."""
    run = train_once(spec, 0)
    assert run.training, run.message
    assert run.evaluation, problems.of_run(run)
    return [*run.training.losses, run.evaluation.loss]


def golden(model: str, framework: str, dataset: str = "digits28") -> NetworkSpec:
    """The training of the golden losses, in float64."""
    place_of(framework, "bounds")
    return replace(make_golden.spec(framework, model, dataset), is_timed=False)


def single(spec: NetworkSpec) -> NetworkSpec:
    return replace(spec, recipe=replace(spec.recipe, precision="float32"))


def alike_everywhere(spec: NetworkSpec) -> NetworkSpec:
    """The training with the same kernels of PyTorch, oneDNN and MKL on every x86 processor."""
    assert isinstance(spec.place, Place)
    return replace(spec, place=replace(spec.place, variables={**spec.place.variables, **SAME_KERNELS}))


def with_every_maximum(spec: NetworkSpec, tmp_path: Path) -> NetworkSpec:
    """The training by PyTorch in float64, with Caffe2's gradient of max pooling."""
    double = Framework(name="every-maximum", builder="faulty_pytorch", folders=(BUILDERS,))
    variables = {"FAULT": "every_maximum"}
    place = Place(python=Path(sys.executable), environment=CURRENT, caches=tmp_path / "caches", variables=variables)
    return replace(spec, framework=double, place=place, recipe=replace(spec.recipe, precision="float64"))


def test_bounds_are_looser_for_three_reasons_and_all_are_shown_here():
    assert {(model, name) for model, bounds in LOOSER.items() for name in bounds} == {
        *(("gatech-lenet", name) for name in ROUNDED),
        *((model, "caffe2") for model in ("gatech-lenet", "tartu-mnist-cnn", "tartu-cifar10-cnn")),
        ("rosetta-cifar10-cnn", "keras-torch"),
    }


@pytest.mark.parametrize("framework", ["keras-torch"])
def test_with_another_seed_the_loosened_network_is_trained_as_by_pytorch(framework):
    # Keras computes no float64 on torch, which would show that only rounding differs.
    ours, pytorch = (
        figures(replace(alike_everywhere(single(golden("rosetta-cifar10-cnn", name, "digits32"))), seed=4))
        for name in (framework, "pytorch")
    )
    assert ours == pytest.approx(pytorch, rel=BOUND / 10, abs=0)


@pytest.mark.parametrize("framework", ROUNDED)
def test_without_the_rounding_of_single_precision_the_golden_losses_are_met(framework):
    stored = golden_losses.read("gatech-lenet", "digits28")
    expected = [*stored.losses, stored.evaluation_loss]
    assert figures(golden("gatech-lenet", framework)) == pytest.approx(expected, rel=1e-12, abs=0)


@pytest.mark.parametrize("framework", ["caffe2"])
def test_caffe2_trains_as_pytorch_does_with_its_gradient_of_max_pooling(framework, tmp_path):
    caffe2 = figures(single(golden("gatech-lenet", framework)))
    expected = figures(with_every_maximum(golden("gatech-lenet", "pytorch"), tmp_path))
    # Measured: 2e-7 here, 7e-7 with tartu-mnist-cnn, 2.4e-5 with tartu-cifar10-cnn, where other frameworks' float32 is
    # up to 2.1e-5 off the golden figures, too. Those two would take a minute.
    assert caffe2 == pytest.approx(expected, rel=BOUND, abs=0)


@pytest.mark.parametrize("framework", ["caffe2"])
def test_caffe2_pads_as_pytorch_does_with_its_gradient_of_max_pooling(framework, tmp_path):
    data = prepare(synthetic_for(PADDINGS), tmp_path)
    changes = {"network": infer(PADDINGS), "recipe": PRECISE, "data": data}
    caffe2, pytorch = (replace(golden("gatech-lenet", name), **changes) for name in (framework, "pytorch"))
    expected = figures(with_every_maximum(pytorch, tmp_path))
    assert figures(single(caffe2)) == pytest.approx(expected, rel=BOUND, abs=0)
