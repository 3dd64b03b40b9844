"""How much of TensorFlow's libraries is resident after its import.

Prints MiB of the two largest libraries, of all mapped files, and of all other memory. The libraries are dropped from
the page cache first: how many of their pages are resident depends on how they came there.
"""

import importlib.util
import os
import pathlib
import re

folder = pathlib.Path(importlib.util.find_spec("tensorflow").origin).parent
for library in folder.rglob("*.so*"):
    with library.open("rb") as file:
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import tensorflow as tf  # noqa: E402

status = pathlib.Path("/proc/self/status").read_text("utf-8")
resident = {name: int(size) for name, size in re.findall(r"Rss(\w+):\s+(\d+) kB", status)}
of_files = dict.fromkeys(("libtensorflow_cc.so.2", "libtensorflow_framework.so.2"), 0)
name = ""
for line in pathlib.Path("/proc/self/smaps").read_text("utf-8").splitlines():
    if found := re.match(r"[0-9a-f]+-[0-9a-f]+ .{4} \S+ \S+ \d+ *(.*)", line):
        name = pathlib.Path(found[1]).name
    elif line.startswith("Rss:") and name in of_files:
        of_files[name] += int(line.split()[1])
print(f"TensorFlow {tf.__version__}")
for what, size in {**of_files, "all mapped files": resident["File"], "other memory": resident["Anon"]}.items():
    print(f"{what}: {size // 1024} MiB")
