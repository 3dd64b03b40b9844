"""A graph break that is planted in torch.compile is counted; without it there is none (test_frameworks_table.py)."""

from dataclasses import replace

from pytest_dlbench.data import synthetic
from pytest_dlbench.data.preparation import prepare
from pytest_dlbench.environments import FRAMEWORKS
from pytest_dlbench.model import SGD, Dense, Flatten, Model, Recipe, SoftmaxCrossEntropy, infer
from tests.worker.places import place_of
from tests.worker.sessions import BUILDERS, session

RECIPE = Recipe(batch_size=16, epochs=1, optimizer=SGD(0.1))
HEAD = SoftmaxCrossEntropy(classes=3)
MODEL = Model(name="small", family="fcn", input_shape=(1, 4, 5), layers=(Flatten(), Dense(3)), head=HEAD, recipe=RECIPE)


def test_a_planted_graph_break_is_counted(tmp_path):
    place_of("pytorch-compile")
    planted = replace(FRAMEWORKS["pytorch-compile"], builder="breaks_a_graph_of_pytorch", folders=(BUILDERS,))
    data = prepare(synthetic(MODEL.input_shape, 3), tmp_path / "data")
    with session(planted, tmp_path / "worker") as asked:
        asked.hello()
        asked.build(infer(MODEL), RECIPE)
        asked.train(data, RECIPE, 4)
        asked.evaluate(data)
        counts = asked.ask("count").counts
    # Two graphs, one on either side; those of the evaluation are not among them.
    assert (counts["graph_breaks"], counts["compilations"]) == (1, 2)
