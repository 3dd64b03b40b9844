"""Where MLX keeps the arrays of a layer, and in which layout."""

# Where MLX keeps an array, by kind and canonical role.
ARRAYS = {"weight": "weight", "bias": "bias"}
NORMALISED = {"scale": "weight", "shift": "bias"}
ARRAYS_OF = {
    "batch_norm": NORMALISED,
    "layer_norm": NORMALISED,
    "lstm": {"weight": "Wx", "recurrent": "Wh", "bias": "bias"},
    "gru": {"weight": "Wx", "recurrent": "Wh", "bias": "b", "recurrent_bias": "bh"},
}


def to_native(layer, role, array, image):
    """A canonical array in MLX's layout."""
    if image and (layer["kind"] in ("batch_norm", "layer_norm") or (layer["kind"], role) == ("dense", "weight")):
        # Flattened images are in row, column, channel order here; the canonical order has the channel first.
        array = array.reshape(*image, -1).transpose(1, 2, 0, 3).reshape(array.shape)
    if array.ndim == 4:
        return array.transpose(0, 2, 3, 1)
    return array.T if is_transposed(layer, role) else array


def is_transposed(layer, role):
    """Whether MLX keeps the array as (outputs, inputs)."""
    return layer["kind"] in ("dense", "lstm", "gru") and role in ("weight", "recurrent")
