"""The documentation site: the pages under docs/, and a reference and a drawing that are made from the code."""

import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))

import architecture  # noqa: E402 - next to this file
import reference  # noqa: E402

project = "pytest-dlbench"
author = "the authors of pytest-dlbench"
extensions = ["myst_parser"]
html_theme = "furo"
html_title = "pytest-dlbench"
# Not pages: the CI workflows, which pages include.
exclude_patterns = ["_build", "ci"]
myst_heading_anchors = 3
nitpicky = True
# Options keep their two hyphens.
smartquotes = False

reference.write(HERE / "reference")
(HERE / "explanation" / "architecture.svg").write_text(architecture.drawing(), encoding="utf-8")
