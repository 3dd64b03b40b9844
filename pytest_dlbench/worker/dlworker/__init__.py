"""The worker: the only folder on the path of a framework's own Python, 3.6 to 3.13.

Standard library and NumPy only. It does not import pytest_dlbench, and pytest_dlbench does not import it: the two
exchange JSON lines over private pipes (protocol.py), whatever their Python versions.
"""
