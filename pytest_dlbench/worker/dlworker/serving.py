"""Serves one driver until it sends close or disconnects: one answer to each request, whatever fails."""

import atexit
import os
import select
import signal
import sys
import threading
import traceback

from dlworker.protocol import VERSION, Channel, RequestError, encode, required

try:
    import ctypes
except ImportError:  # a Python that was built without libffi
    ctypes = None

PR_SET_PDEATHSIG = 1
OTHER_GPU = ("no kernel image is available", "invalid device function", "cudaerrornokernelimagefordevice")


def die_with_driver(request_fd):
    """Have the kernel kill this process when the driver dies, even if it is stopped or never releases the GIL."""
    die_with_parent()
    # The driver may have died before.
    if hung_up(request_fd, 0):
        end()


def die_with_parent():
    """Have the kernel kill this process when the one that started it dies."""
    if ctypes and sys.platform.startswith("linux"):
        # In fact when the thread dies that started this process; that thread waits for it.
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)


def exit_with_driver(request_fd, is_closing):
    """End this process when the driver's end of the pipe closes, even in the middle of training."""
    hung_up(request_fd, None)
    if not is_closing.is_set():
        end()


def hung_up(request_fd, milliseconds):
    """Whether the driver's end of the pipe closes within that time; without a limit this waits for it."""
    watch = select.poll()
    # No event is requested: poll always reports a hang-up, and a thread blocked in the kernel costs nothing.
    watch.register(request_fd, 0)
    return bool(watch.poll(milliseconds))


def end():
    """End this process and those that it started."""
    # Started by hand, it may be in the group of a shell.
    if os.getpgrp() == os.getpid():
        os.killpg(0, signal.SIGKILL)
    os._exit(1)


def finish():
    """End this process as Python does, except that its modules are not taken apart: of a framework's, that takes 1 s.

    Its threads and functions for the exit are waited for, as usual.
    """
    threading._shutdown()
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    os._exit(0)


def main(request_fd, reply_fd, perform):
    """Answer requests one by one; ``perform`` returns the fields of an answer, or raises."""
    die_with_driver(request_fd)
    is_closing = threading.Event()
    threading.Thread(target=exit_with_driver, args=(request_fd, is_closing), daemon=True).start()
    channel = Channel(request_fd, reply_fd)
    while True:
        request = channel.receive()
        if request is None:
            return
        answer = serve(perform, request)
        if request.get("op") == "close":
            # From now on it ends by itself, in the time that the driver gives it.
            is_closing.set()
            channel.send(answer)
            return
        channel.send(answer)


def serve(perform, request):
    """The encoded answer to one request; any error in a framework is an answer too."""
    try:
        return encode(dict(perform(request), status="done"))
    except RequestError as error:
        return _failed(error.kind, str(error))
    except MemoryError as error:
        return _failed("out_of_memory", "MemoryError: %s" % error)
    except Exception as error:  # The boundary: a framework can raise anything, and the driver must learn of it.
        return _failed(kind_of(error), "%s: %s" % (type(error).__name__, error))


def chosen(operations, request, ready, needs):
    """The operation that a request names; ``ready`` is, by operation, what others need of it, None until it is done."""
    op = required(request, "op")
    if op not in operations:
        known = ", ".join(sorted(operations))
        raise RequestError("bad_request", "unknown op %r; this worker (protocol %d) knows %s" % (op, VERSION, known))
    if op in needs and ready[needs[op]] is None:
        raise RequestError("bad_request", "op %r comes after %r" % (op, needs[op]))
    return operations[op]


def kind_of(error):
    """The kind of failure that any error of a framework is."""
    if is_out_of_memory(error):
        return "out_of_memory"
    # CUDA's words for a GPU that is newer, or older, than every one that the framework was compiled for.
    return "unsupported" if any(sign in str(error).lower() for sign in OTHER_GPU) else "error"


def is_out_of_memory(error):
    """Whether an error says that memory ran out."""
    # Frameworks have their own exception classes for this, with no common base; their messages are more alike.
    text = ("%s %s" % (type(error).__name__, error)).lower()
    return any(
        sign in text
        for sign in ("out of memory", "outofmemory", "can't allocate memory", "resource_exhausted", "oom when")
    )


def _failed(kind, message):
    return encode({"status": "failed", "kind": kind, "message": message, "traceback": traceback.format_exc()})
