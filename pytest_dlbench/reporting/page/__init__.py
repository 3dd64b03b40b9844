"""The report: one page that opens from the disk, and its pictures.

Nothing heavy is loaded here: ``pytest --dlbench-html`` asks for ``extra`` before anything runs.
"""
