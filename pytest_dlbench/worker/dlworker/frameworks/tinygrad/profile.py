"""tinygrad's own kernel timing, printed at DEBUG=2: r_... reduces, E_... is elementwise, numbers are loops."""

import io
import re
from contextlib import redirect_stdout

from tinygrad.helpers import Context, ansistrip

from dlworker.profiling import processor_only, summed

KERNEL = r"^\*\*\* \S+ +\d+ (.+?) +arg +\d+ .* tm +([\d.]+)(us|ms|s )/"
SECONDS = {"us": 1e-6, "ms": 1e-3, "s ": 1.0}


def profile(run, trainer, device):
    """{kernel: seconds} of what ``run`` does; while it prints, tinygrad waits for each kernel."""
    processor_only("tinygrad", device)
    return summed({name: seconds} for name, seconds in kernels(run))


def kernels(run):
    """(name, seconds) of each call of a kernel in what ``run`` does."""
    with io.StringIO() as printed:
        with redirect_stdout(printed), Context(DEBUG=2):
            run()
        found = re.findall(KERNEL, ansistrip(printed.getvalue()), re.MULTILINE)
    return [(" ".join(name.split()), float(taken) * SECONDS[unit]) for name, taken, unit in found]
