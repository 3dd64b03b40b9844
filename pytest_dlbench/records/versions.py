"""The formats of files, by number."""

# Version 1 (0.1.0): the first. Fields that came later have a default, so that older files can be read.
FORMAT_VERSION = 1
# Version 1 had one session and no name for it; version 2 has several, and an anchor.
BASELINE_FORMAT = 2
