"""``python -m dlworker REQUEST_FD REPLY_FD``: serve one driver until it sends close or disconnects."""

import os
import select
import signal
import sys
import threading

from dlworker.operations import Session, serve
from dlworker.protocol import Channel

try:
    import ctypes
except ImportError:  # a Python that was built without libffi
    ctypes = None

PR_SET_PDEATHSIG = 1


def die_with_driver(request_fd):
    """Have the kernel kill this process when the driver dies, even if it is stopped or never releases the GIL."""
    if ctypes and sys.platform.startswith("linux"):
        # In fact when the driver's thread dies that started this process; that thread waits for it.
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    # The driver may have died before.
    if hung_up(request_fd, 0):
        end()


def exit_with_driver(request_fd):
    """End this process when the driver's end of the pipe closes, even in the middle of training."""
    hung_up(request_fd, None)
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


def main(request_fd, reply_fd):
    """Answer requests one by one."""
    die_with_driver(request_fd)
    threading.Thread(target=exit_with_driver, args=(request_fd,), daemon=True).start()
    channel, session = Channel(request_fd, reply_fd), Session()
    while True:
        request = channel.receive()
        if request is None:
            return
        channel.send(serve(session, request))
        if request.get("op") == "close":
            return


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
