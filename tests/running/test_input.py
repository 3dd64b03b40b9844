"""The ways in which a run gets its examples."""

from dataclasses import replace

import pytest
from PIL import Image

from pytest_dlbench.data.jpeg import as_jpeg
from pytest_dlbench.data.preparation import prepare
from pytest_dlbench.environments import Framework
from pytest_dlbench.judging import read_all
from pytest_dlbench.planning.plan import unsupported
from pytest_dlbench.records import RunOutcome
from pytest_dlbench.reporting import problems
from pytest_dlbench.running.training import train_once
from tests.running.specs import STEPS, spec


@pytest.fixture(scope="module")
def both(tmp_path_factory):
    """One run from memory, and one from a pipeline with an evaluation between its steps."""
    planned = spec("numpy_softmax", tmp_path_factory.mktemp("data"))
    piped = replace(planned, recipe=replace(planned.recipe, input="pipeline"), evaluate_after=(3,))
    return train_once(planned, 0), train_once(piped, 0)


def test_a_pipeline_trains_identically_to_memory(both):
    memory, piped = both
    assert piped.outcome is RunOutcome.FINISHED, problems.of_run(piped)
    assert piped.training.losses == memory.training.losses
    assert piped.evaluation.loss == memory.evaluation.loss


def test_the_input_wait_of_each_step_is_part_of_the_step(both):
    training = both[1].training
    assert len(training.input_seconds) == STEPS
    parts = zip(training.input_seconds, training.step_seconds, strict=True)
    assert all(0 < wait < seconds for wait, seconds in parts)


def test_only_pipelines_have_a_figure_for_input_wait(both):
    memory, piped = both
    assert "input_wait" not in read_all([memory])
    assert 0 < read_all([piped])["input_wait"][0] < read_all([piped])["step_time_median"][0]


def test_a_builder_without_a_pipeline_is_unsupported(tmp_path):
    planned = spec("numpy_softmax", tmp_path)
    recipe = replace(planned.recipe, input="pipeline")
    (tmp_path / "resident.py").write_text('SUPPORTS = {"dense", "flatten", "sgd", "softmax_cross_entropy"}')
    resident = Framework(name="resident", builder="resident", folders=(tmp_path,))
    assert unsupported(resident, planned.network, recipe) == "the builder of resident has no pipeline"


@pytest.mark.parametrize("change", [{"flips": True}, {"crop_padding": 2}])
def test_a_run_trains_on_cropped_or_flipped_images_and_is_evaluated_on_whole_ones(both, tmp_path, change):
    planned = spec("numpy_softmax", tmp_path)
    augmented = replace(planned, recipe=replace(planned.recipe, input="pipeline", **change))
    first, again, other = (train_once(augmented, index) for index in (0, 0, 1))
    assert first.outcome is RunOutcome.FINISHED, problems.of_run(first)
    assert first.training.losses == again.training.losses != both[0].training.losses
    assert first.training.losses != other.training.losses
    assert first.evaluation.examples == both[0].evaluation.examples


@pytest.fixture(scope="module")
def of_files(tmp_path_factory):
    """A function that trains on JPEG files; its runs have the pixels that these decode to."""
    folder = tmp_path_factory.mktemp("files")
    planned = spec("numpy_softmax", folder)
    planned = replace(planned, data=prepare(as_jpeg(planned.data.dataset), folder), evaluate_after=(3,))

    def trained(**recipe):
        return train_once(replace(planned, recipe=replace(planned.recipe, **recipe)), 0)

    return trained


@pytest.mark.parametrize("workers", [0, 2])
def test_a_run_that_decodes_files_trains_as_it_does_from_their_pixels_in_memory(of_files, workers):
    run, memory = of_files(input="jpeg", loader_workers=workers), of_files()
    assert run.outcome is RunOutcome.FINISHED, problems.of_run(run)
    assert run.training.losses == memory.training.losses
    assert run.evaluation.loss == memory.evaluation.loss
    found, shown = run.training.loading, read_all([run])
    assert (found.loader, found.workers, found.deviation) == ("processes of pytest-dlbench", workers, 0)
    assert found.decoder.startswith("Pillow ")
    for seconds in (found.read_seconds, found.decode_seconds, found.collate_seconds):
        assert len(seconds) == STEPS
    assert all(shown[name][0] > 0 for name in ("read_time", "decode_time", "collate_time", "input_wait"))
    assert memory.training.loading is None
    assert not run.survivors


def test_other_pixels_than_the_prepared_ones_end_a_run(tmp_path):
    planned = spec("numpy_softmax", tmp_path)
    data = prepare(as_jpeg(planned.data.dataset), tmp_path)
    Image.new("L", planned.data.dataset.shape[:0:-1], 255).save(tmp_path / "white.jpeg")
    for file in data.folder.glob("train/*/*.jpeg"):
        file.write_bytes((tmp_path / "white.jpeg").read_bytes())
    run = train_once(replace(planned, data=data, recipe=replace(planned.recipe, input="jpeg")), 0)
    assert run.outcome is RunOutcome.FAILED
    assert "of 255 from the driver's; decoders differ by 3 at most" in problems.of_run(run)
