"""What CI runs of the pages: every command that they show, or the reason why not."""

import re
import subprocess
import sys

import pytest

from tests.ci.conftest import ROOT

sys.path.insert(0, str(ROOT / ".ci"))
import recipes

PAGE = """
# A page

Save this as `a.py`:

```python
print("saved")
```

An example:

```python
print("not saved")
```

```sh
python a.py      # a comment
```

<!-- not run by CI: it takes hours -->

```sh
sleep 9999
```

```text
output
```
"""


def test_the_commands_of_a_page_run_in_their_order(tmp_path):
    (tmp_path / "page.md").write_text(PAGE)
    script = recipes.script(tmp_path / "page.md")
    done = subprocess.run(["bash", "-eu", "-c", script], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stdout == "saved\nnot run: it takes hours\n"


def test_a_page_without_commands_is_an_error(tmp_path):
    (tmp_path / "page.md").write_text("# Nothing\n")
    with pytest.raises(ValueError, match=r"page\.md: no command was found"):
        recipes.script(tmp_path / "page.md")


def test_the_first_tutorial_is_run_except_for_what_says_why():
    page = ROOT / "docs" / "tutorials" / "getting-started.md"
    script = recipes.script(page)
    blocks = re.findall(r"```sh\n(.*?)```", page.read_text(), re.DOTALL)
    missing = [block for block in blocks if block not in script]
    assert len(missing) == script.count("not run: ") == 1
    assert "2.12.0" in missing[0]
    assert "cat >test_first.py" in script


@pytest.mark.parametrize("name", ["github/nightly.yml", "gitlab/nightly.yml", "gitlab/version-bump.yml"])
def test_the_commands_of_a_workflow_are_those_that_install_and_call_us(name):
    lines = recipes.script(ROOT / "docs" / "ci" / name).splitlines()
    assert lines[0].startswith("pip install ")
    assert any(line.startswith("pytest bench ") for line in lines)
    assert not any(line.startswith("git ") for line in lines)


def test_every_page_that_ci_runs_is_there():
    named = re.findall(r"docs/[\w./-]+\.(?:md|yml)", (ROOT / ".ci" / "run").read_text())
    assert "docs/tutorials/getting-started.md" in named
    assert all((ROOT / name).is_file() for name in named)
