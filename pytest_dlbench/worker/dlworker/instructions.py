"""Instructions of this process by the processor's own counters, for as long as they are asked for (perf_event_open).

Nothing is counted before and after, so that it costs a timed step nothing.
"""

import os
import platform
import struct

try:
    import ctypes
except ImportError:  # a Python that was built without libffi
    ctypes = None

# The system call's number by machine.
CALLS = {"x86_64": 298, "aarch64": 241, "ppc64le": 319, "s390x": 331, "riscv64": 241}
HARDWARE, INSTRUCTIONS = 0, 1
# perf_event_attr of Linux 4.1, its fifth version: type, size, config, period, sample and read formats, flags, others 0.
ATTRIBUTES, SIZE = "=IIQQQQQ", 112
# Threads that start meanwhile, too (inherit), without the kernel and the hypervisor: more needs privileges.
FLAGS = 1 << 1 | 1 << 5 | 1 << 6
PARANOID = "/proc/sys/kernel/perf_event_paranoid"


class UncountedError(Exception):
    """Instructions cannot be counted here; the message is the reason."""


def instructions(run):
    """How many instructions all threads of this process execute while ``run()`` does; UncountedError if unknown."""
    counters = []
    try:
        for thread in os.listdir("/proc/self/task"):
            _open(int(thread), counters)
        before = _total(counters)
        run()
        return _total(counters) - before
    except OSError as error:
        raise UncountedError("the kernel counts no instructions: %s%s" % (error.strerror, _permission()))
    finally:
        for counter in counters:
            os.close(counter)


def _open(thread, counters):
    """Add a counter of this thread, unless it has ended since it was listed."""
    try:
        counters.append(_counter(thread))
    except ProcessLookupError:
        pass


def _counter(thread):
    """The descriptor of a counter of this thread."""
    number = CALLS.get(platform.machine())
    if ctypes is None or number is None:
        raise UncountedError("counting instructions needs ctypes and a known processor, not %s" % platform.machine())
    library = ctypes.CDLL(None, use_errno=True)
    attributes = struct.pack(ATTRIBUTES, HARDWARE, SIZE, INSTRUCTIONS, 0, 0, 0, FLAGS).ljust(SIZE, b"\0")
    found = library.syscall(number, attributes, thread, -1, -1, 0)
    if found < 0:
        error = ctypes.get_errno()
        raise OSError(error, os.strerror(error))
    return found


def _total(counters):
    return sum(struct.unpack("=Q", os.read(counter, 8))[0] for counter in counters)


def _permission():
    """The kernel's own setting, which may be why."""
    try:
        with open(PARANOID, encoding="ascii") as file:
            return " (perf_event_paranoid is %s)" % file.read().strip()
    except OSError:
        return ""
