"""Which Python runs which framework, how its environment is built, and on which device it computes."""

from pytest_dlbench.environments.devices import DEVICES, Device
from pytest_dlbench.environments.environment import Environment
from pytest_dlbench.environments.frameworks import Framework
from pytest_dlbench.environments.known import FRAMEWORKS

__all__ = ["DEVICES", "FRAMEWORKS", "Device", "Environment", "Framework"]
