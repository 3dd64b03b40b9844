"""tinygrad's own counter of the kernels that it runs."""

from tinygrad.helpers import GlobalCounters


def count(run, trainer, device):
    """{name: number} of what ``run`` does."""
    before = GlobalCounters.kernel_count
    run()
    reason = "tinygrad counts the bytes that kernels move, not those that it allocates"
    return {"operations": GlobalCounters.kernel_count - before, "allocated_bytes": reason}
