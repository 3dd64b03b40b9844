"""Text that does something where it is shown: to a terminal, a CI log, Markdown, a page, a reader, a spreadsheet."""

TEXT = (
    "\x1b[31mred\x1b]0;title\x07\x9b2J\r\n"
    "::error file=a.py::forged\n"
    "  ::warning::forged\n"
    "##[error]forged ##vso[task.complete]forged\n"
    "section_start:1:forged\r\x1b[0K\n"
    "<script>window.hacked=1</script>|`*_forged_*`\x00\x7f"
    "\u202edesrever\u202c\u2066\u200fa\u200bb\ufeff\u00ad\u2028\u2029\u3164\U000e0041\ufe0f"
)
"""Also ends in signs that have no shape."""

NAME = TEXT.replace("\n", "\u0085").replace("/", "").replace("\0", "")
"""The same for the name of a file."""


def acted_on(output: str) -> list[str]:
    """The lines of an output that a terminal or a CI service would act on, or that hide something."""
    return [line for line in output.split("\n") if not line.isprintable() or _is_command(line) or "\u3164" in line]


def _is_command(line: str) -> bool:
    return line.lstrip().startswith("::") or any(sign in line for sign in ("##[", "##vso[", "section_start:"))
