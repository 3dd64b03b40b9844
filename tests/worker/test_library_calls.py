"""What libraries report that they compute: in lines of all their versions, and in real frameworks."""

import sys
from dataclasses import replace

import pytest

from pytest_dlbench.data.preparation import prepare
from pytest_dlbench.environments import FRAMEWORKS
from pytest_dlbench.environments.libraries import variables
from pytest_dlbench.planning.plan import synthetic_for
from pytest_dlbench.running.launch import WORKER_FOLDER
from pytest_dlbench.running.libraries import other_library
from pytest_dlbench.running.messages import Failed, LibraryCalls
from tests.worker.places import place_of
from tests.worker.sessions import BUILDERS, session
from tests.worker.test_mixed_precision import NETWORK, RECIPE

sys.path.insert(0, str(WORKER_FOLDER))
from dlworker.library_calls import calls

STEPS = 3
LINES = {
    "oneDNN 3": "onednn_verbose,v1,primitive,exec,cpu,convolution,jit:avx512_core,forward_training,src:f32::a",
    "oneDNN 2": "onednn_verbose,exec,cpu,convolution,jit:avx2,forward_training,src_f32::blocked:abcd:f0",
    "DNNL": "dnnl_verbose,exec,cpu,convolution,jit:avx2,forward_training,src_f32::blocked:abcd:f0",
    "MKL-DNN": "mkldnn_verbose,exec,convolution,jit:avx2,forward_training,fsrc:nchw fwei:Ohwi8o",
}


@pytest.mark.parametrize("version", LINES)
def test_the_kind_of_call_is_found_in_the_lines_of_every_version(version):
    assert calls([LINES[version], LINES[version]]) == {"onednn": {"convolution": 2}}


@pytest.mark.parametrize("version", ["oneMKL 2024.0 Update 2 Product build 20240605", "Intel(R) MKL 2019.0 Update 5"])
def test_calls_of_mkl_are_found(version):
    lines = [f"MKL_VERBOSE {version}", "MKL_VERBOSE SGEMM(T,N,10,16,1152,0x7f) 1us"]
    assert calls(lines) == {"mkl": {"SGEMM": 1}}


def test_lines_of_others_are_no_calls():
    assert calls(["onednn_verbose,v1,info,cpu,runtime:OpenMP,nthr:1", "SGEMM(", ""]) == {}


def computed(framework, library, folder):
    """The losses of some steps with a library, and its calls."""
    recipe = replace(RECIPE, library=library)
    own = variables(framework, recipe.execution).items()
    framework = replace(framework, variables=(*framework.variables, *own))
    data = prepare(synthetic_for(NETWORK.model), folder / "data")
    with session(framework, folder) as asked:
        hello = asked.hello(execution=recipe.execution)
        assert not isinstance(hello, Failed), hello.traceback
        built = asked.build(NETWORK, recipe)
        assert not isinstance(built, Failed), built.traceback
        losses = asked.train(data, recipe, STEPS).losses
        found = asked.ask("library_calls")
    assert isinstance(found, LibraryCalls), found.traceback
    return losses, found.calls


@pytest.mark.parametrize(
    ("name", "libraries"),
    [
        ("pytorch", ("onednn", "mkl")),
        ("tensorflow", ("onednn", "eigen")),
        ("keras-tensorflow", ("eigen",)),
        ("keras-torch", ("mkl",)),
        ("mxnet", ("onednn", "openblas")),
        ("chainer", ("ideep", "openblas")),
        ("theano", ("mkl", "openblas")),
        ("theano-pymc", ("mkl",)),
    ],
)
def test_a_framework_computes_with_the_library_that_is_asked_for(name, libraries, tmp_path):
    losses = []
    for library in libraries:
        place_of(name, "libraries", library)
        found, reported = computed(FRAMEWORKS[name].computing_with(library), library, tmp_path / library)
        assert other_library(name, library, reported) is None
        losses.append(found)
    assert all(found == pytest.approx(losses[0], rel=1e-4) for found in losses)


@pytest.mark.parametrize("name", ["pytorch"])
def test_a_framework_that_forgets_what_was_asked_for_is_found(name, tmp_path):
    place_of(name, "libraries")
    framework = replace(FRAMEWORKS[name], builder="forgets_its_library", folders=(BUILDERS,))
    _, reported = computed(framework, "mkl", tmp_path)
    problem = other_library(name, "mkl", reported)
    assert "convolution" in problem.calls["onednn"]
