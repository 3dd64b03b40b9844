"""The ``dlbench`` command."""


def main() -> int:
    return 0
