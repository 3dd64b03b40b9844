"""Whether this machine runs on battery, which slows processors down to save power."""

from pathlib import Path

SUPPLIES = Path("/sys/class/power_supply")


def is_on_battery(supplies: Path = SUPPLIES) -> bool:
    """Whether no mains supply is connected and a battery of the machine itself is discharging."""
    if any(_read(supply / "online") == "1" for supply in supplies.glob("*") if _read(supply / "type") == "Mains"):
        return False
    # A battery of scope "Device" belongs to a mouse or a keyboard.
    batteries = [supply for supply in supplies.glob("*") if _read(supply / "type") == "Battery"]
    return any(_read(supply / "status") == "Discharging" for supply in batteries if _read(supply / "scope") != "Device")


def _read(file: Path) -> str:
    try:
        return file.read_text("utf-8", "replace").strip()
    except OSError:
        return ""
