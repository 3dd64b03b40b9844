"""The ``dlbench`` command."""

import argparse


def main() -> int:
    return 0
