"""The models of the field, written in the neutral vocabulary: one file for each source."""

from pytest_dlbench.model import Model
from pytest_dlbench.zoo import gatech, hkbu, tartu

MODELS: dict[str, Model] = {model.name: model for source in (tartu, gatech, hkbu) for model in source.MODELS}
