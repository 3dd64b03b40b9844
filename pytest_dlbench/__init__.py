"""Benchmarks of deep-learning training as pytest test cases.

``import pytest_dlbench as dlb`` offers the public API: everything in ``__all__``, loaded when it is first used. All
other names, and the modules that define the public ones, are private: they may change in any release.
"""

from collections.abc import Sequence
from importlib import import_module

# By module, in the order of the reference page. The same names are in __init__.pyi, for type checkers.
PUBLIC: dict[str, Sequence[str]] = {
    "model": (
        *("Model", "Shape", "Recipe", "Purpose", "Network", "infer"),
        *("Layer", "Parameter", "Conv2D", "Dense", "Embedding", "GRU", "LSTM", "MaxPool", "AvgPool", "GlobalAvgPool"),
        *("Attention", "Positions", "TiedDense", "FirstStep", "LayerNorm", "GELU"),
        *("Anchors", "RegionProposals", "RoIAlign", "Detections"),
        *("BatchNorm", "LocalResponseNorm", "Dropout", "ReLU", "Sigmoid", "Tanh", "LogSoftmax"),
        *("Flatten", "Add", "Branch", "Concat", "Conditioned", "Cut", "PadChannels"),
        *("Head", "SoftmaxCrossEntropy", "SigmoidCrossEntropy", "SequenceCrossEntropy", "DetectionLoss", "Features"),
        *("Optimizer", "SGD", "Adam", "AdamW", "Adadelta", "RMSprop"),
        *("Schedule", "StepDecay", "InverseTime", "Cosine", "WarmUpCosine"),
    ),
    "model.operators": ("Operator", "AllReduce", "GEMM", "Convolution", "Recurrent", "Pass"),
    "planning.search_space": ("SearchSpace",),
    "zoo": ("MODELS", "RECIPES"),
    "environments": ("Framework", "Environment", "Device", "FRAMEWORKS", "DEVICES"),
    "data": ("Dataset", "Arrays", "Rows", "SyntheticData", "synthetic", "Source", "File", "DATASETS", "ANY_SHAPE"),
    "planning.matrix": ("misfit",),
    "judging": ("Metric", "METRICS"),
    "judging.equivalence": ("is_equal",),
    "sampling.sampler": ("Sampler", "MakeSampler"),
    "plugin.fixture": ("Dlbench", "Result", "Figure"),
    "records": (
        *("CaseResult", "CaseOutcome", "Verdict", "VerdictOutcome", "Pairing", "OperatorTime"),
        *("Record", "Case", "Context", "Machine", "MachineSpeed", "MetricFacts", "ComputeDevice", "SkippedCell"),
        *("Program", "Reported", "Alternation"),
        *("Run", "RunOutcome", "StepWork", "WarmUp", "Training", "Evaluation", "CurvePoint", "Inference", "StepCheck"),
        *("WorkerShare", "Exchange", "Length", "Breakdown", "LayerSeconds"),
        *("Operation", "OperatorPass", "CallCheck"),
        *("Search", "SearchPoint", "Trial"),
        *("UpdateCheck", "Validation", "Checkpoint", "Loading", "RecurrentKernel", "Revision"),
        *("Usage", "Timeline", "GpuUsage", "Contention"),
        *("Baseline", "BaselineSession", "Calibration", "Fault", "Certificate", "Golden"),
    ),
    "storing": ("BaselineStore",),
    "storing.calibrations": ("CalibrationStore",),
    "storing.history": ("History",),
    "storing.recorded": ("read", "Found", "Recorded", "Document", "read_document"),
    "errors": (
        *("DlbenchError", "OptionError", "ModelError", "DataError", "DataMissingError"),
        *("EnvironmentMissingError", "EnvironmentBuildError", "FileFormatError", "StorageError"),
    ),
}

_MODULES = {name: f"{__name__}.{module}" for module, names in PUBLIC.items() for name in names}

__all__ = sorted(_MODULES)  # noqa: PLE0605 - computed from the table


def __getattr__(name: str) -> object:
    """Load a public name on first use: importing the package alone loads nothing."""
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}", name=name, obj=import_module(__name__))
    value = globals()[name] = getattr(import_module(_MODULES[name]), name)
    return value


def __dir__() -> list[str]:
    """All public names, whether or not they are loaded yet."""
    return [*__all__, *(name for name in globals() if name.startswith("__"))]
