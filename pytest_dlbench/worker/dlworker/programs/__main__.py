"""``python -m dlworker.programs REQUEST_FD REPLY_FD``: run one program for one driver. Needs no NumPy."""

import sys

from dlworker import serving
from dlworker.programs.operations import Session, perform

if __name__ == "__main__":
    session = Session()
    serving.main(int(sys.argv[1]), int(sys.argv[2]), lambda request: perform(session, request))
