"""The table of all known frameworks: current ones, retired ones, and those that can no longer be run."""

from pytest_dlbench.environments import declared
from pytest_dlbench.environments.frameworks import Framework
from pytest_dlbench.environments.programs import CXX

# The builder uses stateless_dropout, which 2.5 does not have; 2.7 was tested.
_TENSORFLOW_2 = "tensorflow>=2.7 | tensorflow-cpu>=2.7"


def _builder(module: str) -> str:
    return f"dlworker.frameworks.{module}"


_CURRENT = (
    Framework(
        name="pytorch",
        builder=_builder("pytorch"),
        package="torch",
        needs=("torch>=1.0.1",),
        environments=(declared.PYTORCH, declared.PYTORCH_1_11, declared.PYTORCH_1_0),
    ),
    Framework(
        name="pytorch-compile",
        builder=_builder("pytorch.compile"),
        package="torch",
        needs=("torch>=2.1",),
        environments=(declared.PYTORCH,),
        more_programs=(CXX,),
        more_marks=("pytorch",),
    ),
    Framework(
        name="jax",
        builder=_builder("jax"),
        package="jax",
        needs=("jax>=0.4.34", "optax"),
        environments=(declared.JAX,),
    ),
    Framework(
        name="tensorflow",
        builder=_builder("tensorflow"),
        package="tensorflow-cpu",
        needs=(_TENSORFLOW_2,),
        environments=(declared.TENSORFLOW,),
    ),
    Framework(
        name="tensorflow-xla",
        builder=_builder("tensorflow.xla"),
        package="tensorflow-cpu",
        needs=(_TENSORFLOW_2,),
        environments=(declared.TENSORFLOW,),
        more_marks=("tensorflow",),
    ),
    Framework(
        name="keras-tensorflow",
        builder=_builder("keras"),
        package="keras",
        needs=("keras>=3", _TENSORFLOW_2),
        environments=(declared.TENSORFLOW,),
        variables=(("KERAS_BACKEND", "tensorflow"),),
        more_marks=("keras",),
    ),
    Framework(
        name="keras-jax",
        builder=_builder("keras"),
        package="keras",
        needs=("keras>=3", "jax"),
        environments=(declared.KERAS_JAX,),
        variables=(("KERAS_BACKEND", "jax"),),
        more_marks=("keras",),
    ),
    Framework(
        name="keras-torch",
        builder=_builder("keras"),
        package="keras",
        needs=("keras>=3", "torch"),
        environments=(declared.KERAS_TORCH,),
        variables=(("KERAS_BACKEND", "torch"),),
        more_marks=("keras",),
    ),
    Framework(
        name="paddle",
        builder=_builder("paddle"),
        package="paddlepaddle",
        needs=("paddlepaddle>=3 | paddlepaddle-gpu>=3",),
        environments=(declared.PADDLE,),
    ),
    Framework(
        name="tinygrad",
        builder=_builder("tinygrad"),
        package="tinygrad",
        needs=("tinygrad>=0.14",),
        environments=(declared.TINYGRAD,),
    ),
    Framework(name="mlx", builder=_builder("mlx"), package="mlx", needs=("mlx>=0.30",), environments=(declared.MLX,)),
)

_RETIRED = (
    Framework(
        name="pytorch-1.0",
        builder=_builder("pytorch"),
        package="torch",
        needs=("torch<1.1",),
        environments=(declared.PYTORCH_1_0,),
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
        more_marks=("legacy",),
    ),
    Framework(
        name="mxnet-imperative",
        builder=_builder("mxnet.imperative"),
        package="mxnet",
        needs=("mxnet>=1.9", "numpy<1.24"),
        environments=(declared.MXNET,),
        more_marks=("mxnet", "legacy"),
    ),
    Framework(
        name="chainer",
        builder=_builder("chainer"),
        package="chainer",
        needs=("chainer>=7", "numpy<1.24"),
        environments=(declared.CHAINER,),
        more_marks=("legacy",),
    ),
    Framework(
        name="theano",
        builder=_builder("theano"),
        package="theano",
        needs=("theano>=1.0.5",),
        environments=(declared.THEANO,),
        more_marks=("legacy",),
    ),
    Framework(
        name="theano-pymc",
        builder=_builder("theano"),
        package="theano-pymc",
        needs=("theano-pymc>=1.1.2",),
        environments=(declared.THEANO_PYMC,),
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
