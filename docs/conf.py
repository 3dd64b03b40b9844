"""The documentation site: every page under docs/, and a reference that is written from the code when it is built."""

import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))

import reference  # noqa: E402 - beside this file

project = "pytest-dlbench"
author = "the authors of pytest-dlbench"
extensions = ["myst_parser"]
html_theme = "furo"
html_title = "pytest-dlbench"
# Not a page: the workflows, which pages include.
exclude_patterns = ["_build", "ci"]
myst_heading_anchors = 3
nitpicky = True

reference.write(HERE / "reference")
