"""Which values this suite gives the axes: one file each under fixtures/."""

pytest_plugins = [
    "fixtures.framework",
    "fixtures.model",
    "fixtures.dataset",
    "fixtures.device",
    "fixtures.recipe",
    "fixtures.golden_losses",
    # For tests/plugin; pytest wants it named here.
    "pytester",
]
