"""Detection of battery power from the kernel's list of power supplies."""

import pytest

from pytest_dlbench.sampling.battery import is_on_battery

CHARGING = {"type": "Battery", "status": "Charging"}
DISCHARGING = {"type": "Battery", "status": "Discharging"}
MAINS = {"type": "Mains", "online": "1"}
UNPLUGGED = {"type": "Mains", "online": "0"}
MOUSE = {"type": "Battery", "status": "Discharging", "scope": "Device"}


@pytest.mark.parametrize(
    ("supplies", "expected"),
    [
        ([], False),
        ([MAINS], False),
        ([MAINS, CHARGING], False),
        # A laptop under load may draw more than its charger delivers.
        ([MAINS, DISCHARGING], False),
        ([UNPLUGGED, DISCHARGING], True),
        ([DISCHARGING], True),
        ([MOUSE], False),
    ],
)
def test_battery_power_is_read_from_the_power_supplies(tmp_path, supplies, expected):
    for number, supply in enumerate(supplies):
        (tmp_path / str(number)).mkdir()
        for name, text in supply.items():
            (tmp_path / str(number) / name).write_text(f"{text}\n")
    assert is_on_battery(tmp_path) is expected
