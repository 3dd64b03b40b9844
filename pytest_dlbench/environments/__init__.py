"""Which Python runs which framework, and on what."""

from pytest_dlbench.environments.devices import DEVICES, Device
from pytest_dlbench.environments.frameworks import FRAMEWORKS, Framework

__all__ = ["DEVICES", "FRAMEWORKS", "Device", "Framework"]
