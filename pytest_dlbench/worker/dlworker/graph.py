"""The order of a network's layers, and what each of them reads: nothing here has to do with a framework."""

INPUT = "input"


def is_chain(layers):
    """Whether every layer reads the one before it, and nothing else."""
    return not any("inputs" in layer or "start" in layer or "lengths" in layer for layer in layers)


def wired(layers):
    """[(layer, the names of its inputs, the names that no later layer reads)], in the order of the layers."""
    nodes, last_reader = [], {}
    before = INPUT
    for position, layer in enumerate(layers):
        inputs = tuple(layer.get("inputs", (before,)))
        last_reader.update((name, position) for name in inputs)
        nodes.append((layer, inputs))
        before = layer["name"]
    read = [[] for _ in layers]
    for name, position in last_reader.items():
        read[position].append(name)
    return [(layer, inputs, tuple(done)) for (layer, inputs), done in zip(nodes, read)]


def run(layers, x, call):
    """The last layer's value. ``call(layer, values)`` computes one layer of the values of its inputs.

    A value that no later layer reads is let go.
    """
    values = {INPUT: x}
    result = x
    for layer, inputs, done in wired(layers):
        result = values[layer["name"]] = call(layer, [values[name] for name in inputs])
        for name in done:
            del values[name]
    return result
