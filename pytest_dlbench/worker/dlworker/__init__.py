"""The worker: the one folder that is put on the path of a framework's own Python, 3.6 to 3.13.

Standard library and NumPy only. It does not import pytest_dlbench, and pytest_dlbench does not import it: the two
speak JSON lines over private pipes (protocol.py), whatever their Pythons.
"""
