"""The --dlbench-* options: their table, and the values that the user chose."""

from pytest_dlbench.options.declare import add_to_command, declare
from pytest_dlbench.options.option import Option
from pytest_dlbench.options.reading import Options, check_flags, check_keys, read
from pytest_dlbench.options.table import OPTIONS

__all__ = ["OPTIONS", "Option", "Options", "add_to_command", "check_flags", "check_keys", "declare", "read"]
