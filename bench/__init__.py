"""The suite of this package: in a checkout `pytest bench`, elsewhere `pytest --pyargs pytest_dlbench.bench`."""
