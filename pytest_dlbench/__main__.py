"""``python -m pytest_dlbench``: the ``dlbench`` command, of an interpreter whose scripts are not on the path."""

import sys

from pytest_dlbench.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
