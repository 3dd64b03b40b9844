"""The table of all known frameworks: current ones, retired ones, and those that can no longer be run."""

from pytest_dlbench.environments import declared
from pytest_dlbench.environments.frameworks import OURS, Addition, Framework
from pytest_dlbench.environments.programs import CXX, MPIEXEC

# The builder uses stateless_dropout, which 2.5 does not have; 2.7 was tested.
_TENSORFLOW_2 = "tensorflow>=2.7 | tensorflow-cpu>=2.7"

# Builds for CUDA bring NVIDIA's libraries as packages of their own; those for processors have the same name.
_CUDNN = "nvidia-cudnn-cu13 | nvidia-cudnn-cu12 | nvidia-cudnn-cu11"
_CUPY = "cupy-cuda12x>=10 | cupy-cuda11x>=10 | cupy>=10"
_JAX_ON_GPU = "jax-cuda13-plugin | jax-cuda12-plugin"


def _builder(module: str) -> str:
    return f"{OURS}.{module}"


_CURRENT = (
    Framework(
        name="pytorch",
        builder=_builder("pytorch"),
        package="torch",
        needs=("torch>=1.0.1",),
        environments=(declared.PYTORCH, declared.PYTORCH_1_11, declared.PYTORCH_1_0),
        gpu_needs=("torch>=1.0.1", _CUDNN),
        gpu_environments=(declared.PYTORCH_CUDA,),
    ),
    Framework(
        name="pytorch-compile",
        builder=_builder("pytorch.compile"),
        package="torch",
        needs=("torch>=2.1",),
        environments=(declared.PYTORCH,),
        gpu_needs=("torch>=2.1", _CUDNN),
        gpu_environments=(declared.PYTORCH_CUDA,),
        more_programs=(CXX,),
        more_marks=("pytorch",),
    ),
    Framework(
        name="jax",
        builder=_builder("jax"),
        package="jax",
        needs=("jax>=0.4.34", "optax"),
        environments=(declared.JAX,),
        gpu_needs=("jax>=0.4.34", "optax", _JAX_ON_GPU),
        gpu_environments=(declared.JAX_CUDA,),
    ),
    Framework(
        name="tensorflow",
        builder=_builder("tensorflow"),
        package="tensorflow-cpu",
        needs=(_TENSORFLOW_2,),
        environments=(declared.TENSORFLOW,),
        gpu_needs=("tensorflow>=2.7", _CUDNN),
        gpu_environments=(declared.TENSORFLOW_CUDA,),
    ),
    Framework(
        name="tensorflow-xla",
        builder=_builder("tensorflow.xla"),
        package="tensorflow-cpu",
        needs=(_TENSORFLOW_2,),
        environments=(declared.TENSORFLOW,),
        gpu_needs=("tensorflow>=2.7", _CUDNN),
        gpu_environments=(declared.TENSORFLOW_CUDA,),
        more_marks=("tensorflow",),
    ),
    Framework(
        name="keras-tensorflow",
        builder=_builder("keras"),
        package="keras",
        backend="tensorflow",
        needs=("keras>=3", _TENSORFLOW_2),
        environments=(declared.TENSORFLOW,),
        gpu_needs=("keras>=3", "tensorflow>=2.7", _CUDNN),
        gpu_environments=(declared.TENSORFLOW_CUDA,),
        engines=(Addition(name="autokeras", need="autokeras", environment=declared.AUTOKERAS),),
        variables=(("KERAS_BACKEND", "tensorflow"),),
        more_marks=("keras",),
    ),
    Framework(
        name="keras-jax",
        builder=_builder("keras"),
        package="keras",
        backend="jax",
        needs=("keras>=3", "jax"),
        environments=(declared.KERAS_JAX,),
        gpu_needs=("keras>=3", "jax", _JAX_ON_GPU),
        gpu_environments=(declared.KERAS_JAX_CUDA,),
        variables=(("KERAS_BACKEND", "jax"),),
        more_marks=("keras",),
    ),
    Framework(
        name="keras-torch",
        builder=_builder("keras"),
        package="keras",
        backend="torch",
        needs=("keras>=3", "torch"),
        environments=(declared.KERAS_TORCH,),
        gpu_needs=("keras>=3", "torch", _CUDNN),
        gpu_environments=(declared.KERAS_TORCH_CUDA,),
        variables=(("KERAS_BACKEND", "torch"),),
        more_marks=("keras",),
    ),
    Framework(
        name="paddle",
        builder=_builder("paddle"),
        package="paddlepaddle",
        needs=("paddlepaddle>=3 | paddlepaddle-gpu>=3",),
        environments=(declared.PADDLE,),
        gpu_needs=("paddlepaddle-gpu>=3",),
        gpu_unlocked="of paddlepaddle-gpu, package indexes have 2.6.2 at most; its maker's own index has 3 and later",
    ),
    Framework(
        name="tinygrad",
        builder=_builder("tinygrad"),
        package="tinygrad",
        needs=("tinygrad>=0.14",),
        environments=(declared.TINYGRAD,),
        gpu_needs=("tinygrad>=0.14", "nvidia-cuda-nvrtc"),
        gpu_environments=(declared.TINYGRAD_CUDA,),
        has_opencl=True,
    ),
    Framework(
        name="mlx",
        builder=_builder("mlx"),
        package="mlx",
        needs=("mlx>=0.30",),
        environments=(declared.MLX,),
        gpu_needs=("mlx>=0.30", "mlx-cuda-13 | mlx-cuda-12"),
        gpu_environments=(declared.MLX_CUDA,),
    ),
)

_RETIRED = (
    Framework(
        name="pytorch-1.0",
        builder=_builder("pytorch"),
        package="torch",
        needs=("torch<1.1",),
        environments=(declared.PYTORCH_1_0,),
        gpu_needs=("torch<1.1",),
        gpu_environments=(declared.PYTORCH_1_0_CUDA,),
        more_marks=("pytorch", "legacy"),
    ),
    Framework(
        name="caffe2",
        builder=_builder("caffe2"),
        package="torch",
        needs=("torch<1.1",),
        environments=(declared.PYTORCH_1_0,),
        more_marks=("legacy",),
    ),
    Framework(
        name="tensorflow1",
        builder=_builder("tensorflow1"),
        package="tensorflow",
        needs=("tensorflow>=1.12,<2",),
        environments=(declared.TENSORFLOW_1,),
        more_marks=("legacy",),
    ),
    Framework(
        name="keras2-tensorflow",
        builder=_builder("keras2"),
        package="keras",
        needs=("keras>=2.2.4,<2.4", "tensorflow>=1.12,<2"),
        environments=(declared.TENSORFLOW_1,),
        variables=(("KERAS_BACKEND", "tensorflow"),),
        more_marks=("keras", "legacy"),
    ),
    Framework(
        name="keras2-theano",
        builder=_builder("keras2"),
        package="keras",
        needs=("keras>=2.2.4,<2.4", "theano"),
        environments=(declared.THEANO,),
        variables=(("KERAS_BACKEND", "theano"),),
        more_marks=("keras", "legacy"),
    ),
    Framework(
        name="keras2-cntk",
        builder=_builder("keras2"),
        package="keras",
        needs=("keras>=2.2.4,<2.4", "cntk"),
        environments=(declared.CNTK,),
        variables=(("KERAS_BACKEND", "cntk"),),
        more_marks=("keras", "legacy"),
    ),
    Framework(
        name="mxnet",
        builder=_builder("mxnet"),
        package="mxnet",
        needs=("mxnet>=1.9", "numpy<1.24"),
        environments=(declared.MXNET,),
        gpu_needs=("mxnet-cu112>=1.9", "numpy<1.24"),
        gpu_environments=(declared.MXNET_CUDA,),
        more_marks=("legacy",),
    ),
    Framework(
        name="mxnet-imperative",
        builder=_builder("mxnet.imperative"),
        package="mxnet",
        needs=("mxnet>=1.9", "numpy<1.24"),
        environments=(declared.MXNET,),
        gpu_needs=("mxnet-cu112>=1.9", "numpy<1.24"),
        gpu_environments=(declared.MXNET_CUDA,),
        more_marks=("mxnet", "legacy"),
    ),
    Framework(
        name="chainer",
        builder=_builder("chainer"),
        package="chainer",
        needs=("chainer>=7", "numpy<1.24"),
        environments=(declared.CHAINER,),
        gpu_needs=("chainer>=7", "numpy<1.24", _CUPY),
        gpu_environments=(declared.CHAINER_CUDA,),
        libraries=(Addition(name="ideep", need="ideep4py", environment=declared.CHAINER_IDEEP),),
        programs_of_workers=(MPIEXEC,),
        more_marks=("legacy",),
    ),
    Framework(
        name="theano",
        builder=_builder("theano"),
        package="theano",
        needs=("theano>=1.0.5",),
        environments=(declared.THEANO,),
        libraries=(Addition(name="mkl", need="mkl", environment=declared.THEANO_MKL),),
        more_marks=("legacy",),
    ),
    Framework(
        name="theano-pymc",
        builder=_builder("theano"),
        package="theano-pymc",
        needs=("theano-pymc>=1.1.2",),
        environments=(declared.THEANO_PYMC,),
        libraries=(Addition(name="mkl", need="mkl", environment=declared.THEANO_PYMC_MKL),),
        more_marks=("theano", "legacy"),
    ),
    Framework(
        name="lasagne",
        builder=_builder("lasagne"),
        package="lasagne",
        needs=("lasagne", "theano>=1.0.5"),
        environments=(declared.THEANO,),
        more_marks=("legacy",),
    ),
    Framework(
        name="cntk",
        builder=_builder("cntk"),
        package="cntk",
        needs=("cntk>=2.7",),
        environments=(declared.CNTK,),
        more_marks=("legacy",),
    ),
)

# Frameworks that the studies trained but that no registry offers any more, so that tables can show their figures.
_GONE = {
    "caffe": "Caffe (BVLC) has no package in today's registries: it is to be compiled against libraries of 2017",
    "torch7": "Torch7 has no package in today's registries: it was installed from its sources of 2017, in Lua",
    "knet": "Knet is a Julia package: the worker is Python, and no registry of Python packages has Julia or Knet",
    "r-mxnet": "MXNet for R has no package in today's registries, and the worker is Python",
}

FRAMEWORKS: dict[str, Framework] = {
    framework.name: framework
    for framework in (
        *_CURRENT,
        *_RETIRED,
        *(Framework(name=name, unsupported=reason, more_marks=("legacy",)) for name, reason in _GONE.items()),
    )
}
