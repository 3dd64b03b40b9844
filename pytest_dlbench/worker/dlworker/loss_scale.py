"""The scale of a loss whose gradients are of float16, for frameworks that have no scaler of their own."""

# As in PyTorch.
FIRST, FACTOR, PATIENCE = 2.0**16, 2.0, 2000


class LossScale:
    """As large as float16 bears it, so that small gradients are no zeros.

    Gradients that are too large halve ``value``, and are not to be used; after many that are not it is doubled.
    """

    def __init__(self):
        self.value, self.good_steps = FIRST, 0

    def allows(self, are_finite):
        """Whether gradients may be used, by whether all of them are finite; called once for each step."""
        self.good_steps = self.good_steps + 1 if are_finite else 0
        if not are_finite:
            self.value /= FACTOR
        elif self.good_steps == PATIENCE:
            self.value, self.good_steps = self.value * FACTOR, 0
        return are_finite
