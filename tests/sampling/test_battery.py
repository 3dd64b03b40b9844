"""A battery is what the kernel's list of power supplies says it is."""

import pytest

from pytest_dlbench.sampling.battery import is_on_battery

CHARGING = {"type": "Battery", "status": "Charging"}
EMPTYING = {"type": "Battery", "status": "Discharging"}
MAINS = {"type": "Mains", "online": "1"}
UNPLUGGED = {"type": "Mains", "online": "0"}
MOUSE = {"type": "Battery", "status": "Discharging", "scope": "Device"}


@pytest.mark.parametrize(
    ("supplies", "expected"),
    [
        ([], False),
        ([MAINS], False),
        ([MAINS, CHARGING], False),
        # A laptop under load may take more than its charger gives.
        ([MAINS, EMPTYING], False),
        ([UNPLUGGED, EMPTYING], True),
        ([EMPTYING], True),
        ([MOUSE], False),
    ],
)
def test_is_told_by_the_supplies(tmp_path, supplies, expected):
    for number, supply in enumerate(supplies):
        (tmp_path / str(number)).mkdir()
        for name, text in supply.items():
            (tmp_path / str(number) / name).write_text(f"{text}\n")
    assert is_on_battery(tmp_path) is expected
