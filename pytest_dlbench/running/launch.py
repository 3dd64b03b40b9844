"""The command line and the environment variables that a worker starts with."""

import os
from collections.abc import Collection, Mapping
from pathlib import Path

from pytest_dlbench.environments import Framework, libraries
from pytest_dlbench.environments.placing import Place

WORKER_FOLDER = Path(__file__).parent.parent / "worker"

# Variables that choose what computes: other values make other figures.
OF_FIGURES = (
    "LD_LIBRARY_PATH",
    "LD_PRELOAD",
    "CUDA_HOME",
    "XLA_FLAGS",
    "ONEDNN_MAX_CPU_ISA",
    "MKL_ENABLE_INSTRUCTIONS",
)
# A short list, never all of os.environ: variables that are not listed cannot affect a figure.
INHERITED = (
    "PATH",
    "LANG",
    "LC_ALL",
    "TMPDIR",
    "TZ",
    "CUDA_VISIBLE_DEVICES",
    "PYTHONDONTWRITEBYTECODE",
    *OF_FIGURES,
)

# Every numerical library reads one of these when it is loaded; XLA's CPU thread pool reads NPROC.
THREAD_VARIABLES = (
    "OMP_NUM_THREADS",
    "MKL_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "NUMEXPR_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
    "NPROC",
)


# The memory allocation policies of workers, by their names in --dlbench-allocator and in records. By default glibc
# either returns large blocks to the kernel at every step or keeps them, depending on the largest block freed before.
# "tuned" keeps blocks below 1 GiB, in one arena: with one arena per thread, JAX's peak memory differs by 5 % from run
# to run. docs/explanation/measurement.md has the effect of the policies on step times.
TUNED = "tuned"
ALLOCATORS: Mapping[str, str] = {
    TUNED: "glibc.malloc.mmap_threshold=1073741824:glibc.malloc.trim_threshold=4294967296:glibc.malloc.arena_max=1",
    "default": "",
}

# Idle threads of a pool sleep instead of spinning: for workers whose steps alternate, on both sides alike.
PASSIVE = {
    "OMP_WAIT_POLICY": "PASSIVE",
    "GOMP_SPINCOUNT": "0",
    "KMP_BLOCKTIME": "0",
    # 2 to this power: the processor cycles that OpenBLAS' threads spin for.
    "OPENBLAS_THREAD_TIMEOUT": "4",
}
# Variables that the driver sets for every worker, so that nothing else can.
OWN = (
    "GLIBC_TUNABLES",
    "PYTHONPATH",
    "PYTHONUNBUFFERED",
    "PYTHONIOENCODING",
    "PYTHONHASHSEED",
)

# Makes float32 mean float32 in every framework, whatever it sets, unless the recipe has tf32.
WITHOUT_TF32 = {"NVIDIA_TF32_OVERRIDE": "0"}
# JAX would preallocate three quarters of the GPU's memory. CUDA would number the
# fastest GPU 0; NVML, this package and nvidia-smi number them in PCI order.
ON_A_GPU = {
    "XLA_PYTHON_CLIENT_PREALLOCATE": "false",
    "CUDA_DEVICE_ORDER": "PCI_BUS_ID",
}


def command(python: Path, module: str = "dlworker") -> list[str]:
    """The worker's command line, without the two pipe ends; ``module`` is what serves it."""
    # -s: the user's site-packages are not part of the measured environment.
    return [str(python), "-s", "-m", module]


def environment(
    framework: Framework,
    place: Place,
    *,
    device: str,
    threads: int,
    allocator: str = TUNED,
    is_passive: bool = False,
    execution: Collection[str] = (),
) -> Mapping[str, str]:
    """All variables that the worker sees. Those of its place, then of its side, override all but OWN.

    ``execution`` are the settings of execution that are on.
    """
    place.caches.mkdir(parents=True, exist_ok=True)
    inherited = {name: os.environ[name] for name in INHERITED if name in os.environ}
    threading = {**dict.fromkeys(THREAD_VARIABLES, str(threads)), **(PASSIVE if is_passive else {})}
    # On the CPU a framework must not find a GPU; JAX must not even look for one.
    hidden = ON_A_GPU if device == "gpu" else {"CUDA_VISIBLE_DEVICES": "", "JAX_PLATFORMS": "cpu"}
    rounding = WITHOUT_TF32 if device != "cpu" and "tf32" not in execution else {}
    return {
        **inherited,
        **threading,
        **hidden,
        **rounding,
        **_home(place.caches),
        **libraries.variables(framework, execution),
        **place.variables,
        **dict(framework.more_variables),
        "GLIBC_TUNABLES": ALLOCATORS[allocator],
        **_own(framework),
    }


def _home(caches: Path) -> Mapping[str, str]:
    """Frameworks keep settings and compiled code in the home folder (keras.json, graphs, kernels): each has its own."""
    return {
        "HOME": str(caches),
        "XDG_CACHE_HOME": str(caches / "cache"),
        "XDG_CONFIG_HOME": str(caches / "config"),
        "TORCHINDUCTOR_CACHE_DIR": str(caches / "inductor"),
    }


def _own(framework: Framework) -> Mapping[str, str]:
    """What no setting of a user changes."""
    checked_out = framework.checkout.imported_from if framework.checkout else ()
    return {
        "PYTHONPATH": os.pathsep.join(map(str, (WORKER_FOLDER, *checked_out, *framework.folders))),
        # Without it the last lines before an abort never reach the log.
        "PYTHONUNBUFFERED": "1",
        # A framework that prints an arrow must not fail because of the locale.
        "PYTHONIOENCODING": "utf-8:replace",
        "PYTHONHASHSEED": "0",
    }
