"""Several workers: which cases they are, and what they cannot train."""

from dataclasses import replace
from pathlib import Path

import pytest

from pytest_dlbench.data import ANY_SHAPE
from pytest_dlbench.environments import DEVICES, FRAMEWORKS, Framework
from pytest_dlbench.environments.placing import Places, PlacesElsewhere
from pytest_dlbench.environments.supports import has_workers
from pytest_dlbench.model import SGD, BatchNorm, Dense, Dropout, Model, Recipe, SoftmaxCrossEntropy, infer
from pytest_dlbench.planning.plan import RunSettings
from pytest_dlbench.planning.sweep import Change
from pytest_dlbench.planning.workers import uncertifiable, unlike_one
from pytest_dlbench.records import Machine
from pytest_dlbench.reporting import cautions
from pytest_dlbench.zoo import MODELS

MACHINE = Machine(name="small", cpu_model="8086", cores=4, memory_gib=8, os_family="Linux")
SETTINGS = RunSettings(machine=MACHINE, scale="quick", threads=2, workers=2, seed=5, timeout_seconds=60.0)
BUILDERS = Path(__file__).parents[1] / "doubles" / "builders"
DOUBLE = Framework(name="numpy", builder="numpy_workers", folders=(BUILDERS,))
SMALL = Model(
    name="small",
    family="fcn",
    input_shape=(4,),
    layers=(Dense(6), Dense(3)),
    head=SoftmaxCrossEntropy(classes=3),
    recipe=Recipe(batch_size=32, epochs=2, optimizer=SGD(0.1)),
)


def outline(settings=SETTINGS, framework=DOUBLE, model=SMALL, device="cpu", **more):
    return settings.outline(framework, model, ANY_SHAPE, DEVICES[device], **more)


def test_workers_are_part_of_the_case_and_of_its_name():
    case = outline().case
    assert (case.workers, case.threads) == (2, 2)
    assert case.id.endswith("-threads2-workers2")
    assert "workers" not in outline(replace(SETTINGS, workers=1)).case.id


def test_workers_keep_the_batch_unless_scaling_is_weak():
    weak = replace(SETTINGS, changes=(Change(name="scaling", value="weak"),))
    assert (outline().recipe.batch_size, outline(weak).recipe.batch_size) == (32, 64)
    assert outline(replace(weak, workers=1)).recipe.batch_size == 32
    assert "scaling_weak" in outline(weak).case.id


@pytest.mark.parametrize(
    ("changed", "because"),
    [
        ({"settings": replace(SETTINGS, workers=4)}, "4 workers with 2 threads each need 8 processors of their own"),
        ({"settings": replace(SETTINGS, workers=3, threads=1)}, "a batch of 32 cannot be cut into 3 parts"),
        ({"device": "gpu"}, "on the CPU only, not on gpu"),
        ({"purpose": "inference"}, "they do not infer"),
        ({"framework": replace(DOUBLE, builder="numpy_softmax")}, "has no module parallel"),
    ],
)
def test_what_workers_cannot_train_is_refused_with_the_reason(changed, because):
    assert because in outline(**changed).refusal
    one = {**changed, "settings": replace(changed.get("settings", SETTINGS), workers=1)}
    assert outline(**one).refusal == ""


SPREAD = replace(SETTINGS, workers=4, changes=(Change(name="placement", value="spread"),), places=PlacesElsewhere())


def test_a_lossy_exchange_is_not_certified_and_refused_where_a_framework_has_none():
    lossy = replace(SETTINGS, changes=(Change(name="exchange", value="fp16"),))
    found = outline(lossy, FRAMEWORKS["pytorch"])
    assert found.refusal == ""
    assert "the exchange is lossy" in uncertifiable(found.case, found.network, FRAMEWORKS["pytorch"])
    assert "exchange=fp16: the workers of paddle" in outline(lossy, FRAMEWORKS["paddle"]).refusal
    assert outline(replace(lossy, workers=1), FRAMEWORKS["paddle"]).refusal == ""


def test_an_exchange_that_changes_no_loss_is_certified():
    central = replace(SETTINGS, changes=(Change(name="exchange", value="server"),))
    found = outline(central, FRAMEWORKS["mxnet"])
    assert (found.refusal, uncertifiable(found.case, found.network, FRAMEWORKS["mxnet"])) == ("", "")


def test_a_program_that_only_several_workers_need_is_missed_by_them_alone(monkeypatch):
    monkeypatch.setenv("PATH", "/nonexistent")
    chainer = FRAMEWORKS["chainer"]
    assert "mpiexec, which starts the processes of MPI, is not on PATH" in outline(framework=chainer).refusal
    assert outline(replace(SETTINGS, workers=1), chainer).refusal == ""
    assert outline(replace(SETTINGS, places=PlacesElsewhere()), chainer).refusal == ""


def test_spread_workers_have_the_processors_of_a_host_each_and_are_part_of_the_name():
    found = outline(SPREAD, FRAMEWORKS["pytorch"])
    assert (found.refusal, found.case.id) == (
        "",
        "training-pytorch-small-synthetic-cpu-quick-placement_spread-threads2-workers4",
    )
    assert "placement=spread needs hosts" in outline(replace(SPREAD, places=Places()), FRAMEWORKS["pytorch"]).refusal
    assert outline(replace(SPREAD, places=Places(), workers=1), FRAMEWORKS["pytorch"]).refusal == ""


@pytest.mark.parametrize("name", ["jax", "tensorflow"])
def test_workers_that_are_not_shown_to_meet_on_several_hosts_are_refused(name):
    assert f"the workers of {name} meet on one host only" in outline(SPREAD, FRAMEWORKS[name]).refusal


IN_ONE = replace(SETTINGS, changes=(Change(name="placement", value="one_process"),))


@pytest.mark.parametrize("name", ["jax", "tensorflow", "mxnet"])
def test_workers_can_be_devices_of_one_process_with_the_processors_of_all(name):
    found = outline(IN_ONE, FRAMEWORKS[name])
    assert (found.refusal, found.case.workers) == ("", 2)
    assert found.case.id == f"training-{name}-small-synthetic-cpu-quick-placement_one_process-threads2-workers2"
    spec = IN_ONE.spec(FRAMEWORKS[name], SMALL, ANY_SHAPE, DEVICES["cpu"])
    assert (spec.processes_here, spec.threads) == (1, 4)
    assert "need 8 processors" in outline(replace(IN_ONE, workers=4), FRAMEWORKS[name]).refusal


@pytest.mark.parametrize(
    ("name", "because"),
    [
        ("pytorch", "DataParallel of PyTorch divides batches among GPUs only"),
        ("pytorch-compile", "DataParallel of PyTorch divides batches among GPUs only"),
        ("keras-torch", "DataParallel of PyTorch divides batches among GPUs only"),
        ("paddle", "DataParallel of Paddle has a process for each device"),
        ("chainer", "one after the other on processors"),
        ("tinygrad", "the builder of tinygrad has no module devices"),
    ],
)
def test_frameworks_without_devices_of_one_process_say_why(name, because):
    assert because in outline(IN_ONE, FRAMEWORKS[name]).refusal
    assert outline(replace(IN_ONE, workers=1), FRAMEWORKS[name]).refusal == ""


def test_the_devices_of_one_process_have_exchanges_of_their_own():
    def of(name, exchange):
        changes = (*IN_ONE.changes, Change(name="exchange", value=exchange))
        return outline(replace(IN_ONE, changes=changes), FRAMEWORKS[name])

    assert of("mxnet", "device").refusal == ""
    assert uncertifiable(of("mxnet", "device").case, of("mxnet", "device").network, FRAMEWORKS["mxnet"]) == ""
    assert "the workers of mxnet have no such exchange, only device, full" in of("mxnet", "server").refusal


def test_a_spec_says_on_how_many_hosts_its_workers_are():
    framework, cpu = FRAMEWORKS["pytorch"], DEVICES["cpu"]
    assert SPREAD.spec(framework, SMALL, ANY_SHAPE, cpu).hosts == 4
    assert replace(SPREAD, changes=()).spec(framework, SMALL, ANY_SHAPE, cpu).hosts == 1


def test_workers_need_a_module_in_the_builder_s_folder_or_beside_a_variant():
    assert has_workers(FRAMEWORKS["pytorch"])
    assert has_workers(FRAMEWORKS["pytorch-compile"])
    assert not has_workers(FRAMEWORKS["tinygrad"])


def of_each(framework, *, workers=2):
    layers = (Dense(6), BatchNorm(), Dropout(0.5), Dense(3))
    found = outline(model=replace(SMALL, layers=layers), framework=framework)
    return replace(found.case, workers=workers), found.network, framework


def test_layers_that_workers_compute_of_their_part_are_named_and_not_certified():
    pytorch = FRAMEWORKS["pytorch"]
    assert unlike_one(*of_each(pytorch)).kinds == ("batch_norm", "dropout")
    assert uncertifiable(*of_each(pytorch)).startswith("batch_norm and dropout: each of 2 workers")
    assert unlike_one(*of_each(pytorch, workers=1)) is None
    assert uncertifiable(outline().case, outline().network, DOUBLE) == ""


def test_workers_have_the_labels_of_the_whole_batch_that_count_or_are_refused(tmp_path):
    translation = MODELS["tartu-manythings-seq2seq"]
    for name in sorted(name for name, framework in FRAMEWORKS.items() if has_workers(framework)):
        assert outline(framework=FRAMEWORKS[name], model=translation).refusal == ""
    (tmp_path / "own").mkdir()
    (tmp_path / "own/__init__.py").write_text("from dlworker.frameworks.pytorch import SUPPORTS")
    (tmp_path / "own/parallel.py").write_text("")
    own = Framework(name="own", builder="own", folders=(tmp_path,))
    assert "some labels are ignored, and each worker of own" in outline(framework=own, model=translation).refusal
    assert outline(replace(SETTINGS, workers=1), own, translation).refusal == ""


def test_losses_that_are_divided_by_what_differs_from_part_to_part_are_named():
    kind, case, network = "detections", replace(outline().case, workers=2), infer(MODELS["faster-rcnn-shapes"])
    found = unlike_one(case, network, FRAMEWORKS["pytorch"])
    assert kind in found.kinds
    assert f"{kind}: each of 2 workers" in uncertifiable(case, network, FRAMEWORKS["pytorch"])
    (sentence,) = cautions.sentences([found])
    assert "each worker divides" in sentence
    assert unlike_one(case, network, FRAMEWORKS["jax"]) is None


def test_workers_of_jax_compute_every_layer_of_the_whole_batch():
    assert unlike_one(*of_each(FRAMEWORKS["jax"])) is None
