"""Finds words that an American or British engineer would stumble over, and suggests the standard term.

    python tests/language.py                  # everything
    python tests/language.py pytest_dlbench   # these paths only

The exit status is 1 if there is any finding.

Checked are the text of pages and, of Python files, strings, docstrings and comments. Code in backticks, identifiers,
options and links are not. To ban a word, add a row to TERMS; where a word is right, add a row to ALLOWED with the
reason.
"""

import argparse
import io
import re
import sys
import tokenize
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

ROOT = Path(__file__).parents[1]
DOCUMENTATION = ("docs", "README.md", "CHANGELOG.md", "CONTRIBUTING.md")
CODE = (
    *("pytest_dlbench", "bench", "tests", "examples", ".ci"),
    *("conftest.py", "pyproject.toml", "tox.ini", "toxfile.py"),
)
SHARE = r"\d[\d.,]*(?:\s+(?:to|of|in|and)\s+\d[\d.,]*)?"
TERMS: tuple[tuple[str, str], ...] = (
    (r"\btold\b", "reported, listed, stated"),
    (r"\btell(?:s|ing)?\b", "report, show, say, distinguish"),
    (r"\bforetold\b", "predicted"),
    (r"\bbehind\b", "after, past; or name the relation"),
    (r"\bbeside\b", "alongside, next to, as well as"),
    (r"\b(?:is|are|was|were|be)\s+not\s+here\b|,\s+not\s+here\b", "not installed, not available"),
    (r"\b(?:is|are)\s+here\b(?!\s+(?:to|for))", "is installed, is available"),
    (r"\b(?:left|leave|leaves|leaving)\s+out\b", "skip, omit"),
    (r"\bwrong\s+calls?\b", "usage error"),
    (r"\b(?:old|new)\s+sides?\b", "baseline, candidate"),
    (r"(?<![-\w])arms?\b", "baseline and candidate, sides"),
    (r"\b(?:take|takes|taking|took)\s+turns\b", "alternate"),
    (r"\b(?:a|an|its|each|every|next|own|other|another|first|last|whose|their)\s+turns?\b", "slot, round; scheduling"),
    (r"\bset\s+aside\b", "deferred"),
    (r"\bforecast(?:s|ed|ing)?\b", "estimate"),
    (r"\bobservers?\b", "sampling overhead, sampler"),
    (r"(?<![-\w])shadow(?:s|ed|ing)?\b", "report-only"),
    (r"(?<![-\w])canar(?:y|ies)\b", "machine-speed control"),
    (r"(?<![-\w])anchor(?:s|ed)?\b", "reference session"),
    (r"\bimpossible\s+(?:figure|number|value)s?\b", "failed sanity check"),
    (r"\bdisqualif\w+", "invalid, invalidates"),
    (r"\bmilliards?\b", "billion"),
    (r"\bcrep(?:t|s)\b|\bcreeps?\b", "drifted, drifts"),
    (r"\bto\s+the\s+(?:worse|better)\b", "drifted down / up, worsened, improved"),
    (rf"\bin\s+(?:at\s+(?:most|least)\s+)?{SHARE}\s?%(?!\s+(?:of|step|incr))", "N % of cases, N % of the time"),
    (r",\s+for\s+(?:it|they|there|then|that|this|nobody|neither|otherwise|whoever)\s+\w+", "because"),
    (r",\s+for\s+(?:the|a|an|its|their)\s+(?:\w+\s+)?\w+\s+(?:is|are|was|were|has|have|does|do)\b", "because"),
    (
        r"\b(?:is|are|was|were|be|hold|holds|held)\s+held\s+against\b|\bhe?lds?\s+against\b",
        "compared with, checked against",
    ),
    (r"\bholds?\s+(?:it|them|that|this|\w+s)\s+against\b", "compares with, checks against"),
    (r"\bthe\s+least\s+(?:that|it|which|one)\b", "the minimum"),
    (r"\bas\s+they\s+be\b", "even if"),
    (r"\bnot\s+at\s+an\s+end\b", "unfinished"),
    (r"\bseldomer\b", "less often"),
    (r"\banew\b", "again, from scratch"),
    (r"\bto\s+be\s+had\b", "available"),
    (r"\b(?:is|are|was|were|not)\s+at\s+hand\b", "available"),
    (r"\bcr(?:y|ies)\s+wolf\b", "raises false alarms"),
    (r"\bby\s+heart\b", "memorise"),
    (r"\bbut\s+for\b", "except for"),
    (r"\bwhoever\b", "anyone who"),
    (r"\bso\s+many\b", "that many, N"),
    (r"\bin\s+all\b(?=\s*[:.;,)])", "in total"),
    (r"(?<![-/\w])(?:graphics\s+)?cards?\b(?!-)", "GPU"),
    (r"(?<![-/\w.])benches\b", "benchmarks"),
    (
        r"\b(?:lie|lies|lay|lain)\s+(?:in|at|on|under|there|apart|further|no\s+closer|flat)\b",
        "be, differ",
    ),
    (r"\b(?:is|are|was|be)\s+mended\b|\bmends?\b", "fix"),
    (r"\ba\s+(?:tenth|fifth|quarter|third)\s+(?:slower|longer|faster|quicker|more)\b", "10 % slower"),
    (r"\bquickest\s+tenth\b", "10 % quantile"),
    (r"\b(?:is|are)\s+(?:twice|thrice)\s+begun\b|\bwas\s+begun\b", "started"),
    (r"\bheld\s+(?:to|with)\s+the\b", "checked against"),
)
# Where a detector is written or described; nowhere else is "anchor" the literature's word for a box around a cell.
DETECTORS = (
    *(
        "docs/reference/vocabulary.md",
        "docs/reference/zoo.md",
        "docs/zoo_page.py",
        "pytest_dlbench/model/",
        "pytest_dlbench/worker/dlworker/",
    ),
    *("pytest_dlbench/zoo/detectors.py", "tests/worker/test_detection.py", "tests/zoo/test_zoo.py"),
)
# (path, a pattern that the finding's line matches, the reason)
ALLOWED: tuple[tuple[str, str, str], ...] = (
    ("tests/language.py", ".", "the list itself"),
    ("tests/test_language.py", ".", "examples of what the list finds"),
    ("pytest_dlbench/storing/baselines.py", r"\$\.anchor", "a field of the stored format"),
    ("tests/storing/test_baselines.py", r"\$\.anchor", "a field of the stored format"),
    ("pytest_dlbench/cli/baseline.py", r"row\['anchor'\]", "a key of the JSON answer"),
    ("pytest_dlbench/cli/history.py", r"point\['told'\]", "a key of the JSON answer"),
    ("pytest_dlbench/judging/sequential.py", "SPREAD =", "a reason that journals store"),
    *((path, r"\b[Aa]nchors?\b", "a detector's boxes around cells") for path in DETECTORS),
)
SUFFIXES = {".py", ".md", ".toml", ".ini", ".yml", ".html", ".js", ".css", ".j2", ".sh"}
# Written when the site is built, from strings that are checked where they stand in the code.
GENERATED = {"api.md", "options.md", "commands.md", "plugin.md", "outcomes.md", "metrics.md", "records.md"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """A word, where it is, and what to write instead."""

    path: str
    line: int
    words: str
    use: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.words!r} -> {self.use}"


@dataclass(frozen=True, slots=True)
class Passage:
    """Text that a person reads, and the line on which it begins."""

    line: int
    text: str


PATTERNS = tuple((re.compile(pattern, re.IGNORECASE), use) for pattern, use in TERMS)


def findings(paths: tuple[str, ...] | list[str]) -> Iterator[Finding]:
    """Every banned word under the paths, in order."""
    for path in (file for name in paths for file in files(ROOT / name)):
        yield from in_text(path.relative_to(ROOT).as_posix(), path.read_text(encoding="utf-8"))


def files(path: Path) -> Iterator[Path]:
    """The files under a path that hold language."""
    found = sorted(path.rglob("*")) if path.is_dir() else [path]
    for file in found:
        hidden = any(part.startswith((".", "__")) for part in file.relative_to(path).parts[:-1])
        is_text = file.suffix in SUFFIXES or (path.name == ".ci" and not file.suffix)
        is_generated = file.name in GENERATED and file.parent.name == "reference"
        if file.is_file() and is_text and not hidden and not is_generated:
            yield file


def in_text(name: str, text: str) -> Iterator[Finding]:
    """Every banned word of one file."""
    lines = text.splitlines()
    for passage in passages(name, text):
        for pattern, use in PATTERNS:
            for match in pattern.finditer(passage.text):
                line = passage.line + passage.text.count("\n", 0, match.start())
                if not is_allowed(name, lines[line - 1]):
                    yield Finding(path=name, line=line, words=" ".join(match[0].split()), use=use)


def is_allowed(name: str, line: str) -> bool:
    """Whether ALLOWED has the line."""
    return any(name.startswith(path) and re.search(pattern, line) for path, pattern, _ in ALLOWED)


def passages(name: str, text: str) -> Iterator[Passage]:
    """The parts of a file that a person reads, with code and links blanked out."""
    if name.endswith(".py"):
        yield from (Passage(each.line, masked(each.text)) for each in python_passages(text))
    elif name == "CHANGELOG.md":
        yield Passage(1, masked(newest(text)))
    else:
        yield Passage(1, masked(re.sub(r"(?m)^\s*(?:#|//)(?=\s)", "", text)))


def newest(changelog: str) -> str:
    """The section of the release that is being written; earlier ones are history."""
    sections = re.split(r"(?m)^(?=## )", changelog)
    return "".join(sections[:2])


def masked(text: str) -> str:
    """Without code in backticks, options, commands, link targets and what braces insert; with as many lines."""
    for pattern in (
        r"``?[^`\n]+(?:\n[^`\n]+)?``?",
        r"\]\([^)\s]*\)",
        r"--[a-z][\w-]*",
        r"\bdlbench(?:[ ][a-z]+){1,2}",
        r"\{[\w.:!\[\]()]*\}",
    ):
        text = re.sub(pattern, lambda match: "\n" * match[0].count("\n") or "¤", text)
    return text


def python_passages(text: str) -> Iterator[Passage]:
    """Strings, with the neighbours that Python joins to them, and comments, with the lines that continue them."""
    tokens = [
        token
        for token in tokenize.generate_tokens(io.StringIO(text).readline)
        if token.type not in {tokenize.NL, tokenize.INDENT, tokenize.DEDENT}
    ]
    for kind, group in groupby(tokens, key=lambda token: token.type):
        if kind == tokenize.COMMENT:
            yield joined([(token.start[0], token.string.lstrip("#")) for token in group])
        elif kind == tokenize.STRING:
            passage = joined([(token.start[0], token.string) for token in group])
            # One word is a key or a name, which a stored format or an interface fixes.
            if " " in passage.text.strip():
                yield passage


def joined(parts: list[tuple[int, str]]) -> Passage:
    """One passage of several that follow each other, each on the line where it was."""
    first, text, last = parts[0][0], "", parts[0][0]
    for line, part in parts:
        text += "\n" * (line - last) + re.sub(r"""^[rRbBfF]*["']+|["']+$""", "", part)
        last = line + part.count("\n")
    return Passage(first, text)


def main() -> int:
    """Print every finding."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("paths", nargs="*", help="Files or folders of this repository [all].")
    paths = parser.parse_args().paths
    found = [*findings(paths or [name for name in (*DOCUMENTATION, *CODE) if (ROOT / name).exists()])]
    print(*found, sep="\n", end="\n" if found else "")
    print(f"{len(found)} findings", file=sys.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
