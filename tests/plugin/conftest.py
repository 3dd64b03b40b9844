"""A small suite that a NumPy double trains: real processes, real data, a second per case."""

import importlib
import pkgutil
import warnings
from collections.abc import Iterator, Sequence
from contextlib import suppress
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


class Suite:
    """A repository with the plugin installed."""

    def __init__(self, pytester: pytest.Pytester) -> None:
        self.pytester = pytester
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
        self._conftest = self.pytester.makeconftest(conftest).read_text()
        self.pytester.makepyfile(test_suite=test)

    def run(self, *arguments: str) -> pytest.RunResult:
        """Run pytest on the suite at scale smoke, with the plugins that the arguments need.

        In this process, which saves most of the time of so small a session. With other plugins, and with
        ``has_own_process``, in a fresh one.
        """
        plugins = {name for option, name in PLUGINS.items() if any(one.startswith(option) for one in arguments)}
        loaded = (text for name in plugins for text in ("-p", name))
        given = ("--dlbench-scale=smoke", *loaded, *arguments)
        # A conftest of the test's own may change the product, or end the process.
        is_usual = (self.path / "conftest.py").read_text() == self._conftest
        if plugins or self.has_own_process or not is_usual:
            return self.pytester.runpytest_subprocess(*given)
        # Filters of the outer session would make errors of warnings.
        with warnings.catch_warnings():
            warnings.resetwarnings()
            return self.pytester.runpytest_inprocess(*given)

    def save(self, *arguments: str) -> pytest.RunResult:
        """Save baselines, which must succeed."""
        result = self.run("--dlbench-save", "--dlbench-reason=first", *arguments)
        assert result.ret == 0, result.stdout.str()
        return result

    def baseline(self, case: str = "training-numpy-softmax-digits-cpu-smoke") -> Path:
        """The file of a saved baseline."""
        (path,) = self.path.glob(f"baselines/*/{case}.json")
        return path


@pytest.fixture(scope="session")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A cache folder for all tests: the digits are prepared once."""
    return tmp_path_factory.mktemp("cache")


@pytest.fixture
def suite(pytester: pytest.Pytester, cache: Path, monkeypatch: pytest.MonkeyPatch) -> Suite:
    monkeypatch.setenv("XDG_CACHE_HOME", str(cache))
    # Staged failures must not become annotations of the job that runs these tests.
    for name in ("GITHUB_ACTIONS", "GITHUB_STEP_SUMMARY"):
        monkeypatch.delenv(name, raising=False)
    return Suite(pytester)
