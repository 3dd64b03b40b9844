"""The report: one HTML page that opens from the disk, and its charts as pictures.

This package imports nothing heavy: ``pytest --dlbench-html`` checks for the extra before anything runs.
"""
