"""The order of a network's layers and their inputs, independent of any framework."""

INPUT = "input"


def is_chain(layers):
    """Whether every layer reads only the one before it."""
    return not any(key in layer for layer in layers for key in ("inputs", "start", "lengths", "embedding"))


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
    """The last layer's value, given the result of ``wired``. ``call(layer, values)`` computes a layer from its inputs.

    A value that no later layer reads is released.
    """
    values = {INPUT: x}
    result = x
    for layer, inputs, done in nodes:
        result = values[layer["name"]] = call(layer, [values[name] for name in inputs])
        for name in done:
            del values[name]
    return result


def lengths(layers, tokens):
    """{embedding: the number of each row's tokens before its padding}, for the recurrent layers that need it.

    ``tokens`` are the network's input in NumPy: builders whose recurrent layers take lengths from the host would
    otherwise have to wait for the device in every step.
    """
    needed = {layer.get("lengths") for layer in layers if layer["kind"] in ("lstm", "gru")}
    known, found = {INPUT: tokens}, {}
    for layer, inputs, _ in wired(layers):
        name, value = layer["name"], known.get(inputs[0])
        if value is not None and layer["kind"] == "cut":
            known[name] = value[:, layer["first"] : layer["last"]]
        elif value is not None and name in needed:
            found[name] = (value != layer["padding"]).sum(axis=1)
    return found


# Layers that keep the order of features and depend on it at most through their own weights.
_IN_PLACE = frozenset({"batch_norm", "dropout", "flatten", "gelu", "gelu_tanh", "relu", "sigmoid", "tanh"})


def flattened(layers):
    """For builders whose images are channels last: ({layer: image}, {flatten}).

    The first maps the layers that read a flattened image to the image: their weights can be reordered to match. The
    second are flattens whose features are used in another way, and must be put in the canonical order.
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
    """Whether the order of its channels, rows and columns matters after flattening."""
    return len(image) == 3 and image[1] * image[2] > 1
