"""The models of the field, written in the neutral vocabulary: one file for each source."""

from pytest_dlbench.model import Model, Recipe
from pytest_dlbench.zoo import gatech, hkbu, rosetta, tartu, thesis

MODELS: dict[str, Model] = {
    model.name: model for source in (tartu, hkbu, gatech, rosetta, thesis) for model in source.MODELS
}

# Recipes of a framework's own, by which any other can be trained.
RECIPES: dict[str, Recipe] = gatech.RECIPES
