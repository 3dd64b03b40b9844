"""Settings of execution in PaddlePaddle, all of GPUs."""

import paddle

EXECUTION = ("autotune", "deterministic")


def set_execution(execution, device):
    """Turn these settings on for the process, and the others off."""
    # A build for processors does not know these flags.
    if device != "cpu" and paddle.is_compiled_with_cuda():
        is_deterministic = "deterministic" in execution
        paddle.set_flags(
            {
                "FLAGS_cudnn_exhaustive_search": "autotune" in execution,
                "FLAGS_cudnn_deterministic": is_deterministic,
                "FLAGS_embedding_deterministic": int(is_deterministic),
            }
        )
