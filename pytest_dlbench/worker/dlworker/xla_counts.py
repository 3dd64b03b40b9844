"""What XLA compiled for JAX: how often, the instructions of these programs, and the memory that they need."""

import re
import sys

# Imported before this module, by a builder or by a user's program.
jax = sys.modules["jax"]
# One for every program, also where the persistent cache has it.
EVENT = "/jax/core/compile/backend_compile_duration"
INSTRUCTION = re.compile(r"^\s+(?:ROOT )?%?[\w.-]+ = ", re.MULTILINE)
# The compiled programs, by the name that JAX gives them; None where it gives none.
_compiled = []


def _listen(event, seconds, **details):
    if event == EVENT:
        _compiled.append(details.get("fun_name"))


# JAX calls it when it compiles, and never for a program that is compiled.
jax.monitoring.register_event_duration_secs_listener(_listen)


def compiled(trainer):
    """{name: number} of what was compiled since this module was imported."""
    return {"compilations": len(_compiled)}


def programs():
    """The programs that were compiled since this module was imported, by the names that XLA has for them.

    Without those that an older JAX does not name.
    """
    return [re.sub(r"\((.*)\)", r"_\1", name) for name in _compiled if name]


def count(modules):
    """{name: number} of all instructions of these programs, and of the bytes for their outputs and temporaries.

    Each counts once, however often it runs in a step. ``modules`` are names, as in ``programs``.
    """
    operations = allocated = 0
    for executable in jax.devices()[0].client.live_executables():
        for module in executable.hlo_modules():
            if module.name in modules:
                operations += len(INSTRUCTION.findall(module.to_string()))
                memory = executable.get_compiled_memory_stats()
                outputs = memory.output_size_in_bytes - memory.alias_size_in_bytes
                allocated += memory.temp_size_in_bytes + outputs
    if not operations:
        return {"operations": "JAX %s has no program of the name %s" % (jax.__version__, " or ".join(sorted(modules)))}
    return {"operations": operations, "allocated_bytes": allocated}
