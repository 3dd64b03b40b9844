"""``python -m dlworker REQUEST_FD REPLY_FD``: train networks for one driver."""

import sys

from dlworker import serving
from dlworker.operations import Session, perform

if __name__ == "__main__":
    session = Session()
    serving.main(int(sys.argv[1]), int(sys.argv[2]), lambda request: perform(session, request))
    # What it holds may have processes of its own, which end with it.
    del session
    serving.finish()
