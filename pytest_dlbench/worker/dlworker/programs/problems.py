"""What a program did wrong, in words for its author, with the frames of their own files."""

import mmap
import os
import re
import sys
import traceback

from dlworker.protocol import RequestError
from dlworker.serving import is_out_of_memory

WORKER = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
# Files below the root that nobody wrote there.
INSTALLED = re.compile(r"[/\\](site|dist)-packages[/\\]|[/\\]lib[/\\]python\d|^<")


class ProgramError(RequestError):
    """A program that does not keep to its interface."""

    def __init__(self, message):
        super().__init__("program", message)


def explained(error, root, doing):
    """The failure of a program as the answer to a request; ``doing`` is what the worker asked it for."""
    if isinstance(error, RequestError):
        return RequestError(error.kind, "\n".join([str(error)] + list(_frames(error, root))))
    kind = "out_of_memory" if isinstance(error, MemoryError) or is_out_of_memory(error) else "program"
    return RequestError(kind, "\n".join(["%s: %s" % (doing, _said(error))] + list(_frames(error, root))))


def is_own(file, root):
    """Whether a file is part of the user's repository."""
    path = os.path.abspath(file)
    return path.startswith(os.path.join(root, "")) and not INSTALLED.search(path[len(root) :])


def _said(error):
    if isinstance(error, SystemExit):
        return "it called sys.exit(%s), which would end the worker; return instead" % (error.code or "")
    if isinstance(error, KeyboardInterrupt):
        return "it raised KeyboardInterrupt"
    return "".join(traceback.format_exception_only(type(error), error)).strip()


def _frames(error, root):
    """The frames in the user's files, and the last one if it is elsewhere: where a library raised the error."""
    found = [frame for frame in traceback.extract_tb(error.__traceback__) if not _is_ours(frame[0])]
    # Not those in which Python itself looks for modules.
    found = [frame for frame in found if "importlib" not in frame[0]]
    for place, (file, line, function, text) in enumerate(found):
        if is_own(file, root):
            yield "  %s:%d in %s" % (os.path.relpath(file, root), line, function)
            if text:
                yield "    %s" % text
        elif place == len(found) - 1:
            yield "  raised in %s:%d in %s" % (_library(file), line, function)


def _is_ours(file):
    return os.path.abspath(file).startswith(os.path.join(WORKER, ""))


def _library(file):
    """A file's path below the folder from which it is imported."""
    folders = [os.path.join(folder, "") for folder in sys.path if folder and file.startswith(os.path.join(folder, ""))]
    return file[len(max(folders, key=len, default="")) :]


class Forks(object):
    """Notices children of the worker that a program forked and that return into it, as if they were the worker."""

    def __init__(self):
        self._worker = os.getpid()
        # Shared with all children.
        self._any = mmap.mmap(-1, 1)

    def check(self):
        """End this process if it is such a child; in the worker, raise ProgramError if there was one."""
        if os.getpid() != self._worker:
            self._any[0:1] = b"1"
            os._exit(1)
        if self._any[0:1] == b"1":
            raise ProgramError(
                "a process that the program forked returned into the worker, where it would train as well;"
                " end it with os._exit, or start it with multiprocessing"
            )
