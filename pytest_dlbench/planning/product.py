"""A large product, in the framework and on the GPU of a case: the arithmetic that a step can reach there.

It is the training of a network of three products, because that is what every framework can do and what is timed alike.
"""

from dataclasses import replace
from functools import partial
from typing import Any

from pytest_dlbench.data import Dataset
from pytest_dlbench.data.preparation import prepare
from pytest_dlbench.data.synthetic import prototypes_under_noise
from pytest_dlbench.model import SGD, Dense, Model, Recipe, SoftmaxCrossEntropy, infer
from pytest_dlbench.model.recipe import EXECUTION
from pytest_dlbench.running.run_spec import NetworkSpec

# A product of two square matrices of this size keeps all of a current GPU busy. A processor that takes its place would
# need minutes.
SIZE, SIZE_OF_PROCESSORS = 4096, 512
STEPS = 40
CLASSES = 16
TEST_EXAMPLES, SEED = 16, 1


def product(spec: NetworkSpec) -> NetworkSpec:
    """The run of the product with the precision and the settings of a case, where that runs."""
    size = SIZE_OF_PROCESSORS if spec.framework.takes_processor_as_gpu else SIZE
    plain = Recipe(batch_size=size, steps=STEPS, optimizer=SGD(1e-3), precision=spec.recipe.precision)
    settings: dict[str, Any] = {name: getattr(spec.recipe, name) for name in (*EXECUTION, "library")}
    recipe = replace(plain, **settings)
    model = Model(
        name=f"product-{size}",
        family="fcn",
        input_shape=(size,),
        head=SoftmaxCrossEntropy(classes=CLASSES),
        recipe=recipe,
        layers=(Dense(size), Dense(size), Dense(CLASSES)),
    )
    return NetworkSpec(
        case=replace(spec.case, id=f"product-{spec.case.id}", model=model.name, dataset="", settings={}),
        framework=spec.framework,
        place=spec.place,
        network=infer(model),
        recipe=recipe,
        data=prepare(_examples(size)),
        steps=STEPS,
        seed=SEED,
        timeout_seconds=spec.timeout_seconds,
        evaluations=0,
        allocator=spec.allocator,
        gpu_numbers=spec.gpu_numbers,
        gpu=spec.gpu,
        cores=spec.cores,
    )


def _examples(size: int) -> Dataset:
    examples = (size, TEST_EXAMPLES)
    return Dataset(
        name=f"product-{size}",
        version=1,
        shape=(size,),
        classes=CLASSES,
        train_examples=size,
        test_examples=TEST_EXAMPLES,
        make=partial(prototypes_under_noise, (size,), CLASSES, examples=examples, seed=SEED),
    )
