"""The pages: their examples work, and the generated reference leaves nothing out."""

import importlib.util
import json
import re
import shlex
import sys
from dataclasses import fields, is_dataclass
from inspect import getmembers
from pathlib import Path

import pytest

import pytest_dlbench as dlb
from pytest_dlbench import judging, records
from pytest_dlbench.cli import main
from pytest_dlbench.data import Dataset
from pytest_dlbench.environments import FRAMEWORKS
from pytest_dlbench.environments.supports import has_workers
from pytest_dlbench.judging import METRICS
from pytest_dlbench.model import layers
from pytest_dlbench.options import OPTIONS
from pytest_dlbench.planning import hookspecs
from tests.doubles.repositories import commit, create

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"


def script(name):
    """A module of docs/, which is no package."""
    spec = importlib.util.spec_from_file_location(name, DOCS / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def reference(tmp_path_factory):
    """The generated pages, by name."""
    module = script("reference")
    folder = tmp_path_factory.mktemp("docs") / "reference"
    with pytest.MonkeyPatch.context() as patch:
        # The pages are set to a width of their own.
        patch.setenv("COLUMNS", "80")
        module.write(folder)
    return {path.stem: path.read_text() for path in folder.iterdir()}


@pytest.fixture
def alone(pytester, monkeypatch):
    """Sessions load no plugins of others: these take half of the time of a short one."""
    # After pytester, which removes the options of the outer session.
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    monkeypatch.setenv("PYTEST_ADDOPTS", "-p dlbench")
    return pytester


def page(name):
    return (DOCS / name).read_text()


def snippets(name):
    return re.findall(r"```python\n(.*?)```", page(name), re.DOTALL)


def test_the_page_of_the_zoo_is_what_its_script_writes():
    assert (DOCS / "reference" / "zoo.md").read_text() == script("zoo_page").page(), "run python docs/zoo_page.py"


def test_every_public_name_is_in_the_reference_with_what_it_is(reference):
    meanings = {cells[1].strip(" `"): cells[2].strip() for cells in _rows(reference["api"])}
    assert all(meanings[name] for name in dlb.__all__), meanings


def test_every_option_is_in_the_reference_with_its_help(reference):
    assert all(f"`{option.flag}" in reference["options"] and option.help in reference["options"] for option in OPTIONS)


def test_every_field_of_every_record_is_in_the_reference(reference):
    sections = dict(re.findall(r"^## (\w+)\n(.*?)(?=^## |\Z)", reference["records"], re.MULTILINE | re.DOTALL))
    assert {"Run", "CaseResult", "Baseline"} <= sections.keys()
    for name, kind in getmembers(records, is_dataclass):
        assert all(f"| `{field.name}` |" in sections[name] for field in fields(kind)), name


def test_every_metric_is_in_the_reference(reference):
    assert all(f"| `{name}` |" in reference["metrics"] for name in METRICS)


def test_every_outcome_is_in_the_reference_with_what_it_does(reference):
    rows = {cells[1].strip(" `"): [cell.strip() for cell in cells[2:5]] for cells in _rows(reference["outcomes"])}
    assert [*rows][2:] == [*records.CaseOutcome]
    assert rows["regressed"] == ["fails", "fails", "fails"]
    assert rows["no_baseline"] == ["passes", "fails", "passes"]
    assert rows["improved"] == ["passes", "passes", "fails"]
    assert rows["skipped"] == ["skips", "fails", "skips"]


def _rows(page):
    return [line.split("|") for line in page.splitlines() if line.startswith("|")]


def test_the_page_about_the_gate_names_every_outcome_that_fails_it():
    gate = (DOCS / "reference" / "gate.md").read_text()
    assert [outcome for outcome in judging.GATE_FAILING if f"`{outcome}`" not in gate] == []


@pytest.mark.parametrize("page", ["how-to/environments.md", "explanation/frameworks.md"])
def test_the_tables_of_frameworks_name_each(page):
    text = (DOCS / page).read_text()
    trained = [name for name, framework in FRAMEWORKS.items() if not framework.unsupported]
    assert [name for name in trained if f"`{name}`" not in text] == []


def test_the_table_of_workers_has_every_framework_whose_builder_has_workers():
    rows = re.findall(r"(?m)^\| `([\w-]+)` \|", (ROOT / "docs/how-to/workers.md").read_text())
    having = (name for name, framework in FRAMEWORKS.items() if has_workers(framework))
    # It says itself why its workers cannot train.
    assert rows == sorted({*having} - {"pytorch-1.0"})


def test_the_page_of_the_vocabulary_names_every_layer():
    page = (DOCS / "reference" / "vocabulary.md").read_text()
    named = [name for name in layers.__all__ if hasattr(getattr(layers, name), "prefix")]
    assert [name for name in named if f"{name}(" not in page and f"`{name}`" not in page] == []


def test_every_hook_is_in_the_reference(reference):
    assert all(f"\n{name}(" in reference["plugin"] for name in vars(hookspecs) if name.startswith("pytest_dlbench_"))


@pytest.mark.parametrize("command", ["export", "compare", "history", "baseline prune", "env build", "data fetch"])
def test_commands_are_in_the_reference_with_their_help(reference, command):
    assert f"## dlbench {command}\n" in reference["commands"]
    assert f"usage: dlbench {command} " in reference["commands"]


def test_the_example_of_a_data_set_makes_the_arrays_that_it_declares():
    (code,) = (code for code in snippets("how-to/write-benchmarks.md") if "pytest_dlbench_datasets" in code)
    scope = {}
    exec(code, scope)
    (dataset,) = scope["pytest_dlbench_datasets"]()
    assert isinstance(dataset, Dataset)
    arrays = dataset.make()
    assert arrays.train_inputs.shape == (dataset.train_examples, *dataset.shape)
    assert arrays.test_inputs.shape == (dataset.test_examples, *dataset.shape)
    assert set(arrays.train_labels) == set(range(dataset.classes))


def test_the_first_example_collects_what_it_says(alone):
    (code,) = snippets("tutorials/getting-started.md")
    alone.makepyfile(test_training=code)
    axes = ("--dlbench-frameworks=pytorch", "--dlbench-models=lenet", "--dlbench-datasets=digits28")
    result = alone.runpytest_subprocess("--collect-only", "-q", *axes)
    result.stdout.fnmatch_lines(["test_training.py::test_training[[]pytorch-gatech-lenet-digits28-cpu[]]"])


def test_the_commands_of_getting_started_are_understood(alone):
    text = (DOCS / "tutorials" / "getting-started.md").read_text()
    shell = "\n".join(re.findall(r"```sh\n(.*?)```", text, re.DOTALL)).replace("\\\n", " ")
    commands = [shlex.split(line, comments=True) for line in shell.splitlines()]
    alone.makepyfile(test_training=snippets("tutorials/getting-started.md")[0])
    calls = [words[1:] for words in commands if words and words[0] == "pytest"]
    assert len(calls) > 2
    for arguments in calls:
        assert alone.runpytest_subprocess("--collect-only", "-q", *arguments).ret == 0, arguments
    for words in commands:
        if words and words[0] == "dlbench":
            assert main.parser().parse_args(words[1:]).run


def test_the_conftest_and_the_test_of_write_benchmarks_are_collected(alone):
    conftest, test = snippets("how-to/write-benchmarks.md")[:2]
    alone.makeconftest(conftest)
    alone.makepyfile(test_training=test)
    result = alone.runpytest_subprocess("--collect-only", "-q")
    result.stdout.fnmatch_lines(["test_training.py::test_training[[]pytorch-tartu-mnist-cnn-digits28-cpu[]]"])


PAGES = sorted(path.relative_to(ROOT).as_posix() for path in (*DOCS.rglob("*.md"), *ROOT.glob("*.md")))
GENERATED = {
    *(
        f"docs/reference/{name}.md"
        for name in ("api", "options", "commands", "plugin", "outcomes", "metrics", "records", "claims")
    ),
    "docs/explanation/architecture.svg",
}


@pytest.mark.parametrize("page", [page for page in PAGES if page not in GENERATED])
def test_every_file_that_a_page_links_to_is_there(page):
    links = re.findall(r"\]\(([^)#:\s]+)(?:#[^)]*)?\)", (ROOT / page).read_text())
    # CONTRIBUTING and the changelog are pages of the site, too, under other names.
    included = {"docs/contributing.md": ROOT / "CONTRIBUTING.md", "docs/changelog.md": ROOT / "CHANGELOG.md"}
    targets = [((ROOT / page).parent / link).resolve() for link in links]
    generated = {(ROOT / name).resolve() for name in (*GENERATED, *included)}
    assert [target for target in targets if not target.exists() and target not in generated] == []


def test_every_page_is_listed_once():
    listed = re.findall(r"^[a-z/-]+$", "\n".join(re.findall(r"```{toctree}(.*?)```", home(), re.DOTALL)), re.MULTILINE)
    pages = {page.removeprefix("docs/").removesuffix(".md") for page in {*PAGES, *GENERATED} if page[:5] == "docs/"}
    assert sorted(listed) == sorted(pages - {"index", "explanation/architecture.svg"})


def home():
    return (DOCS / "index.md").read_text()


def figures(page):
    return page.read_text().split("<!-- figures: ")[1].split("<!-- end of")[0]


def test_the_readme_and_the_home_page_promise_what_was_simulated():
    # Both are written by tox -e characteristics, as are the tables on the page about error rates.
    assert figures(ROOT / "README.md") == figures(DOCS / "index.md")
    rates = figures(DOCS / "explanation" / "error-rates.md")
    names, typical = (
        re.search(rf"^\| {first} \| (.*) \|$", rates, re.MULTILINE)[1].split(" | ") for first in ("noise", "typical")
    )
    found = names.index("+10 % at 5 %")
    assert names[found + 1] == "pairs"
    promised = " ".join(figures(ROOT / "README.md").split())
    assert f"**{typical[found]} of the time**, after {float(typical[found + 1]):.0f} pairs" in promised


def test_the_readme_shows_the_studys_main_picture_with_its_words():
    study = (DOCS / "study" / "index.md").read_text()
    (words,) = re.findall(r"^!\[(.*)\]\(pictures/ranks\.svg\)$", study, re.MULTILINE)
    picture = f'<img src="docs/study/pictures/ranks.svg" width="720" alt="{words}">'
    assert picture in (ROOT / "README.md").read_text(), f"the study has changed: {picture}"


def test_every_folder_of_the_package_is_in_the_drawing_and_has_a_row():
    architecture = script("architecture")
    found = (path.parent for path in ROOT.glob("pytest_dlbench/*/__init__.py"))
    # The suite, to which there is a link, is no layer.
    folders = {folder.name for folder in found if not folder.is_symlink()} | {"errors"}
    drawn = re.findall(r'font-weight="600" fill="#12263a">(\w+)<', architecture.drawing())
    page = (DOCS / "explanation" / "architecture.md").read_text()
    assert sorted(drawn) == sorted(folders)
    assert all(f"| `{folder}` |" in page for folder in folders)


def test_the_tutorial_on_programs_gates_its_loop(alone):
    program, test, *_ = snippets("tutorials/your-own-loop.md")
    (alone.path / "programs").mkdir()
    file = alone.path / "programs" / "softmax.py"
    file.write_text(program)
    alone.makepyfile(test_softmax=test)
    # Other tests may keep the machine busy.
    arguments = ("--dlbench-allow=invalid", "--dlbench-tolerance=peak_rss:50%")
    saved = alone.runpytest_subprocess(*arguments, "--dlbench-save", "--dlbench-reason=first baseline")
    assert saved.ret == 0, saved.stdout.str()
    file.write_text(program.replace("-= 0.5 *", "-= 0.005 *"))
    worse = alone.runpytest_subprocess(*arguments)
    assert worse.ret == 1
    worse.stdout.fnmatch_lines(["*accuracy *regressed*", "what changed in between:", "*file programs/softmax.py*"])


def test_the_tutorial_on_programs_compares_two_commits(alone):
    program, test, line, pinned, *_ = snippets("tutorials/your-own-loop.md")
    folder = create(alone.path)
    # A slow step is found in fewer of them, too.
    files = {"programs/softmax.py": program, "test_softmax.py": test.replace("steps=1000", "steps=400")}
    commit(folder, "Train a softmax", files)
    slower = program.replace("        inputs =", f"{line}        inputs =", 1)
    commit(folder, "Sort in each step", {"programs/softmax.py": slower})
    (command,) = re.findall(
        r"^pytest (--dlbench-ab rev:HEAD~1,rev:HEAD)$", page("tutorials/your-own-loop.md"), re.MULTILINE
    )
    # Other tests may keep the machine busy.
    arguments = ("--dlbench-allow=invalid", "--dlbench-tolerance=peak_rss:50%")
    worse = alone.runpytest_subprocess(*command.split(), *arguments)
    assert worse.ret == 1, worse.stdout.str()
    worse.stdout.fnmatch_lines(["*step_time *regressed*", "*Train a softmax* → *Sort in each step*"])
    alone.makepyfile(test_pinned=pinned)
    assert alone.runpytest_subprocess("--collect-only", "-q", "test_pinned.py").ret == 0


@pytest.mark.parametrize(("example", "figures"), [(2, set()), (4, {"last_loss"})])
def test_what_was_a_benchmark_of_another_tool_is_measured(alone, example, figures):
    codes = snippets("how-to/from-other-tools.md")
    alone.makepyfile(softmax=codes[0], test_training=codes[example])
    result = alone.runpytest_subprocess("--dlbench-runs=1", "--dlbench-allow=invalid", "--dlbench-json=session.json")
    assert result.ret == 0, result.stdout.str()
    records = [case["record"] for case in json.loads((alone.path / "session.json").read_text("utf-8"))["cases"]]
    assert [one["program"]["parameters"]["batch_size"] for one in records] == [64, 256]
    for (run,) in (one["runs"] for one in records):
        assert len(run["training"]["step_seconds"]) == 500
        assert run["training"]["losses"][-1] < run["training"]["losses"][0]
        assert (run["reported"] or {"values": {}})["values"].keys() == figures


def test_the_benchmarks_of_other_tools_on_their_page_run(pytester):
    softmax, benchmark, _, asv, _ = snippets("how-to/from-other-tools.md")
    pytester.makepyfile(softmax=softmax, test_training=benchmark, asv_training=asv)
    quick = ("--benchmark-max-time=0.01", "--benchmark-min-rounds=1")
    pytester.runpytest_subprocess(*quick).assert_outcomes(passed=2)
    code = "b = __import__('asv_training').Training(); b.setup(64); b.time_step(64); print(b.track_loss(64))"
    assert 0 < float(pytester.run(sys.executable, "-c", code).outlines[0]) < 2.5
