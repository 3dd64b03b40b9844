"""A small suite that a NumPy double trains: real processes, real data, a second per case."""

import importlib
import pkgutil
import shutil
import warnings
from collections.abc import Iterator, Sequence
from contextlib import suppress
from hashlib import sha256
from pathlib import Path

import pytest

import pytest_dlbench

REPOSITORY = Path(__file__).parent.parent.parent
BUILDERS = REPOSITORY / "tests" / "doubles" / "builders"

CONFTEST = """
from pathlib import Path
import pytest
from pytest_dlbench.environments import Framework
from pytest_dlbench.model import SGD, Conv2D, Dense, Flatten, Model, Recipe, SoftmaxCrossEntropy

HEAD, RECIPE = SoftmaxCrossEntropy(classes=10), Recipe(batch_size=32, epochs=2, optimizer=SGD({rate}, momentum=0.5))
FLAT = Model(name="softmax", family="fcn", sources=("tartu",), input_shape=(1, 8, 8), head=HEAD, recipe=RECIPE,
             layers=(Flatten(), Dense(10)))
DEEP = Model(name="two-layers", family="cnn", input_shape=(1, 8, 8), head=HEAD, recipe=RECIPE,
             layers=(Flatten(), Dense(16), Dense(10)))
DEEPER = Model(name="three-layers", family="cnn", input_shape=(1, 8, 8), head=HEAD, recipe=RECIPE,
               layers=(Flatten(), Dense(16), Dense(16), Dense(10)))
CONV = Model(name="unknown-to-the-double", family="cnn", input_shape=(1, 8, 8), head=HEAD, recipe=RECIPE,
             layers=(Conv2D(4, 3), Flatten(), Dense(10)))

def pytest_dlbench_frameworks():
    return [Framework(name=name, builder=builder, folders=(Path({folder!r}),))
            for name, builder in {frameworks!r}.items()]

def pytest_dlbench_models():
    return [FLAT, DEEP, DEEPER, CONV]

@pytest.fixture(params={names!r})
def framework(request):
    return request.param

@pytest.fixture(params={models!r})
def model(request):
    return request.param

@pytest.fixture(params=["digits"])
def dataset(request):
    return request.param
"""

TEST = """
def test_training(dlbench, framework, model, dataset, device):
    dlbench.train(framework, model, dataset, device)
"""


# The plugin of each option.
PLUGINS = {"-n": "xdist", "--reruns": "rerunfailures"}


@pytest.fixture(autouse=True)
def few_plugins(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    """Inner sessions load only this plugin and those that a test names, which halves their startup."""
    # After pytester, which removes the options of the outer session.
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    monkeypatch.setenv("PYTEST_ADDOPTS", "-p dlbench -p tests.doubles.known_speed")
    monkeypatch.setenv("PYTHONPATH", str(REPOSITORY))


@pytest.fixture(scope="session", autouse=True)
def loaded() -> None:
    """Load what sessions load late: pytester forgets the modules of an inner session, and NumPy loads only once."""
    for name in loaded_late():
        # Sessions do not load what is not installed either.
        with suppress(ImportError):
            importlib.import_module(name)


def loaded_late() -> Iterator[str]:
    """The names of modules."""
    yield from ("numpy.fft", "pandas", "scipy.stats")
    for module in pkgutil.walk_packages(pytest_dlbench.__path__, "pytest_dlbench."):
        if not module.name.startswith("pytest_dlbench.bench"):
            yield module.name


def run_here(pytester: pytest.Pytester, *arguments: str) -> pytest.RunResult:
    """Run pytest in this process."""
    # Filters of the outer session would make errors of warnings.
    with warnings.catch_warnings():
        warnings.resetwarnings()
        return pytester.runpytest_inprocess(*arguments)


class Suite:
    """A repository with the plugin installed."""

    def __init__(self, pytester: pytest.Pytester, saved: Path) -> None:
        self.pytester, self._saved = pytester, saved
        self.path = pytester.path
        self.has_own_process = False
        self.write()

    def write(
        self,
        *,
        builder: str = "clocked",
        models: Sequence[str] = ("softmax",),
        more: dict[str, str] | None = None,
        rate: float = 0.1,
        test: str = TEST,
    ) -> None:
        """Write or rewrite the suite: one framework named numpy, and ``more``."""
        frameworks = {"numpy": builder, **(more or {})}
        conftest = CONFTEST.format(
            folder=str(BUILDERS), frameworks=frameworks, names=list(frameworks), models=list(models), rate=rate
        )
        self.conftest = conftest
        self.pytester.makepyfile(test_suite=test)

    @property
    def conftest(self) -> str:
        """The text of the conftest. Set here, it must change nothing but its session, which stays in this process."""
        return (self.path / "conftest.py").read_text()

    @conftest.setter
    def conftest(self, text: str) -> None:
        self.pytester.makeconftest(text)
        self._conftest = self.conftest

    def run(self, *arguments: str) -> pytest.RunResult:
        """Run pytest on the suite at scale smoke, with the plugins that the arguments need.

        In this process, which saves most of the time of so small a session. With other plugins, with
        ``has_own_process``, and with a conftest that was not set by this class, in a fresh one.
        """
        plugins = {name for option, name in PLUGINS.items() if any(one.startswith(option) for one in arguments)}
        loaded = (text for name in plugins for text in ("-p", name))
        return self.run_exactly("--dlbench-scale=smoke", *loaded, *arguments, is_fresh=bool(plugins))

    def run_exactly(self, *arguments: str, is_fresh: bool = False) -> pytest.RunResult:
        """Run pytest with these arguments only, in the process that ``run`` describes."""
        # A conftest that a test wrote itself may change the product, or end the process.
        if is_fresh or self.has_own_process or self.conftest != self._conftest:
            return self.pytester.runpytest_subprocess(*arguments)
        return run_here(self.pytester, *arguments)

    def save(self, *arguments: str) -> pytest.RunResult:
        """Save baselines, which must succeed."""
        result = self.run("--dlbench-save", "--dlbench-reason=first", *arguments)
        assert result.ret == 0, result.stdout.str()
        return result

    def saved_earlier(self) -> None:
        """What ``save`` leaves in a suite without baselines. Trained once for the same files, and then copied."""
        files = self.conftest + (self.path / "test_suite.py").read_text()
        kept = self._saved / sha256(files.encode()).hexdigest()
        if kept.exists():
            shutil.copytree(kept, self.path, dirs_exist_ok=True)
            return
        self.save()
        for name in ("baselines", ".dlbench"):
            shutil.copytree(self.path / name, kept / name)

    def baseline(self, case: str = "training-numpy-softmax-digits-cpu-smoke") -> Path:
        """The file of a saved baseline."""
        (path,) = self.path.glob(f"baselines/*/{case}.json")
        return path


@pytest.fixture(scope="session")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A cache folder for all tests: the digits are prepared once."""
    return tmp_path_factory.mktemp("cache")


@pytest.fixture(scope="session")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder for baselines that several tests begin with."""
    return tmp_path_factory.mktemp("saved")


@pytest.fixture
def suite(pytester: pytest.Pytester, cache: Path, saved: Path, monkeypatch: pytest.MonkeyPatch) -> Suite:
    monkeypatch.setenv("XDG_CACHE_HOME", str(cache))
    # Staged failures must not become annotations of the job that runs these tests.
    for name in ("GITHUB_ACTIONS", "GITHUB_STEP_SUMMARY"):
        monkeypatch.delenv(name, raising=False)
    return Suite(pytester, saved)
