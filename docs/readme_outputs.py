"""Runs the README's test and writes what it prints into the README: ``python -m docs.readme_outputs``.

It takes minutes, PyTorch, and a machine with nothing else to do. ``tests/plugin/test_readme.py`` fails when the tool's
output no longer reads like the README's; then run this again.
"""

import argparse
import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
README = ROOT / "README.md"
# PyTorch whose steps take 20 % longer, under a name of its own.
SLOWER = ("-p", "tests.doubles.pytorch_twice", "--dlbench-ab", "pytorch,pytorch-slow")
RUNS = {"passes": ("--dlbench-frameworks", "pytorch"), "regresses": SLOWER}
# What is shown: of a session that passes the plugin's own section, of a regression the failure of the test.
SHOWN = {
    "passes": re.compile(r"= dlbench =+\n(.*)", re.DOTALL),
    "regresses": re.compile(r"^(regressed: training-.*?)^to run it again", re.DOTALL | re.MULTILINE),
}


def example() -> str:
    """The README's test."""
    return re.findall(r"```python\n(.*?)```", README.read_text(encoding="utf-8"), re.DOTALL)[0]


def shown(name: str) -> str:
    """What the README has as the output of a run."""
    text = README.read_text(encoding="utf-8")
    return re.findall(rf"<!-- output: {name} -->\n+```text\n(.*?)```", text, re.DOTALL)[0]


def output(name: str, *more: str) -> str:
    """The part that is shown of what pytest prints of the README's test; raises SystemExit if it is not there."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "test_training.py").write_text(example(), encoding="utf-8")
        command = [
            sys.executable,
            "-m",
            "pytest",
            "-q",
            "--rootdir",
            folder,
            "-p",
            "no:cacheprovider",
            *RUNS[name],
            *more,
        ]
        environment = {"PYTHONPATH": str(ROOT), "COLUMNS": "100"}
        # The variables of this process, so that the user's cache and proxy are used.
        done = subprocess.run(
            ["env", *(f"{key}={value}" for key, value in environment.items()), *command],
            cwd=folder,
            capture_output=True,
            text=True,
            check=False,
        )
    if not (found := SHOWN[name].search(done.stdout)):
        raise SystemExit(f"this run shows nothing that {name}:\n{done.stdout}{done.stderr}")
    return interesting(found[1])


def interesting(text: str) -> str:
    """The lines without those that name a folder of this machine."""
    kept = [
        line.rstrip() for line in text.splitlines() if not re.match(r"journal: |FAILED |=+ short test summary", line)
    ]
    return "\n".join(kept).strip("\n") + "\n"


def write(name: str, text: str) -> None:
    """Replace one output in the README."""
    page = README.read_text(encoding="utf-8")
    marker = f"<!-- output: {name} -->"
    before, after = page.split(marker)
    after = re.sub(r"\n+```text\n.*?```", lambda _: f"\n\n```text\n{text}```", after, count=1, flags=re.DOTALL)
    README.write_text(before + marker + after, encoding="utf-8")


def main() -> None:
    """Both outputs, or those that are named."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", choices=[*RUNS, []], help="passes, regresses [both].")
    parser.add_argument("--pytest", default="", help="More arguments for pytest, in one word.")
    asked = parser.parse_args()
    for name in asked.names or RUNS:
        write(name, output(name, *asked.pytest.split()))


if __name__ == "__main__":
    main()
