"""The kernels of recurrent layers in the programs that XLA compiled for JAX: its loops, and its calls of cuDNN."""

import re
import sys

from dlworker.recurrent_kernels import CUDNN, SCAN, steps_of

# Imported before this module, by a builder or by a user's program.
jax = sys.modules["jax"]
CALL = re.compile(r'custom_call_target="([^"]*cudnn[^"]*rnn[^"]*)"', re.IGNORECASE)
LOOP = re.compile(r' while\(.*"known_trip_count":\{"n":"(\d+)"\}')


def recurrent_kernels(network, modules):
    """{call or "while": kind} in the compiled programs of these names (``xla_counts.programs``), or the reason.

    Random numbers are computed in loops, too: only those of as many iterations as a layer has steps are its own.
    """
    texts = [
        module.to_string()
        for executable in jax.devices()[0].client.live_executables()
        for module in executable.hlo_modules()
        if module.name in modules
    ]
    if not texts:
        return "JAX %s has no program of the name %s" % (jax.__version__, " or ".join(sorted(modules)))
    found = {call: CUDNN for text in texts for call in CALL.findall(text)}
    loops = {int(count) for text in texts for count in LOOP.findall(text)}
    if loops & steps_of(network):
        found["while"] = SCAN
    steps = " or ".join(map(str, sorted(steps_of(network))))
    return found or "the compiled program has neither a loop of %s steps nor a call of cuDNN" % steps
