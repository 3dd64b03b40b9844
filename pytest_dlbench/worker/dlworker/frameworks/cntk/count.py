"""The nodes of the graph that CNTK evaluates for the loss; gradients and the learner have none."""

import cntk as C  # noqa: N812 - the name it has in CNTK's own documentation


def count(run, trainer, device):
    """{name: number} of the graph; nothing has to run for it."""
    return nodes(trainer.trainer)


def nodes(trainer):
    """The same for CNTK's own trainer."""
    found = C.logging.graph.depth_first_search(
        trainer.loss_function.root_function, lambda node: hasattr(node, "op_name")
    )
    return {"operations": len(found), "allocated_bytes": "CNTK reports no allocations"}
