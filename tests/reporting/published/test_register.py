"""The register of claims: complete, of existing things, and what the studies' own figures say."""

import gzip
from itertools import combinations
from pathlib import Path
from statistics import median

import pytest

from pytest_dlbench import DATASETS
from pytest_dlbench.judging import METRICS
from pytest_dlbench.judging.claim_cases import Named
from pytest_dlbench.judging.claim_rules import RULES, Alike, Effect, Order, Reaches, Scope, Steeper
from pytest_dlbench.judging.claims import Obstacle, decide, needs_gpu
from pytest_dlbench.records.outcomes import ClaimOutcome
from pytest_dlbench.reporting.published import placing, register, studies, verdicts
from pytest_dlbench.reporting.published.names import FRAMEWORKS
from pytest_dlbench.reporting.published.observing import observe
from pytest_dlbench.storing import Journal
from pytest_dlbench.zoo import MODELS
from tests.doubles.judged import both_sides, write_pairs

REAL = Path(__file__).parent / "records" / "lenet.jsonl.gz"
CLAIMS = register.register()
RULED = [(claim, rule) for claim in CLAIMS for rule in claim.rules]
# Published metrics by ours.
PUBLISHED = {
    "step_time": (
        "time_per_minibatch",
        "training_time_10_epochs",
        "training_time_3_epochs",
        "last_elapsed_time_in_log",
    ),
    "latency": ("avg_time_per_1000_images",),
    "throughput": ("training_speed_avg",),
    "accuracy": ("accuracy", "final_test_accuracy"),
    "peak_rss": ("memory_avg", "host_memory_avg"),
    "gpu_memory": ("gpu_memory_avg",),
    "gpu_power": ("gpu_power_avg",),
}


@pytest.fixture(scope="module")
def real(tmp_path_factory):
    """PyTorch and JAX on LeNet with batches of 32 and 64, on a machine that was busy: four cases of three runs."""
    path = tmp_path_factory.mktemp("real") / "lenet.jsonl"
    path.write_bytes(gzip.decompress(REAL.read_bytes()))
    return path


def test_there_are_claims_of_all_five_studies():
    assert len(CLAIMS) >= 60
    assert {claim.source for claim in CLAIMS} == set(studies.studies())
    assert len({claim.id for claim in CLAIMS}) == len(CLAIMS)


def test_every_kind_of_rule_decides_some_claim():
    assert {rule.kind for _, rule in RULED} == set(RULES)


@pytest.mark.parametrize(("claim", "rule"), RULED, ids=lambda one: getattr(one, "id", ""))
def test_rules_are_about_models_data_sets_and_frameworks_that_exist(claim, rule):
    assert set(rule.scope.models) <= set(MODELS)
    assert set(rule.scope.datasets) <= set(DATASETS)
    published = {figure.framework for figure in studies.figures(claim.source)}
    assert {name.published for name in rule.named} <= published
    assert all(name.ours == FRAMEWORKS.get(name.published, ()) for name in rule.named)


def test_every_claim_is_about_something_that_a_metric_measures():
    assert [claim.id for claim, rule in RULED if rule.scope.metric not in METRICS] == []


@pytest.mark.parametrize("claim", CLAIMS, ids=lambda claim: claim.id)
def test_what_decides_a_claim_is_stated(claim):
    for rule in claim.rules:
        assert all(name.published in verdicts.decided_by(rule) for name in rule.named)
        assert all(model in verdicts.decided_by(rule) for model in rule.scope.models)


@pytest.mark.parametrize(
    ("claim", "rule"),
    # Rosetta's names say what Keras and MXNet ran on.
    [(claim, rule) for claim, rule in RULED if isinstance(rule, Order) and claim.source != "rosetta"],
    ids=lambda one: getattr(one, "id", ""),
)
def test_an_order_is_stated_with_all_that_it_compares(claim, rule):
    """The fastest or slowest of an unnamed field would be read as that of the records' frameworks."""
    assert [name.published for name in rule.named if name.published not in claim.says] == []


@pytest.mark.parametrize(
    ("claim", "rule"),
    [(claim, rule) for claim, rule in RULED if isinstance(rule, Order)],
    ids=lambda one: getattr(one, "id", ""),
)
def test_an_order_is_that_of_the_studys_own_figures(claim, rule):
    """In most of the conditions under which the study has both; a claim that its table contradicts is misread."""
    for other in rule.others:
        ratios = list(_published(claim.source, rule, rule.first.published, other.published))
        assert ratios, f"{other.published} is nowhere next to {rule.first.published}"
        least = rule.at_least or 1.0 if rule.scope.metric != "accuracy" else rule.at_least or 0.0
        assert median(ratios) >= least, (other.published, ratios)


def _published(source, rule, first, other):
    """How many times better the first is, or by how many points, for each condition of the study."""
    found = {}
    for figure in studies.figures(source):
        wanted = "gpu" if figure.gpus == "1" else "cpu" if figure.gpus == "0" else "several"
        if (
            figure.metric in PUBLISHED[rule.scope.metric]
            and placing.our_model(figure) in rule.scope.models
            and wanted in rule.scope.devices
            and figure.framework in (first, other)
            and figure.number
            and _has_threads(rule, figure)
        ):
            key = (figure.model, figure.dataset, figure.device, figure.threads, figure.metric)
            found.setdefault(key, {})[figure.framework] = figure
    for (*_, metric), sides in found.items():
        if len(sides) == 2:
            one, two = (_number(source, sides[name]) for name in (first, other))
            if rule.scope.metric == "accuracy":
                yield (one - two) * (100 if metric == "final_test_accuracy" else 1)
            else:
                yield one / two if METRICS[rule.scope.metric].better == "higher" else two / one


def _has_threads(rule, figure):
    low, high = rule.scope.threads
    return not figure.threads.isdigit() or low <= int(figure.threads) <= high


def _number(source, figure):
    """The figure; of a log's elapsed time that of an epoch, because logs have different numbers of them."""
    if figure.metric != "last_elapsed_time_in_log":
        return figure.number
    place = ("framework", "model", "dataset", "device")
    epochs = next(
        other.number
        for other in studies.figures(source)
        if other.metric == "epochs_logged" and all(getattr(other, name) == getattr(figure, name) for name in place)
    )
    return figure.number / epochs


# The columns of the figures; learning rates and epochs are in notes only.
AXES = {"threads": "threads", "workers": "gpus", "batch_size": "batch_size"}


def of_kind(kind):
    found = [
        (claim, rule) for claim, rule in RULED if isinstance(rule, kind) and getattr(rule, "axis", "threads") in AXES
    ]
    return pytest.mark.parametrize(("claim", "rule"), found, ids=lambda one: getattr(one, "id", ""))


@of_kind(Alike)
def test_what_is_alike_is_so_in_the_studys_own_figures(claim, rule):
    """Under one of its conditions at least: some claims are about one of several GPUs."""
    for one, other in combinations(rule.frameworks, 2):
        ratios = list(_published(claim.source, rule, one.published, other.published))
        apart = [abs(r) if rule.scope.metric == "accuracy" else max(r, 1 / r) - 1 for r in ratios]
        assert min(apart) <= rule.within, (one.published, other.published, apart)


@of_kind(Reaches)
def test_a_level_is_that_of_the_studys_own_figures(claim, rule):
    metrics = {"accuracy": ("accuracy", "test_accuracy"), "iowait_share": ("cpu_iowait_avg",)}[rule.scope.metric]
    for name in rule.frameworks:
        found = [
            _percent(figure)
            for figure in studies.figures(claim.source)
            if figure.metric in metrics and figure.framework == name.published and _is_in(rule, figure)
        ]
        assert found, name.published
        assert rule.lower <= median(found) <= rule.upper, (name.published, found)


def _percent(figure):
    """The middle of a range such as 87-88."""
    ends = [float(end) for end in figure.value.split("-")]
    return sum(ends) / len(ends) * (100 if figure.unit == "fraction" else 1)


def _is_in(rule, figure):
    device = "cpu" if figure.gpus == "0" else "gpu"
    return placing.our_model(figure) in rule.scope.models and device in rule.scope.devices and figure.value


@of_kind(Effect)
def test_an_effect_is_that_of_the_studys_own_figures(claim, rule):
    for name in rule.frameworks:
        found = list(_changes(claim.source, rule, name.published))
        assert found, name.published
        change = median(found)
        if rule.direction == "same":
            assert max(change, 1 / change) - 1 <= rule.amount, found
        elif rule.scope.metric == "accuracy":
            assert (change if rule.direction == "higher" else -change) >= rule.amount, found
        else:
            assert (change >= rule.amount) if rule.direction == "higher" else (change <= 1 / rule.amount), found


@of_kind(Steeper)
def test_a_steeper_gain_is_that_of_the_studys_own_figures(claim, rule):
    ours = list(_changes(claim.source, rule, rule.first.published))
    for other in rule.others:
        assert median(ours) < median(_changes(claim.source, rule, other.published)), other.published


METRICS_OF_CHANGES = {
    "step_time": ("time_per_minibatch",),
    "throughput": ("training_speed_avg", "training_time_per_epoch", "training_time"),
    "accuracy": ("accuracy",),
    "peak_rss": ("memory_max",),
    "cpu_use": ("cpu_total_avg",),
}


def _changes(source, rule, framework):
    """From the smallest to the largest value of the axis: a ratio, or points."""
    low, high = getattr(rule, "between", None) or (0, float("inf"))
    found = {}
    for figure in studies.figures(source):
        at = getattr(figure, AXES[rule.axis])
        is_wanted = figure.metric in METRICS_OF_CHANGES[rule.scope.metric] and figure.framework == framework
        if is_wanted and at.isdigit() and low <= int(at) <= high and figure.number and _is_in(rule, figure):
            table = figure.note.split(";")[0]
            found.setdefault((figure.model, figure.device, figure.metric, table), {})[int(at)] = figure.number
    for (*_, metric, _), values in found.items():
        if len(values) > 1:
            small, large = values[min(values)], values[max(values)]
            is_time = metric.startswith("training_time")
            yield large - small if metric == "accuracy" else small / large if is_time else large / small


def test_flaws_of_the_cells_are_those_of_the_frameworks_that_a_claim_names():
    (claim,) = [claim for claim in CLAIMS if claim.id == "hkbu-lstm-cpu"]
    assert any("counts tokens" in flaw for flaw in claim.flaws)
    assert not any("40 epochs" in flaw for flaw in claim.flaws)


def test_without_records_no_claim_is_decided():
    found = register.verdicts(CLAIMS, ())
    assert {one.decision.outcome for one in found} == {ClaimOutcome.UNDECIDED}


def test_real_records_of_processors_decide_no_claim_about_gpus(real):
    found = register.verdicts(CLAIMS, observe([real]).cases)
    about_gpus = [one for one in found if all(map(needs_gpu, one.claim.rules))]
    assert about_gpus
    expected = {Obstacle.NO_GPU, Obstacle.NO_EQUIVALENT}
    assert {one.decision.obstacle for one in about_gpus} <= expected


def test_real_records_are_evidence_with_intervals(real):
    (found,) = register.verdicts([c for c in CLAIMS if c.id == "gatech-batch-any"], observe([real]).cases)
    by_case = {one.subject.split("-")[1]: one for one in found.decision.comparisons}
    assert by_case["pytorch"].outcome is ClaimOutcome.HOLDS
    assert by_case["jax"].outcome is ClaimOutcome.UNDECIDED
    assert (found.decision.outcome, found.decision.obstacle) == (ClaimOutcome.UNDECIDED, Obstacle.TOO_WIDE)


def test_settings_that_ran_in_pairs_are_evidence(tmp_path):
    sides = both_sides(
        "jax@learning_rate0.01", "jax@learning_rate0.1", settings=({"learning_rate": 0.01}, {"learning_rate": 0.1})
    )
    write_pairs(Journal(tmp_path), sides)
    rule = Effect(
        scope=Scope(metric="step_time", models=("tartu-mnist-cnn",)),
        axis="learning_rate",
        direction="same",
        amount=0.1,
        frameworks=(Named(published="JAX", ours=("jax",)),),
    )
    found = decide([rule], observe([tmp_path]).sides)
    assert found.outcome is ClaimOutcome.HOLDS
    assert [one.pairs for one in found.comparisons] == [3]


def test_the_register_is_documented_with_what_decides_each_claim():
    lines = list(verdicts.reference(CLAIMS))
    assert sum(line.startswith("| ") for line in lines) == len(CLAIMS) + len(studies.studies())


def test_markdown_has_a_row_for_each_claim(real):
    found = register.verdicts(CLAIMS, observe([real]).cases)
    lines = verdicts.markdown(found)
    assert sum(line.startswith("| ") for line in lines) == len(CLAIMS) + len(studies.studies())
    assert lines[0] == verdicts.summary(found)
