"""MXNet's profiler ends before its engine does: of one step it reports one or two operators more or fewer."""


def count(run, trainer, device):
    """The reason."""
    return {"operations": "MXNet's profiler counts other operations each time"}
