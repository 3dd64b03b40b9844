"""A process that mpiexec starts in a worker's place: it writes its variables to a folder and waits for the end."""

import json
import os
import sys
from time import sleep

from dlworker.serving import die_with_parent

POLL_SECONDS = 0.05
END = "end"


def file(folder, rank):
    """Where the variables of a rank are written."""
    return os.path.join(folder, "rank%d.json" % rank)


def end(folder):
    """Let the placeholders end."""
    with open(os.path.join(folder, END), "w", encoding="utf-8"):
        pass


def main(folder):
    """Write the variables and wait."""
    # Of mpiexec, which dies with the first worker.
    die_with_parent()
    place = file(folder, int(os.environ["OMPI_COMM_WORLD_RANK"]))
    with open(place + ".part", "w", encoding="utf-8") as part:
        json.dump(dict(os.environ), part)
    # A worker that finds it finds all of it.
    os.rename(place + ".part", place)
    while not os.path.exists(os.path.join(folder, END)):
        sleep(POLL_SECONDS)


if __name__ == "__main__":
    main(sys.argv[1])
