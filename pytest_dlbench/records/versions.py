"""Version numbers of file formats."""

# Version 1 (0.1.0): the first. Fields added later have a default, so that older files can be read.
FORMAT_VERSION = 1
# Version 2 has checksums, and facts about the metrics of hooks; a journal also says which session wrote it.
JOURNAL_FORMAT = 2
DOCUMENT_FORMAT = 2

# Version 1 had one unnamed session; version 2 has several, and a reference session; version 3 also has a
# checksum.
BASELINE_FORMAT = 3
