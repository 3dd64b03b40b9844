"""Which values this suite gives the axes: one file each under fixtures/."""

pytest_plugins = ["fixtures.framework", "fixtures.model", "fixtures.dataset", "fixtures.device", "fixtures.recipe"]
