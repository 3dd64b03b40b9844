"""What was run, how, and what disturbed it: from the records alone."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from pytest_dlbench.environments.execution import AUTOTUNE_BY_THEMSELVES
from pytest_dlbench.judging.comparable import is_whole_recipe
from pytest_dlbench.judging.equivalence import of_framework
from pytest_dlbench.planning.sides import unlabelled
from pytest_dlbench.records import Run
from pytest_dlbench.records.cases import plain_name
from pytest_dlbench.reporting import cautions
from pytest_dlbench.reporting.charts import Measured
from pytest_dlbench.reporting.figures import significant
from pytest_dlbench.reporting.study.document import Paragraph, Section, Table
from pytest_dlbench.zoo import MODELS


@dataclass(frozen=True, slots=True, kw_only=True)
class Extent:
    """How much a study has, counted in its cases; of those ``shortened``, the scale ended training early."""

    frameworks: tuple[str, ...]
    models: tuple[str, ...]
    datasets: tuple[str, ...]
    scales: tuple[str, ...]
    threads: tuple[int, ...]
    seeds: tuple[int, ...]
    runs: int
    invalid: int
    disturbed: int
    cases: int
    shortened: int


def extent(cases: Sequence[Measured], baselines: Sequence[Measured] = ()) -> Extent:
    """The extent of all cases, with the runs and versions of what they were compared with."""
    everything = [*cases, *baselines]
    runs = [run for case in everything for run in case.judged.runs]
    return Extent(
        frameworks=_known(unlabelled(case.case) for case in everything),
        models=_known(case.case.model for case in cases),
        datasets=_known(case.case.dataset for case in cases),
        scales=_known(case.case.scale for case in cases),
        threads=tuple(sorted({case.case.threads for case in cases})),
        seeds=tuple(sorted({run.seed for run in runs})),
        runs=len(runs),
        invalid=sum(bool(run.invalid) for run in runs),
        disturbed=sum(_is_disturbed(run) for run in runs),
        cases=len(cases),
        shortened=sum(map(is_shortened, cases)),
    )


def is_shortened(case: Measured) -> bool:
    """Whether a training was shorter than the recipe of its network."""
    return not is_whole_recipe(case.case, case.context)


def _known(names: Iterable[str]) -> tuple[str, ...]:
    return tuple(sorted(set(names)))


def _is_disturbed(run: Run) -> bool:
    return bool(run.contention and run.contention.steps)


def many(number: int, what: str) -> str:
    """A number of things: ``1 run``, ``3 runs``."""
    return f"{number:,} {what}{'' if number == 1 else 's'}"


def what_was_run(cases: Sequence[Measured], baselines: Sequence[Measured] = ()) -> Section:
    """Networks, data, machine, versions and seeds."""
    found = extent(cases, baselines)
    machines = dict.fromkeys(case.context.machine for case in cases)
    lines = [
        f"networks: {', '.join(found.models)}; data sets: {', '.join(found.datasets)}",
        f"scale: {', '.join(found.scales)}; threads of each worker: {', '.join(map(str, found.threads))}",
        f"seeds: {', '.join(map(str, found.seeds))}; every run is a fresh process",
        *(
            f"machine: {one.name}, {one.cpu_model}, {many(one.cores, 'core')}, {one.memory_gib:g} GiB, {one.os_family}"
            for one in machines
        ),
        *_steps(cases),
    ]
    counts = f"{many(found.runs, 'run')} of {many(len(cases), 'case')}"
    text = f"{counts}; a case is a framework with a network and its data."
    versions = _tables([*cases, *baselines])
    return Section(title="What was run", blocks=(Paragraph(text=text, items=tuple(lines)), *versions))


def _steps(cases: Sequence[Measured]) -> Iterator[str]:
    for scale in dict.fromkeys(case.case.scale for case in cases):
        # A refused case has no steps.
        of_scale = [case.context for case in cases if case.case.scale == scale and case.context.steps]
        steps = sorted({context.steps for context in of_scale})
        batches = sorted({context.batch_size for context in of_scale if context.batch_size})
        if steps:
            of_batches = f", batches of {_range(batches)}" if batches else ""
            yield f"at scale {scale}: {_range(steps)} steps of a training{of_batches}"


def _range(numbers: Sequence[int]) -> str:
    if numbers[0] == numbers[-1]:
        return f"{numbers[0]:,}"
    return f"{numbers[0]:,} to {numbers[-1]:,}"


def _tables(cases: Sequence[Measured]) -> Iterator[Table]:
    rows = dict.fromkeys((unlabelled(case.case), _versions(run)) for case in cases for run in case.judged.runs)
    known = tuple(row for row in sorted(rows) if row[1])
    if known:
        yield Table(
            caption="Versions, as the workers reported them", headings=("framework", "versions"), rows=known, texts=2
        )


def _versions(run: Run) -> str:
    """Those of packages and devices, without environment variables."""
    found = sorted(of_framework(run.versions).items())
    return ", ".join(f"{name} {version}" for name, version in found if not name.isupper())


def threats(cases: Sequence[Measured], baselines: Sequence[Measured], damages: Sequence[str]) -> Section:
    """What may make the figures wrong or less general, and what the witnesses in the records say."""
    found = extent(cases, baselines)
    lines = [*_of_scale(found), *_of_batches(cases), _of_noise(found), *_of_machine(cases)]
    lines += [*_of_autotuning(cases), *_of_equality(cases), *_of_seeds(found)]
    lines += [f"a file is damaged: {damage}" for damage in damages]
    blocks: list[Paragraph | Table] = [Paragraph(text="What these figures cannot show:", items=tuple(lines))]
    if warned := tuple(_warned(cases)):
        caption = "Cases whose figures may mislead, and why"
        blocks.append(Table(caption=caption, headings=("case", "why"), rows=warned, texts=2))
    return Section(title="Threats to validity", blocks=tuple(blocks))


def _of_scale(found: Extent) -> Iterator[str]:
    if found.shortened:
        shortened = f"{found.shortened:,} of {many(found.cases, 'case')}"
        yield (
            f"scale: {', '.join(found.scales)}. In {shortened} the training ended"
            " before its recipe did: their accuracies are not those of the recipes, and decide no claim about accuracy"
        )


def _of_batches(cases: Sequence[Measured]) -> Iterator[str]:
    """Networks that were trained with smaller batches than in their recipes."""
    smallest: dict[str, int] = {}
    for case in cases:
        if (size := case.context.batch_size) and not case.case.settings:
            smallest[case.case.model] = min(smallest.get(case.case.model, size), size)
    recipes = {name: MODELS[name].recipe.batch_size for name in smallest if name in MODELS}
    small = [f"{name} {smallest[name]:,} ({size:,})" for name, size in sorted(recipes.items()) if smallest[name] < size]
    if small:
        yield (
            "batches: below scale full they are smaller than those of some recipes (in parentheses), and larger ones"
            f" give other ratios between frameworks: {', '.join(small)}"
        )


def _of_noise(found: Extent) -> str:
    share = 100 * found.disturbed / found.runs if found.runs else 0.0
    return (
        f"noise: in {found.disturbed:,} of {many(found.runs, 'run')} ({significant(share)} %) other processes left no"
        f" processor free during some steps; {many(found.invalid, 'run')} invalid and not used"
    )


def _of_machine(cases: Sequence[Measured]) -> Iterator[str]:
    machines = {case.context.machine.name for case in cases}
    if len(machines) == 1:
        yield "one machine: ratios between frameworks may be others on other processors"
    elif machines:
        yield (
            f"{len(machines):,} machines: ratios between frameworks differ from one to another. No table or picture"
            " compares the times of two, but a claim may be decided on any of them"
        )


def _of_autotuning(cases: Sequence[Measured]) -> Iterator[str]:
    untuned = [case for case in cases if case.case.device != "cpu" and "autotune" not in case.context.execution]
    names = sorted({plain_name(case.case.framework) for case in untuned} & AUTOTUNE_BY_THEMSELVES)
    if names:
        yield (
            f"autotuning: {', '.join(names)} ran on a GPU without autotuning of cuDNN, which is on by default: its"
            " convolutions may be many times as slow as what users see"
        )


def _of_equality(cases: Sequence[Measured]) -> Iterator[str]:
    bare = sum(case.result.certificate is None for case in cases)
    if bare:
        yield (
            f"equality: {bare:,} of {many(len(cases), 'case')} without a certificate that the framework trains the same"
            " network as the oracle (pytest bench -m equivalence)"
        )


def _of_seeds(found: Extent) -> Iterator[str]:
    if len(found.seeds) < 5:
        yield f"seeds: {len(found.seeds)}; intervals are wide, and differences between seeds are hardly known"


def _warned(cases: Sequence[Measured]) -> Iterator[tuple[str, str]]:
    for case in cases:
        if found := cautions.warnings(case.result):
            yield case.label, "; ".join(found)
