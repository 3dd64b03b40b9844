"""``python -m dlworker REQUEST_FD REPLY_FD``: serve one driver until it sends close or disconnects."""

import os
import select
import sys
import threading

from dlworker.operations import Session, serve
from dlworker.protocol import Channel


def exit_with_driver(request_fd):
    """End this process when the driver's end of the pipe closes, even in the middle of training."""
    watch = select.poll()
    # No event is requested: poll always reports a hang-up, and a thread blocked in the kernel costs nothing.
    watch.register(request_fd, 0)
    watch.poll()
    os._exit(1)


def main(request_fd, reply_fd):
    """Answer requests one by one."""
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
