"""The machine class: its name and its rounded memory."""

import re
import subprocess
import sys
from math import log2

import psutil
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_dlbench.sampling import machine
from pytest_dlbench.sampling.cores import usable_cores
from pytest_dlbench.sampling.machine import rounded_memory_gib, this_machine

GIB = 2**30
SIZES = sorted(base * 2.0**power for power in range(12) for base in (1, 1.5))
amounts = st.integers(min_value=2**20, max_value=2**45)


class TestRoundedMemory:
    @pytest.mark.parametrize(
        ("gib", "rounded"), [(0.97, 1), (1.9, 2), (3.7, 4), (7.6, 8), (15.4, 16), (23.4, 24), (31.2, 32), (503.5, 512)]
    )
    def test_equals_the_installed_memory(self, gib, rounded):
        assert rounded_memory_gib(round(gib * GIB)) == rounded

    @given(st.sampled_from(SIZES), st.floats(min_value=0.9, max_value=1.05))
    def test_does_not_depend_on_how_much_the_kernel_reserves(self, size, share):
        assert rounded_memory_gib(round(size * share * GIB)) == size

    @given(amounts)
    def test_is_one_of_the_usual_sizes(self, amount):
        rounded = rounded_memory_gib(amount)
        assert any(log2(rounded / base).is_integer() for base in (1, 1.5))
        assert rounded >= 1

    @given(amounts)
    def test_rounding_is_idempotent(self, amount):
        rounded = rounded_memory_gib(amount)
        assert rounded_memory_gib(round(rounded * GIB)) == rounded

    @given(amounts, amounts)
    def test_rounding_is_monotonic(self, one, other):
        less, more = sorted((one, other))
        assert rounded_memory_gib(less) <= rounded_memory_gib(more)

    @given(st.integers(min_value=GIB, max_value=2**45))
    def test_is_off_by_at_most_a_third(self, amount):
        assert abs(rounded_memory_gib(amount) * GIB / amount - 1) <= 1 / 3


class TestName:
    @given(st.text())
    def test_has_only_characters_that_a_file_name_may_have(self, text):
        assert re.fullmatch(r"[a-z0-9.-]*", machine._slug(text))

    @given(st.text())
    def test_slugging_is_idempotent(self, text):
        assert machine._slug(machine._slug(text)) == machine._slug(text)

    def test_is_readable(self):
        text = "linux Intel(R) Xeon(R) Platinum 8375C CPU @ 2.90GHz 2cores 24gib"
        assert machine._slug(text) == "linux-intel-xeon-platinum-8375c-cpu-2.90ghz-2cores-24gib"

    def test_this_machines_name_has_its_parts(self):
        here = this_machine()
        assert re.fullmatch(r"[a-z0-9.-]+", here.name)
        assert here.name.startswith(f"{here.os_family}-")
        assert here.name.endswith(f"-{here.cores}cores-{here.memory_gib:g}gib")
        assert here.cpu_model
        assert here.memory_gib == rounded_memory_gib(psutil.virtual_memory().total)


class TestCores:
    def test_only_usable_cores_count(self):
        program = (
            "import os; os.sched_setaffinity(0, {min(os.sched_getaffinity(0))});"
            "from pytest_dlbench.sampling.cores import usable_cores; print(usable_cores())"
        )
        done = subprocess.run([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True, check=True)
        assert done.stdout == "1\n"

    def test_there_is_at_least_one(self):
        assert usable_cores() >= 1
