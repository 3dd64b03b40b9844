"""Energy counters of processors, from files in the kernel's format."""

import pytest

from pytest_dlbench.sampling.rapl import CannotRead, Rapl

RANGE = 1000_000


@pytest.fixture
def zones(tmp_path):
    """Two sockets; the first also has counters for its memory and its cores."""
    for folder, name in (
        ("intel-rapl:0", "package-0"),
        ("intel-rapl:1", "package-1"),
        ("intel-rapl:0:0", "core"),
        ("intel-rapl:0:1", "dram"),
    ):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "name").write_text(f"{name}\n")
        (tmp_path / folder / "max_energy_range_uj").write_text(f"{RANGE - 1}\n")
        (tmp_path / folder / "energy_uj").write_text("900000\n")
    return tmp_path


def count(zones, zone, microjoules):
    (zones / zone / "energy_uj").write_text(f"{microjoules}\n")


def test_joules_are_counter_differences_summed_over_sockets(zones):
    rapl = Rapl(zones)
    rapl.begin()
    count(zones, "intel-rapl:0", 950_000)
    count(zones, "intel-rapl:1", 920_000)
    assert rapl.end() == pytest.approx({"package_joules": 0.07, "dram_joules": 0.0})


def test_a_counter_that_wraps_around_keeps_counting(zones):
    rapl = Rapl(zones)
    rapl.begin()
    for reached in (100_000, 800_000, 50_000):
        count(zones, "intel-rapl:0", reached)
        rapl.sample()
    assert rapl.end()["package_joules"] == pytest.approx(0.2 + 0.7 + 0.25)


def test_cores_are_part_of_their_package_and_not_counted_twice(zones):
    rapl = Rapl(zones)
    rapl.begin()
    count(zones, "intel-rapl:0:0", 990_000)
    assert rapl.end()["package_joules"] == 0


def test_a_machine_without_counters_is_reported(tmp_path):
    with pytest.raises(CannotRead, match=r"no energy counter of the processor \(RAPL\)"):
        Rapl(tmp_path)


def test_an_unreadable_counter_is_reported(zones):
    # A folder instead of a file, because tests may run as root, which can read every file.
    (zones / "intel-rapl:0" / "energy_uj").unlink()
    (zones / "intel-rapl:0" / "energy_uj").mkdir()
    with pytest.raises(CannotRead, match=r"energy_uj: Is a directory; since Linux 5\.10 only root may read it"):
        Rapl(zones)
