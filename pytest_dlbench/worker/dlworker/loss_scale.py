"""A loss scale for float16 gradients, for frameworks without a scaler of their own."""

# As in PyTorch's GradScaler.
FIRST, FACTOR, PATIENCE = 2.0**16, 2.0, 2000


class LossScale:
    """As large as float16 allows, so that small gradients do not underflow.

    Gradients that overflow halve ``value`` and must not be used; after many good steps it doubles.
    """

    def __init__(self):
        self.value, self.good_steps = FIRST, 0

    def allows(self, are_finite):
        """Whether the gradients may be used, given whether all are finite; called once per step."""
        self.good_steps = self.good_steps + 1 if are_finite else 0
        if not are_finite:
            self.value /= FACTOR
        elif self.good_steps == PATIENCE:
            self.value, self.good_steps = self.value * FACTOR, 0
        return are_finite
