"""``python -m dlworker.repeating``: perform the requests in a JSON list on standard input, for ``library_calls``."""

import json
import sys

from dlworker.operations import Session, perform
from dlworker.serving import die_with_parent

if __name__ == "__main__":
    die_with_parent()
    session = Session()
    for request in json.load(sys.stdin) + [{"op": "close"}]:
        perform(session, request)
