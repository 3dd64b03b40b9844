"""The command and the environment that a worker starts with."""

import os
from collections.abc import Mapping
from pathlib import Path

from pytest_dlbench.environments import Framework
from pytest_dlbench.environments.placing import Place

WORKER_FOLDER = Path(__file__).parent.parent / "worker"

# A short list, never all of os.environ: what is not named here cannot change a figure.
INHERITED = (
    "PATH",
    "LANG",
    "LC_ALL",
    "TMPDIR",
    "TZ",
    "LD_LIBRARY_PATH",
    "LD_PRELOAD",
    "CUDA_HOME",
    "CUDA_VISIBLE_DEVICES",
    "XLA_FLAGS",
    "ONEDNN_MAX_CPU_ISA",
    "MKL_ENABLE_INSTRUCTIONS",
)

# Whatever a framework computes with reads one of these when it is loaded; XLA's CPU pool reads NPROC.
THREAD_VARIABLES = (
    "OMP_NUM_THREADS",
    "MKL_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "NUMEXPR_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
    "NPROC",
)


# One policy of memory allocation for all workers, by the name that --dlbench-allocator and records have for it. By
# itself glibc takes large blocks from the kernel and gives them back at every step, or keeps them: that depends on the
# largest block that was freed before. Tuned, blocks below 1 GiB are kept, in one arena: with one for each thread JAX's
# peak memory differs by 5 % from run to run. docs/explanation/measurement.md has what the policies do to step times.
TUNED = "tuned"
ALLOCATORS: Mapping[str, str] = {
    TUNED: "glibc.malloc.mmap_threshold=1073741824:glibc.malloc.trim_threshold=4294967296:glibc.malloc.arena_max=1",
    "default": "",
}

# float32 is float32 in every framework: by default some let cuBLAS and cuDNN round what they multiply to 10 binary
# digits (TF32), others do not. And JAX would take three quarters of a card's memory at once.
ON_A_GPU = {"NVIDIA_TF32_OVERRIDE": "0", "XLA_PYTHON_CLIENT_PREALLOCATE": "false"}


def command(python: Path) -> list[str]:
    """The worker's command line, without the two pipe ends."""
    # -s: the packages of the user's home are no part of the environment that is measured.
    return [str(python), "-s", "-m", "dlworker"]


def environment(
    framework: Framework, place: Place, *, device: str, threads: int, allocator: str = TUNED
) -> Mapping[str, str]:
    """All variables that the worker sees. Those of its place are the strongest but for the allocation policy."""
    place.caches.mkdir(parents=True, exist_ok=True)
    inherited = {name: os.environ[name] for name in INHERITED if name in os.environ}
    threading = dict.fromkeys(THREAD_VARIABLES, str(threads))
    # On the CPU a framework must not find a GPU; JAX is also told not to look for one.
    hidden = {"CUDA_VISIBLE_DEVICES": "", "JAX_PLATFORMS": "cpu"} if device == "cpu" else ON_A_GPU
    # Frameworks keep settings and compiled code at home: keras.json, compiled graphs, kernels. There each has its own.
    home = {
        "HOME": str(place.caches),
        "XDG_CACHE_HOME": str(place.caches / "cache"),
        "XDG_CONFIG_HOME": str(place.caches / "config"),
        "TORCHINDUCTOR_CACHE_DIR": str(place.caches / "inductor"),
    }
    own = {
        "GLIBC_TUNABLES": ALLOCATORS[allocator],
        "PYTHONPATH": os.pathsep.join(str(folder) for folder in (WORKER_FOLDER, *framework.folders)),
        # One folder serves many Pythons, and several at once.
        "PYTHONDONTWRITEBYTECODE": "1",
        # Without it the last lines before an abort never reach the log.
        "PYTHONUNBUFFERED": "1",
        "PYTHONHASHSEED": "0",
    }
    return {**inherited, **threading, **hidden, **home, **place.variables, **own}
