"""What a build for CUDA needs of a machine, and the pins of such environments: the lock files in this folder."""

from dataclasses import dataclass
from importlib import resources

Capability = tuple[int, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Cuda:
    """A version of CUDA, with the oldest driver on Linux and the compute capabilities that a build supports.

    ``most`` is None where later GPUs can run it, too: wheels have code that their driver compiles.
    """

    version: str
    driver: str
    least: Capability
    most: Capability | None = None

    def refusal(self, model: str, capability: Capability | None, driver: str) -> str:
        """Why it cannot run on a GPU with a driver; empty if it can, or if that is not known."""
        needs = f"CUDA {self.version} needs"
        if driver and _numbers(driver) < _numbers(self.driver):
            return f"{needs} NVIDIA's driver {self.driver} or newer, not {driver}"
        if capability and not self.least <= capability <= (self.most or capability):
            most = f" to {_text(self.most)}" if self.most else " or higher"
            wanted = f"a compute capability of {_text(self.least)}{most}"
            return f"{needs} a GPU with {wanted}, {model} has {_text(capability)}"
        return ""


def locked(name: str) -> tuple[str, ...]:
    """All pins in a lock file of this folder."""
    lines = resources.files(__name__).joinpath(f"{name}.txt").read_text("utf-8").splitlines()
    return tuple(line for line in lines if line and not line.startswith("#"))


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split(".") if part.isdecimal())


def _text(capability: Capability) -> str:
    return "{}.{}".format(*capability)


# Drivers: NVIDIA's release notes of the CUDA toolkit, and docs.nvidia.com/deploy/cuda-compatibility (13.x needs 580 or
# newer, 12.x 525 or newer). The first release of CUDA 13 ended support for GPUs before Turing.
CUDA_13 = Cuda(version="13", driver="580.65.06", least=(7, 5))
# TensorFlow's wheels have code for Pascal and later; NVIDIA's libraries of CUDA 12 for Maxwell and later.
CUDA_12 = Cuda(version="12", driver="525.60.13", least=(6, 0))
# cuDNN 8.9.7 has code for Maxwell to Hopper.
CUDA_12_CUDNN_8 = Cuda(version="12", driver="525.60.13", least=(5, 0), most=(9, 0))
# The wheel mxnet-cu112 1.9.1 was built for 5.0, 6.0, 7.0, 8.0 and 8.6, without code that drivers compile for later ones
# (config/distribution/linux_cu112.cmake of MXNet 1.x); GPUs of 8.9 run that for 8.6. Any driver of CUDA 11 runs 11.8.
CUDA_11 = Cuda(version="11", driver="450.80.02", least=(5, 0), most=(8, 9))
# The wheel of PyTorch 1.0.1 has code for Kepler to Volta, which Turing runs, too, and nothing for later GPUs.
CUDA_9 = Cuda(version="9.0", driver="384.81", least=(3, 5), most=(7, 5))
