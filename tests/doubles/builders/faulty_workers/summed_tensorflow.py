"""An exchange that sums gradients."""


def install(parallel, group, plant):
    """Workers of this process use it."""
    usual = parallel.Trainer._exchanged

    def summed(self, gradients):
        return [group["workers"] * gradient for gradient in usual(self, gradients)]

    plant(parallel.Trainer, "_exchanged", summed)
