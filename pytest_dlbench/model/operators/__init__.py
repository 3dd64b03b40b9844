"""Single operators: their sizes, arithmetic and traffic; ``operator_values`` has what they compute."""

from pytest_dlbench.model.operators.all_reduce import AllReduce
from pytest_dlbench.model.operators.convolution import Convolution
from pytest_dlbench.model.operators.gemm import GEMM
from pytest_dlbench.model.operators.operator import BOUND, PASSES, RESULTS, Operator, Pass
from pytest_dlbench.model.operators.recurrent import Recurrent

__all__ = ["BOUND", "GEMM", "PASSES", "RESULTS", "AllReduce", "Convolution", "Operator", "Pass", "Recurrent"]
