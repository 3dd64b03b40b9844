"""A builder that forgets that the first update of ChainerMN's optimiser is none."""

import chainermn


def install(parallel, group, plant):
    """Workers of this process use it."""
    make = chainermn.create_multi_node_optimizer

    def made(*arguments):
        optimizer = make(*arguments)

        def forgotten():
            object.__delattr__(optimizer, "update")

        # Its own __setattr__ passes everything on to the optimiser of one worker.
        object.__setattr__(optimizer, "update", forgotten)
        return optimizer

    plant(chainermn, "create_multi_node_optimizer", made)
