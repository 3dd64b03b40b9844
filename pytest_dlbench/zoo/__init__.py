"""The model zoo, written in the neutral vocabulary: one file per source."""

from pytest_dlbench.model import Model, Recipe
from pytest_dlbench.zoo import detectors, gatech, hkbu, rosetta, tartu, thesis, transformers

MODELS: dict[str, Model] = {
    model.name: model
    for source in (tartu, hkbu, gatech, rosetta, thesis, transformers, detectors)
    for model in source.MODELS
}

# Frameworks' own default recipes, with which other models can be trained, too.
RECIPES: dict[str, Recipe] = gatech.RECIPES
