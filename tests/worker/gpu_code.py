"""Faults of code for GPUs that can be read off its source, because no test here can run it.

A step that copies from the device waits for it; a call of CUDA fails where there is none; and work that nothing waited
for is missing from a time.
"""

import ast
from collections.abc import Iterator
from dataclasses import dataclass

# Methods that copy an array to the host, or wait for the device.
WAITING = frozenset({"cpu", "item", "numpy", "asnumpy", "asscalar", "tolist", "synchronize", "waitall"})
# What a trainer does between steps, and an operator after its last call.
BETWEEN_STEPS = frozenset({"array", "outputs", "load", "feed", "parameters", "describe", "computes_on", "read"})
# What asks whether there is a GPU does not fail without one.
ASKING = frozenset({"is_available", "is_compiled_with_cuda", "device_count", "getDeviceCount"})
CLOCKS = frozenset({"monotonic", "perf_counter", "time"})


@dataclass(frozen=True)
class Finding:
    """What is wrong, and in which function."""

    function: str
    call: str
    problem: str


def waits_in_steps(source: str) -> Iterator[Finding]:
    """Calls that wait for the device, in functions that steps may call."""
    for function, call in _calls(source):
        if isinstance(call.func, ast.Attribute) and call.func.attr in WAITING and not call.args:
            module = isinstance(call.func.value, ast.Name) and call.func.value.id == "mx"
            if function not in BETWEEN_STEPS and not module:
                yield Finding(function, call.func.attr, "waits for the device in a step")


def unguarded(source: str) -> Iterator[Finding]:
    """Calls of CUDA outside a condition, and before any that ends the function where there is no GPU."""
    tree = ast.parse(source)
    for function in _functions(tree):
        guards = [node for node in ast.walk(function) if isinstance(node, ast.If | ast.IfExp)]
        inside = {id(part) for guard in guards for part in ast.walk(guard)}
        ends = [guard.lineno for guard in guards if isinstance(guard, ast.If) and _leaves(guard)]
        for call in _own_calls(function):
            path = ast.unparse(call.func)
            if ".cuda." not in f".{path}" or path.rpartition(".")[2] in ASKING:
                continue
            if id(call) not in inside and not any(line < call.lineno for line in ends):
                yield Finding(function.name, path, "calls CUDA without a condition")


def unwaited(source: str) -> Iterator[Finding]:
    """Functions that time steps and read the clock afterwards without a loss as a number, which waits for them."""
    tree = ast.parse(source)
    for function in _functions(tree):
        calls = sorted(_own_calls(function), key=lambda call: (call.lineno, call.col_offset))
        names = [_name(call) for call in calls]
        if "step" not in names or not CLOCKS & set(names):
            continue
        last_step = max(place for place, name in enumerate(names) if name == "step")
        clocks = [place for place, name in enumerate(names) if name in CLOCKS and place > last_step]
        for clock in clocks[:1]:
            waits = [call for call in calls if _name(call) == "float" and call.lineno <= calls[clock].lineno]
            if not any(call.lineno >= calls[last_step].lineno for call in waits):
                yield Finding(function.name, names[clock], "reads the clock before the device is done")


def _functions(tree: ast.AST) -> Iterator[ast.FunctionDef]:
    return (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef))


def _own_calls(function: ast.FunctionDef) -> Iterator[ast.Call]:
    return (node for node in ast.walk(function) if isinstance(node, ast.Call))


def _calls(source: str) -> Iterator[tuple[str, ast.Call]]:
    """Every call with the name of the innermost function around it."""
    found: dict[int, tuple[str, ast.Call]] = {}
    for function in _functions(ast.parse(source)):
        # An inner function comes later, and replaces the outer one.
        found |= {id(call): (function.name, call) for call in _own_calls(function)} if function.name else {}
    return iter(found.values())


def _leaves(guard: ast.If) -> bool:
    return isinstance(guard.body[-1], ast.Return | ast.Raise)


def _name(call: ast.Call) -> str:
    return call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
