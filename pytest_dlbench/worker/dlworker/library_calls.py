"""Which libraries compute, as they report it: oneDNN and MKL write a line for each call if a variable is set.

They read the variable once, when they are first called, and writing takes time: so what was measured is repeated in a
process of its own.
"""

import json
import os
import re
import subprocess
import sys
import tempfile

from dlworker.protocol import RequestError

# oneDNN has had several names.
REPORTING = dict.fromkeys(("DNNL_VERBOSE", "MKLDNN_VERBOSE", "MKL_VERBOSE", "ONEDNN_VERBOSE"), "1")
LINES = {
    # The first line of MKL until 2020 is its name: Intel(R) MKL.
    "mkl": re.compile(r"^MKL_VERBOSE (?!Intel\(R\))(\w+)\("),
    "onednn": re.compile(r"^(?:onednn|dnnl|mkldnn)_verbose,(?:v\d+,)?(?:primitive,)?exec,(?:cpu,)?(\w+),"),
}
# Some builders change it for their framework; their repetition must begin as they did.
STARTED_WITH = dict(os.environ)
REPEATED = ("hello", "build", "train", "infer")


def counted(requests):
    """{library: {kind of call: number}} in the last requests of each operation, of which training has one step."""
    if requests["hello"].get("group"):
        raise RequestError("bad_request", "a step of several workers cannot be repeated in a single process")
    repeated = [_shortened(requests[op]) for op in REPEATED if op in requests]
    command = [sys.executable, "-s", "-m", "dlworker.repeating"]
    with tempfile.TemporaryFile() as output:
        done = subprocess.run(
            command,
            check=False,
            input=json.dumps(repeated).encode("utf-8"),
            stdout=output,
            env=dict(STARTED_WITH, **REPORTING),
        )
        if done.returncode:
            message = "the process that repeats a step ended with status %d; the log has its reason" % done.returncode
            raise RequestError("error", message)
        output.seek(0)
        return calls(line.decode("utf-8", "replace") for line in output)


def _shortened(request):
    kept = {name: value for name, value in request.items() if name not in ("outputs", "slowdown")}
    return dict(kept, steps=1) if request["op"] == "train" else kept


def calls(lines):
    """{library: {kind of call: number}} in what was written."""
    found = {}
    for line in lines:
        for library, pattern in LINES.items():
            matched = pattern.match(line)
            if matched:
                kinds = found.setdefault(library, {})
                kinds[matched.group(1)] = kinds.get(matched.group(1), 0) + 1
    return found
