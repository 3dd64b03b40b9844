"""From the options to the settings of the use cases, one function for each.

Apart from ``read``: what measures is slow to load, and to read options takes none of it.
"""

from collections.abc import Sequence

from pytest_dlbench.environments.building import EnvironmentStore
from pytest_dlbench.environments.devices import numbered
from pytest_dlbench.environments.placing import Places, PlacesElsewhere
from pytest_dlbench.judging import METRICS, Metrics
from pytest_dlbench.options.parsers import LOCAL, SRUN
from pytest_dlbench.options.reading import Options
from pytest_dlbench.planning.plan import RunSettings
from pytest_dlbench.records import CaseOutcome, Machine
from pytest_dlbench.running.hosts.cluster import Cluster, Engine
from pytest_dlbench.running.hosts.conversation import Asked
from pytest_dlbench.running.hosts.host import Hosts
from pytest_dlbench.running.hosts.local import ThisMachine
from pytest_dlbench.running.hosts.ray import RayEngine
from pytest_dlbench.running.hosts.srun import SrunEngine
from pytest_dlbench.running.progress import Progress
from pytest_dlbench.workflows.settings import GatePolicy, Storage


def hosts(options: Options, machine: Machine | None = None) -> Hosts:
    """Where runs are made; ``machine`` is the class of a cluster's hosts if it is known without a lease."""
    if options.on == LOCAL:
        return ThisMachine(gpu_numbers=_gpu_numbers(options.devices))
    asked = Asked(builds=options.build, pythons=options.pythons)
    return Cluster(engine(options), asked, options.wait, machine)


def engine(options: Options) -> Engine:
    """What leases hosts of a cluster."""
    name, _, arguments = options.on.partition(":")
    if name == SRUN:
        return SrunEngine(arguments.split(), has_gpu=_leases_gpus(options))
    return RayEngine()


def _leases_gpus(options: Options) -> bool:
    """Whether every host is leased with a GPU: all hosts of a session are of one machine class."""
    named = {name.partition(":")[0] for name in options.devices}
    return options.on.startswith(SRUN) and "gpu" in named


def run_settings(options: Options, hosts: Hosts, progress: Progress, metrics: Metrics = METRICS) -> RunSettings:
    """How runs are made on these hosts; ``progress`` is notified of environments that are built."""
    return RunSettings(
        machine=hosts.machine,
        runs=options.runs,
        keeps_invalid=CaseOutcome.INVALID in options.allow,
        scale=options.scale,
        threads=options.threads[0],
        workers=options.workers[0],
        seed=options.seed,
        timeout_seconds=options.timeout,
        wait_seconds=options.wait,
        target_accuracy=options.target_accuracy,
        hourly_price=options.hourly_price,
        allocator=options.allocator,
        checkpoints=options.checkpoint,
        breaks_down=options.breakdown or options.layers,
        times_layers=options.layers,
        metrics=metrics,
        places=_places(options, progress) if options.on == LOCAL else PlacesElsewhere(has_gpu=_leases_gpus(options)),
    )


def _places(options: Options, progress: Progress) -> Places:
    return Places(store=EnvironmentStore(pythons=options.pythons), progress=progress if options.build else None)


def _gpu_numbers(devices: Sequence[str]) -> tuple[int, ...]:
    """The numbers of the GPUs that are asked for; none if all are."""
    named = [device.numbers for name in devices if (device := numbered(name))]
    return tuple(number for numbers in named for number in numbers)


def gate_policy(options: Options) -> GatePolicy:
    """By what cases are judged."""
    return GatePolicy(
        tolerances=options.tolerance,
        false_alarms=options.false_alarms,
        max_pairs=options.max_runs,
        budget_seconds=options.budget,
        saves=options.save,
        reason=options.reason,
        accepts_gains=CaseOutcome.SUSPECT in options.allow,
        is_report_only=options.shadow,
        profiles=options.profile,
    )


def storage(options: Options) -> Storage:
    """Where everything is kept."""
    return Storage(baselines=options.baselines, journals=options.journals, history=options.history)
