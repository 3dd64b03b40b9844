"""The sizes of DeepBench's operators, as its benchmarks of training and inference have them.

They are those of code/kernels/{gemm,conv,rnn,all_reduce}_problems.h in github.com/baidu-research/DeepBench (commit
da81ba7, 2020), each once; ``deepbench.csv`` has them in the order of those files' tuples.
"""

from collections.abc import Callable, Iterator, Mapping
from csv import DictReader
from dataclasses import dataclass
from math import inf
from pathlib import Path

from pytest_dlbench.model.operators import GEMM, AllReduce, Convolution, Operator, Recurrent
from pytest_dlbench.model.operators.recurrent import Cell

SIZES = Path(__file__).with_name("deepbench.csv")
CELLS: Mapping[str, Cell] = {"vanilla": "rnn", "lstm": "lstm", "gru": "gru"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Listed:
    """An operator and the list that it is in: "training", "inference_server" or "inference_device"."""

    operator: Operator
    source: str

    @property
    def group(self) -> tuple[str, bool]:
        """What distinguishes it apart from its size: transposition, kernel of one pixel or more, cell; gradients."""
        return _kind(self.operator), self.operator.is_trained


def _kind(operator: Operator) -> str:
    match operator:
        case GEMM():
            return f"gemm-{operator.transposition}"
        case Convolution():
            return "convolution-1x1" if operator.kernel == (1, 1) else "convolution"
        case Recurrent():
            return operator.cell
    return operator.kind


def _gemm(sizes: list[str], *, is_trained: bool) -> GEMM:
    m, n, k = map(int, sizes[:3])
    by_weights, by_data = (letter == "t" for letter in sizes[3])
    return GEMM(m=m, n=n, k=k, transposes_weights=by_weights, transposes_data=by_data, is_trained=is_trained)


def _convolution(sizes: list[str], *, is_trained: bool) -> Convolution:
    width, height, channels, batch, filters, *pairs = map(int, sizes)
    kernel, padding, stride = ((pairs[place + 1], pairs[place]) for place in (0, 2, 4))
    return Convolution(
        image=(height, width),
        channels=channels,
        batch=batch,
        filters=filters,
        kernel=kernel,
        padding=padding,
        stride=stride,
        is_trained=is_trained,
    )


def _recurrent(sizes: list[str], *, is_trained: bool) -> Recurrent:
    units, batch, steps = map(int, sizes[:3])
    return Recurrent(cell=CELLS[sizes[3]], units=units, batch=batch, steps=steps, is_trained=is_trained)


KINDS: Mapping[str, Callable[..., Operator]] = {"gemm": _gemm, "convolution": _convolution, "recurrent": _recurrent}


def listed() -> Iterator[Listed]:
    """All operators of one worker of all lists, in their order."""
    for row in _rows():
        if row["kind"] in KINDS:
            operator = KINDS[row["kind"]](row["sizes"].split(), is_trained=row["set"] == "training")
            yield Listed(operator=operator, source=row["set"])


def _rows() -> Iterator[dict[str, str]]:
    with SIZES.open(encoding="utf-8", newline="") as file:
        yield from DictReader(file)


def chosen(most_flops: float, most_bytes: float) -> tuple[Operator, ...]:
    """The largest operator of each group whose forward pass keeps to both limits; a group without any is skipped."""
    found: dict[tuple[str, bool], Operator] = {}
    for one in listed():
        operator = one.operator
        if operator.flops("forward") <= most_flops and operator.total_bytes <= most_bytes:
            known = found.get(one.group)
            if known is None or operator.multiply_adds > known.multiply_adds:
                found[one.group] = operator
    return tuple(found.values())


def every() -> tuple[Operator, ...]:
    """All operators of one worker, each once: the two lists of inference have some in common."""
    return tuple({one.operator.name: one.operator for one in listed()}.values())


def shared(most_bytes: float = inf) -> tuple[AllReduce, ...]:
    """The all-reduces of which one worker's array and sum keep to the limit."""
    found = (AllReduce(numbers=int(row["sizes"])) for row in _rows() if row["kind"] == AllReduce.kind)
    return tuple(one for one in found if 2 * one.least_bytes("forward") <= most_bytes)
