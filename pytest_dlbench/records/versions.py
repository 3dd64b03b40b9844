"""Version numbers of file formats."""

# Version 1 (0.1.0): the first. Fields added later have a default, so that older files can be read.
FORMAT_VERSION = 1
# Version 2 has checksums, and facts about the metrics of hooks; a journal also says which session wrote it.
# In version 3, why a metric of pairs was decided is a name, and why a run is invalid a record, instead of a sentence.
JOURNAL_FORMAT = 3
DOCUMENT_FORMAT = 3

# Version 1 had one unnamed session; version 2 has several, and a reference session; version 3 also has a
# checksum.
BASELINE_FORMAT = 3
BASELINE_WITHOUT_CHECKSUM = 2

# In version 2, why the gate ended with a planted fault is a name instead of a sentence.
CALIBRATION_FORMAT = 2
