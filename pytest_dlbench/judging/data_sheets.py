"""Models of GPU by their data sheets: what no measurement on one of them can exceed."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

# GPUs that their makers overclock exceed the sheet by up to a tenth, and boost clocks are not limits.
MOST_OF_SHEET = 1.25


@dataclass(frozen=True, slots=True, kw_only=True)
class Card:
    """A model of GPU by its data sheet: memory, arithmetic, and memory bandwidth.

    ``flops_per_second`` is float32 outside of tensor cores, ``double_flops_per_second`` float64,
    ``tf32_flops_per_second`` float32 products of rounded numbers, ``half_flops_per_second`` 16 bits, without sparsity.
    ``driver`` is the version that is assumed: the newest branch for GPUs that later ones do not support.
    """

    name: str
    capability: tuple[int, int]
    memory_gib: int
    flops_per_second: float
    double_flops_per_second: float
    tf32_flops_per_second: float
    half_flops_per_second: float
    bytes_per_second: float
    driver: str = "580.65.06"

    def peak(self, precision: str, execution: tuple[str, ...] = ()) -> float:
        """The highest arithmetic that it is sold for, in FLOP/s, with a recipe's precision and settings."""
        if precision == "float64":
            return self.double_flops_per_second
        if precision == "float32":
            return self.tf32_flops_per_second if "tf32" in execution else self.flops_per_second
        return self.half_flops_per_second


# Compared in November 2026 with pages that quote the documents named here, since NVIDIA's own could not be reached:
# K80 (AnandTech's news of its launch, the sum of two GPUs), A100, H100, H200, B200 (glennklockwood.com/garden/
# processors), L40S (resellers' tables); P4, P100, V100, T4 and L4 (tables of GPUs) within 4 %; RTX 4090 (waredb.com),
# RTX 3090 (holynerdvana.blogspot.com), A10 and RTX 2080 Ti (tables of GPUs: float32 and bandwidth only). As remembered:
# the tensor cores of A10 (in the proportion of A40's, which a reseller quotes) and RTX 2080 Ti, and float64 of both; a
# table has twice as much float64 for the A10, against 2 of 128 units in the GA102 whitepaper. With sums in float32, as
# frameworks compute them, RTX GPUs reach half of what is here for 16 bits.
# NVIDIA's early figures of the B200 are 80 and 40 TFLOP/s, later ones 75 and 37.
# NVIDIA's data sheets and architecture whitepapers: TFLOP/s in float32, float64, TF32 and 16 bits (float64 and 16 bits
# in tensor cores where they are faster), GB/s. Of SXM modules where there are PCIe versions, too, except P100.
_SHEETS = (
    # Tesla K80 Board Specification, for one of its two GPUs. Driver 470 is the last for Kepler.
    ("K80", (3, 7), 12, (4.4, 1.46, 4.4, 4.4), 240, "470.256.02"),
    # Tesla P4 and P100 data sheets; P4 multiplies 16 bits more slowly than 32.
    ("P4", (6, 1), 8, (5.5, 0.17, 5.5, 5.5), 192),
    ("P100", (6, 0), 16, (9.3, 4.7, 9.3, 18.7), 732),
    # Tesla V100 data sheet.
    ("V100", (7, 0), 16, (15.7, 7.8, 15.7, 125), 900),
    # T4 data sheet, and the Turing whitepaper.
    ("T4", (7, 5), 16, (8.1, 0.25, 8.1, 65), 320),
    ("RTX-2080-Ti", (7, 5), 11, (13.4, 0.42, 13.4, 107.6), 616),
    # A100 data sheet, A10 data sheet, GA102 whitepaper.
    ("A100-40GB", (8, 0), 40, (19.5, 19.5, 156, 312), 1555),
    ("A100-80GB", (8, 0), 80, (19.5, 19.5, 156, 312), 2039),
    ("A10", (8, 6), 24, (31.2, 0.49, 62.5, 125), 600),
    ("RTX-3090", (8, 6), 24, (35.6, 0.56, 35.6, 142), 936),
    # L4, L40S data sheets, Ada whitepaper.
    ("L4", (8, 9), 24, (30.3, 0.49, 60, 121), 300),
    ("RTX-4090", (8, 9), 24, (82.6, 1.29, 82.6, 330), 1008),
    ("L40S", (8, 9), 48, (91.6, 1.43, 183, 362), 864),
    # H100, H200 and HGX B200 data sheets.
    ("H100", (9, 0), 80, (67.0, 67.0, 495, 990), 3350),
    ("H200", (9, 0), 141, (67.0, 67.0, 495, 990), 4800),
    ("B200", (10, 0), 180, (75.0, 37.0, 1100, 2250), 8000),
)
CARDS: Mapping[str, Card] = {
    name: Card(
        name=name,
        capability=capability,
        memory_gib=memory,
        flops_per_second=single * 1e12,
        double_flops_per_second=double * 1e12,
        tf32_flops_per_second=rounded * 1e12,
        half_flops_per_second=half * 1e12,
        bytes_per_second=gigabytes * 1e9,
        **({"driver": driver[0]} if driver else {}),
    )
    for name, capability, memory, (single, double, rounded, half), gigabytes, *driver in _SHEETS
}


def card_of(model: str) -> Card | None:
    """The data sheet of a GPU, by the name that its driver or a framework reports; None if it is not in the table."""
    words = set(re.split(r"[^A-Za-z0-9]+", model.lower()))
    # The name of an A100 has its memory.
    found = (card for name, card in CARDS.items() if set(name.lower().split("-")) <= words)
    return next(found, None)
