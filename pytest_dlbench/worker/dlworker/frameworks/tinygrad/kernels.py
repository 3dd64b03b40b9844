"""The recurrent layers among tinygrad's kernels, which have no names of layers."""

import re
from collections import Counter

from dlworker.frameworks.tinygrad.profile import kernels
from dlworker.recurrent_kernels import UNROLLED, steps_of


def recurrent_kernels(run, trainer, device, is_training):
    """{kernel: kind}: that of the products of a step is called at least once per step, as TinyJit has no loops."""
    # The same kernel in another place has a number at the end of its name.
    counts = Counter(re.sub(r"n\d+$", "", name) for name, _ in kernels(run))
    name, times = counts.most_common(1)[0]
    steps = min(steps_of(trainer.network))
    if times < steps:
        return "no kernel of tinygrad runs once for each of %d steps; the most frequent runs %d times" % (steps, times)
    return {name: UNROLLED}
