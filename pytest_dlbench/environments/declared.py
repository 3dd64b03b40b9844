"""The environments that frameworks are trained in: pins that were tested together, one environment per stack."""

from dataclasses import replace

from pytest_dlbench.environments.cuda import CUDA_9, CUDA_11, CUDA_12, CUDA_12_CUDNN_8, CUDA_13, Cuda, locked
from pytest_dlbench.environments.environment import Environment
from pytest_dlbench.environments.programs import CC, CLANG, CXX, NM

# Pinned exactly: any looser requirement installs a build with gigabytes of CUDA on a machine without a GPU.
_TORCH = "torch==2.13.0"
_JAX = ("jax==0.10.2", "jaxlib==0.10.2")
_KERAS = "keras==3.15.1"
_NUMPY = "numpy==2.4.6"
# The last NumPy with np.bool and similar aliases, which MXNet and Chainer still use.
_NUMPY_WITH_ALIASES = "numpy==1.23.5"
# It decodes JPEG files for all frameworks without a decoder of their own: input=jpeg.
_PILLOW = "pillow==13.0.0"

PYTORCH = Environment(name="pytorch", python="3.11", requirements=(_TORCH, _NUMPY, _PILLOW), since="2.3")
PYTORCH_1_0 = Environment(
    name="pytorch-1.0",
    python="3.6",
    requirements=("torch==1.0.1", "numpy==1.19.5", "protobuf==3.19.6", "future==1.0.0", "six==1.17.0", "pillow==8.4.0"),
    since="1.0",
    notes="The bundled Caffe2 needs protobuf, future and six.",
)
PYTORCH_1_11 = Environment(
    name="pytorch-1.11",
    python="3.10",
    requirements=("torch==1.12.1", _NUMPY_WITH_ALIASES, "pillow==12.3.0"),
    since="1.11",
    notes="For versions from 1.11, the first for Python 3.10, to 2.2, the last before NumPy 2.",
)
JAX = Environment(name="jax", python="3.11", requirements=(*_JAX, "optax==0.2.8", _NUMPY, _PILLOW), since="0.4.34")
TENSORFLOW = Environment(
    name="tensorflow",
    python="3.11",
    requirements=(
        "tensorflow-cpu==2.21.0",
        _KERAS,
        "h5py==3.14.0",
        "protobuf==7.36.2",
        "ml-dtypes==0.6.0",
        _NUMPY,
        _PILLOW,
    ),
    since="2.16",
)
AUTOKERAS = Environment(
    name="autokeras",
    python="3.11",
    requirements=(
        "autokeras==3.0.0",
        "keras-tuner==1.4.8",
        "keras==3.12.0",
        "tensorflow-cpu==2.21.0",
        "tensorboard==2.21.0",
        "h5py==3.14.0",
        "protobuf==7.36.2",
        "ml-dtypes==0.6.0",
        "setuptools==80.10.2",
        _NUMPY,
        _PILLOW,
    ),
    notes="For searches by AutoKeras, whose networks keras 3.15 refuses, and which imports more than it declares.",
)
KERAS_JAX = Environment(name="keras-jax", python="3.11", requirements=(*_JAX, _KERAS, _NUMPY, _PILLOW), since="3.0")
KERAS_TORCH = Environment(
    name="keras-torch", python="3.11", requirements=(_TORCH, _KERAS, _NUMPY, _PILLOW), since="3.0"
)
PADDLE = Environment(
    name="paddle",
    python="3.11",
    requirements=(
        "paddlepaddle==3.3.1",
        "setuptools==80.9.0",
        "protobuf==7.36.2",
        "opt-einsum==3.3.0",
        _NUMPY,
        _PILLOW,
    ),
    notes="Paddle imports setuptools without declaring it.",
)
TINYGRAD = Environment(
    name="tinygrad",
    python="3.11",
    requirements=("tinygrad==0.14.0", _NUMPY, _PILLOW),
    # Without it, tinygrad compiles in separate processes, each for only 16 kernels: starting them takes longer.
    variables=(("CACHEDB", "{caches}/tinygrad.db"), ("PARALLEL", "0")),
    programs=(CLANG,),
)
MLX = Environment(
    name="mlx",
    python="3.11",
    requirements=("mlx==0.32.4", "mlx-cpu==0.32.4", _NUMPY, _PILLOW),
    # MLX stores compiled kernels in the folder for temporary files, which is shared with other users.
    variables=(("TMPDIR", "{caches}"),),
    notes="Compiles fused kernels with g++ if it is on PATH.",
)

TENSORFLOW_1 = Environment(
    name="tensorflow1",
    python="3.7",
    requirements=(
        "tensorflow==1.15.5",
        "keras==2.3.1",
        "h5py==2.10.0",
        "protobuf==3.20.3",
        "numpy==1.18.5",
        "pillow==9.5.0",
    ),
    since="1.15",
)
MXNET = Environment(name="mxnet", python="3.11", requirements=("mxnet==1.9.1", _NUMPY_WITH_ALIASES))
CHAINER = Environment(
    name="chainer",
    python="3.11",
    requirements=(
        "chainer==7.8.1",
        "mpi4py==4.1.2",
        _NUMPY_WITH_ALIASES,
        "protobuf==3.20.3",
        "setuptools==65.5.1",
        _PILLOW,
    ),
    build_constraints=("setuptools==65.5.1",),
    notes="Chainer uses distutils features that newer versions of setuptools no longer have.",
)
# iDeep's last package is for Python 3.7.
CHAINER_IDEEP = Environment(
    name="chainer-ideep",
    python="3.7",
    requirements=(
        "chainer==7.8.1",
        "ideep4py==2.0.0.post3",
        "numpy==1.21.6",
        "protobuf==3.20.3",
        "setuptools==65.5.1",
        "pillow==9.5.0",
    ),
    build_constraints=("setuptools==65.5.1",),
    notes="For library=ideep.",
)
THEANO = Environment(
    name="theano",
    python="3.9",
    requirements=(
        "theano==1.0.5",
        "lasagne==0.1",
        "keras==2.3.1",
        "h5py==3.6.0",
        "numpy==1.22.4",
        "scipy==1.7.3",
        "setuptools==65.7.0",
        "pillow==11.3.0",
    ),
    build_constraints=("setuptools==65.7.0",),
    programs=(CXX,),
    notes="Lasagne imports pkg_resources, which is part of setuptools.",
)
THEANO_PYMC = Environment(
    name="theano-pymc",
    python="3.10",
    requirements=("theano-pymc==1.1.2", "numpy==1.22.4", "scipy==1.7.3", "setuptools==65.7.0", "pillow==12.3.0"),
    build_constraints=("setuptools==65.7.0",),
    programs=(CXX,),
)
_MKL = ("mkl==2024.2.2", "intel-openmp==2024.2.1", "tbb==2021.13.1")
THEANO_MKL, THEANO_PYMC_MKL = (
    replace(
        environment,
        name=f"{environment.name}-mkl",
        requirements=(*environment.requirements, *_MKL),
        notes="For library=mkl.",
    )
    for environment in (THEANO, THEANO_PYMC)
)
CNTK = Environment(
    name="cntk",
    python="3.6",
    requirements=("cntk==2.7.post2", "keras==2.2.4", "h5py==2.10.0", "numpy==1.19.5", "scipy==1.5.4", "pillow==8.4.0"),
    steps=("mpi_stub",),
    programs=(CC, NM),
    notes="CNTK links against Open MPI 1.10, which no current system has; a single-process stub replaces it.",
)


def _on_gpu(environment: Environment, cuda: Cuda) -> Environment:
    """The build of an environment for CUDA: the same frameworks, with every package pinned."""
    return replace(
        environment, name=f"{environment.name}-cuda", requirements=locked(environment.name), cuda=cuda, notes=""
    )


PYTORCH_CUDA = _on_gpu(PYTORCH, CUDA_13)
# The wheel of that time is the build for CUDA.
PYTORCH_1_0_CUDA = replace(PYTORCH_1_0, cuda=CUDA_9)
JAX_CUDA = _on_gpu(JAX, CUDA_13)
TENSORFLOW_CUDA = _on_gpu(TENSORFLOW, CUDA_12)
KERAS_JAX_CUDA = _on_gpu(KERAS_JAX, CUDA_13)
KERAS_TORCH_CUDA = _on_gpu(KERAS_TORCH, CUDA_13)
# It takes CUDA's compiler at run time from there, and everything else from the driver; it compiles nothing with clang.
TINYGRAD_CUDA = replace(_on_gpu(TINYGRAD, CUDA_13), programs=())
MLX_CUDA = _on_gpu(MLX, CUDA_13)
MXNET_CUDA = _on_gpu(MXNET, CUDA_11)
CHAINER_CUDA = replace(_on_gpu(CHAINER, CUDA_12_CUDNN_8), variables=(("CUPY_CACHE_DIR", "{caches}/cupy"),))
