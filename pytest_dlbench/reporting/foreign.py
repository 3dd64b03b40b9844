r"""The one place where text of workers, records, baselines and the environment is made harmless before it is shown.

A terminal acts on control characters, a CI service on commands in a log, a reader on marks that reorder or hide text.
All of them are shown as the escapes of a Python string, ``\x1b`` or ``\u202e``, so that a reader sees what was there.
Escaping twice changes nothing.
"""

import re
from collections.abc import Iterable
from typing import Any

from pytest_dlbench.records import codec

# Without a visible shape, although Python calls them printable: joiners, fillers, variation selectors.
HIDDEN = frozenset(
    map(
        chr,
        (
            *(0x034F, 0x115F, 0x1160, 0x17B4, 0x17B5, 0x2800, 0x3164, 0xFFA0),
            *range(0x180B, 0x1810),
            *range(0xFE00, 0xFE10),
            *range(0xE0100, 0xE01F0),
        ),
    )
)
# GitHub reads "::error" only at the start of a line, and "##[error]", as Azure and TeamCity do theirs, anywhere. A
# section of GitLab's log also needs a carriage return, which a runner with a terminal adds to every line.
COMMAND = re.compile(r"^ *:(?=:)|#(?=#\w*\[)|section_(?:start|end):")
IN_JSON = re.compile(r"#(?=#\w*\[)|(?<=section_start):|(?<=section_end):")
MARKDOWN = frozenset(r"\`*_[]|~#$")
# What a spreadsheet takes for the start of a formula, also after spaces and in its full-width form.
FORMULA = re.compile(r" *[=+\-@\uFF1D\uFF0B\uFF0D\uFF20]")
TAB = "    "


def line(text: str) -> str:
    """One line: nothing in it acts on a terminal or a CI log, line breaks included."""
    shown = text if text.isascii() and text.isprintable() else "".join(map(_sign, text))
    return COMMAND.sub(_disarmed, shown)


def lines(texts: Iterable[str]) -> list[str]:
    """Each as one line."""
    return [line(text) for text in texts]


def block(text: str) -> str:
    """Text that may have several lines."""
    return "\n".join(map(line, text.replace("\r\n", "\n").split("\n")))


def markdown(text: str) -> str:
    """One line within Markdown, which may contain HTML."""
    escaped = line(text).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return "".join(f"\\{sign}" if sign in MARKDOWN else sign for sign in escaped)


def cell(text: str) -> str:
    """A text cell of a CSV file: a spreadsheet shows it, and computes nothing."""
    shown = line(text)
    return f"'{shown}" if FORMULA.match(shown) else shown


def in_json(document: str) -> str:
    """A JSON document with the same data, in JSON's own escapes."""
    return "\n".join(map(_json_line, document.split("\n")))


def json_file(record: Any) -> bytes:
    """A sorted, indented JSON document of a record."""
    return in_json(codec.encode_file(record).decode()).encode()


def _sign(sign: str) -> str:
    if sign.isprintable() and sign not in HIDDEN:
        return sign
    return TAB if sign == "\t" else sign.encode("unicode_escape").decode()


def _disarmed(command: re.Match[str]) -> str:
    """The command without its effect: its last sign as an escape."""
    return f"{command[0][:-1]}\\x{ord(command[0][-1]):02x}"


def _json_line(text: str) -> str:
    if not (text.isascii() and text.isprintable()):
        text = "".join(sign if sign.isprintable() and sign not in HIDDEN else _json_escape(sign) for sign in text)
    return IN_JSON.sub(lambda command: _json_escape(command[0]), text)


def _json_escape(sign: str) -> str:
    r"""``\uXXXX``, twice for signs beyond 16 bits."""
    units = sign.encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[at]:02x}{units[at + 1]:02x}" for at in range(0, len(units), 2))
