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


def run(nodes, x, call):
    """The last layer's value, of what ``wired`` gave. ``call(layer, values)`` computes one of the values of its inputs.

    A value that no later layer reads is let go.
    """
    values = {INPUT: x}
    result = x
    for layer, inputs, done in nodes:
        result = values[layer["name"]] = call(layer, [values[name] for name in inputs])
        for name in done:
            del values[name]
    return result


# What leaves every feature in its place, and keeps none in mind but by weights of its own.
_IN_PLACE = frozenset({"batch_norm", "dropout", "flatten", "relu", "sigmoid", "tanh"})


def flattened(layers):
    """For builders whose images have their channels last: ({layer: image}, {flatten}).

    The first are the layers that read the features of a flattened image, and which one: their weights can be put in its
    order. The second are flattens whose features are read otherwise, and must be put in the canonical order.
    """
    sources, readers, seen = {}, {}, set()
    images = {layer["name"]: layer["input"] for layer in layers}
    for layer, inputs, _ in wired(layers):
        name, found = layer["name"], [sources[read] for read in inputs if read in sources]
        if layer["kind"] == "flatten" and _has_places(layer["input"]):
            sources[name] = name
        elif found and layer["kind"] in _IN_PLACE:
            sources[name] = readers[name] = found[0]
        elif found and layer["kind"] == "dense":
            readers[name] = found[0]
        else:
            seen.update(found)
    last = layers[-1]["name"]
    if last in sources:
        seen.add(sources[last])
    return {name: images[source] for name, source in readers.items() if source not in seen}, seen


def _has_places(image):
    """Whether the order of its channels, rows and columns can be seen."""
    return len(image) == 3 and image[1] * image[2] > 1
