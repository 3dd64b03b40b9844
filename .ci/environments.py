"""List the frameworks whose environment is built; ``--skipped`` lists the others instead.

Exits with 1 if an environment is not built although its Python is installed: that is no reason to skip a framework.
"""

import sys

from pytest_dlbench.environments import FRAMEWORKS
from pytest_dlbench.environments.placing import Absent, Lack, Places


def main() -> int:
    """Print the names, separated by commas."""
    places = {name: Places().find(framework) for name, framework in FRAMEWORKS.items()}
    absent = {name: place for name, place in places.items() if isinstance(place, Absent)}
    if "--skipped" in sys.argv[1:]:
        for name, place in absent.items():
            print(f"skipped: {name}: {place.reason.splitlines()[0]}")
        return 0
    print(",".join(name for name in places if name not in absent))
    unbuilt = [name for name, place in absent.items() if place.lack not in (Lack.NO_PYTHON, Lack.UNSUPPORTED)]
    for name in unbuilt:
        print(f"not built: {name}", file=sys.stderr)
    return 1 if unbuilt else 0


if __name__ == "__main__":
    sys.exit(main())
