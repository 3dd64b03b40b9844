"""Every --dlbench-* option. Each is also a key of the ini file, such as dlbench_runs."""

from pytest_dlbench.environments.interpreters import parse_choices
from pytest_dlbench.options.option import Option
from pytest_dlbench.options.parsers import (
    accuracy,
    allocator,
    columns,
    devices,
    duration,
    engine,
    flag,
    groups,
    history_address,
    journal,
    names,
    optional_path,
    outcomes,
    page_path,
    pair_limit,
    path,
    patience,
    positive_int,
    positive_seconds,
    price,
    scale,
    share,
    sort,
    text,
    thread_counts,
    tolerances,
    two_sides,
    worker_counts,
)
from pytest_dlbench.planning import sweep
from pytest_dlbench.running.launch import TUNED
from pytest_dlbench.sampling.cores import usable_cores
from pytest_dlbench.storing.resuming import NEWEST

OPTIONS = (
    Option(
        name="save",
        parse=flag,
        default="false",
        help="Save this session in the baselines of the selected cases; needs --dlbench-reason.",
    ),
    Option(
        name="reason", parse=text, default="", metavar="TEXT", help="Why the new baselines are right; stored with them."
    ),
    Option(
        name="compare",
        parse=flag,
        default="false",
        help="Gate: also fail if there is no baseline or no conclusion can be drawn.",
    ),
    Option(
        name="allow",
        parse=outcomes,
        default="",
        metavar="OUTCOMES",
        help="Outcomes that the gate accepts, such as no_baseline,inconclusive. With --dlbench-save, suspect also saves"
        " gains that are too good to be true.",
    ),
    Option(
        name="strict",
        parse=flag,
        default="false",
        help="Also fail if a metric improved, which makes its baseline stale.",
    ),
    Option(
        name="shadow",
        parse=flag,
        default="false",
        help="Report-only: judge and report, but fail no test on a verdict; for the first weeks of a gate.",
    ),
    Option(
        name="ab",
        parse=two_sides,
        default="",
        metavar="OLD,NEW",
        help="Run two sides in pairs and compare the new one with the old one: environments, such as"
        " pytorch==2.12.0,pytorch==2.13.0 or old.txt,new.txt, revisions of your code (rev:main,rev:HEAD), settings"
        " (set:batch_size=32,set:batch_size=64), environment variables (env:NAME=VALUE), or several joined by +.",
    ),
    Option(
        name="false_alarms",
        spelled="false-alarms",
        parse=share,
        default="1%",
        metavar="SHARE",
        help="False-alarm rate: the share of --dlbench-ab sessions without a change that may report a regression.",
    ),
    Option(
        name="max_runs",
        spelled="max-runs",
        parse=pair_limit,
        default="20",
        metavar="N",
        help="Maximum number of pairs per case and pass of --dlbench-ab, 3 to 20; fewer run once all is decided.",
    ),
    Option(
        name="budget",
        parse=duration,
        default="",
        metavar="TIME",
        help="With --dlbench-ab: the time for all pairs, such as 30m or 2h. Each case gets three pairs at least, and an"
        " equal share of the time that is left when it starts; if that does not decide it, it is inconclusive.",
    ),
    Option(
        name="tolerance",
        parse=tolerances,
        names_metrics=True,
        default="",
        metavar="METRIC:AMOUNT",
        repeats=True,
        help="How much worse a metric may be, such as step_time:5%, accuracy:1pp or peak_rss:2%; repeatable.",
    ),
    Option(
        name="target_accuracy",
        spelled="target-accuracy",
        parse=accuracy,
        default="",
        metavar="SHARE",
        help="Report when a run reached this test accuracy, such as 97% or 0.97; a target_accuracy mark overrides it.",
    ),
    Option(
        name="hourly_price",
        spelled="hourly-price",
        parse=price,
        default="",
        metavar="AMOUNT",
        help="What an hour of the machine costs, such as 0.45 in any currency: every run then has a cost, and with a"
        " target accuracy the cost of reaching it.",
    ),
    Option(
        name="runs",
        parse=positive_int,
        default="3",
        metavar="N",
        help="Runs per case, each in a fresh worker process; a comparison needs 3 or more.",
    ),
    Option(
        name="scale",
        parse=scale,
        default="quick",
        metavar="SCALE",
        help="Length of one training: smoke (seconds per case), quick, or full (the recipe's own epochs or steps).",
    ),
    Option(
        name="frameworks",
        parse=names,
        default="",
        metavar="NAMES",
        help="Train these frameworks: names, patterns such as 'keras-*', or all (those that are installed); by default"
        " those of the tests' fixtures, or without these every one that is available.",
    ),
    Option(
        name="models",
        parse=names,
        default="",
        metavar="NAMES",
        help="Train these models: names, patterns such as 'hkbu-*', or all; by default those of the tests'"
        " fixtures, or without these all models.",
    ),
    Option(name="datasets", parse=names, default="", metavar="NAMES", help="Train only on these data sets."),
    Option(
        name="devices",
        parse=devices,
        default="",
        metavar="NAMES",
        help="Train only on these devices: cpu, gpu, or some of the GPUs by number, such as gpu:0 or gpu:0,1;"
        " opencl:cpu runs tinygrad's code for GPUs on the processor, to test it.",
    ),
    Option(
        name="build",
        parse=flag,
        default="false",
        help="Build the environments of frameworks that are not installed, as needed.",
    ),
    Option(
        name="pythons",
        spelled="python",
        parse=parse_choices,
        default="",
        metavar="ENVIRONMENT=PATH",
        repeats=True,
        help="Build an environment with this Python, such as cntk=/path/to/python3.6; repeatable.",
    ),
    Option(
        name="settings",
        spelled="set",
        parse=sweep.parse,
        default="",
        metavar="KEY=VALUE[,VALUE…]",
        repeats=True,
        help="Override a setting of the recipe, such as batch_size=64; several values form an axis; repeatable.",
    ),
    Option(
        name="threads",
        parse=thread_counts,
        default=str(usable_cores()),
        metavar="N[,N…]",
        help="CPU threads per worker; several numbers form an axis; by default all cores this process may use, divided"
        " by the largest number of workers.",
    ),
    Option(
        name="workers",
        parse=worker_counts,
        default="1",
        metavar="N[,N…]",
        help="Workers that train one network data-parallel, each a part of every batch; several numbers form an axis.",
    ),
    Option(
        name="on",
        parse=engine,
        default="local",
        metavar="ENGINE",
        help="Where runs are made: local; ray, on leased hosts of the Ray cluster of which this machine is a node; or"
        " srun, on nodes that SLURM allocates, with arguments for it after a colon:"
        " 'srun:--partition=NAME --time=1:00:00'.",
    ),
    Option(
        name="allocator",
        parse=allocator,
        default=TUNED,
        metavar="POLICY",
        help="How workers allocate memory: tuned (freed memory is kept) or default (glibc's own thresholds).",
    ),
    Option(
        name="timeout",
        parse=positive_seconds,
        default="600",
        metavar="SECONDS",
        help="Stop a run that takes longer than this, in seconds; at scale full the default is 86400, a day."
        " A worker of a network that uses no processor for ten minutes is stopped earlier.",
    ),
    Option(
        name="wait",
        parse=patience,
        default="forever",
        metavar="TIME",
        help="How long a case waits while another session uses its device, such as 10m: then it ends as a timeout;"
        " never does not wait, forever has no limit.",
    ),
    Option(
        name="seed",
        parse=positive_int,
        default="1",
        metavar="N",
        help="Seed of the first run; each further run uses the next number.",
    ),
    Option(name="baselines", parse=path, default="baselines", metavar="FOLDER", help="Where baselines are stored."),
    Option(
        name="journals",
        parse=path,
        default=".dlbench",
        metavar="FOLDER",
        help="Where the journal of each session is written; it gets every run as soon as the run ends.",
    ),
    Option(
        name="resume",
        parse=journal,
        default="",
        metavar="JOURNAL",
        without_value=NEWEST,
        help="Go on with an interrupted session: take the finished runs of its journal, by default the newest, and make"
        " only those that are missing.",
    ),
    Option(
        name="html",
        parse=page_path,
        default="",
        metavar="PATH",
        help="Write a page with charts of this session: one file that needs no network.",
    ),
    Option(
        name="plan",
        parse=flag,
        default="false",
        help="Dry run: show what would run, how long it should take, and what is skipped and why.",
    ),
    Option(
        name="checkpoint",
        parse=flag,
        default="false",
        help="Save each training by the framework's own means when it has ended, and go on from there in a fresh"
        " process: the time to write and to read it, its size, and that the losses are the same.",
    ),
    Option(
        name="weights",
        parse=optional_path,
        default="",
        metavar="FILE.npz",
        help="Weights for inference in place of drawn ones: an array for each of the model's, by its name;"
        " running statistics of batch normalisation are optional.",
    ),
    Option(
        name="profile",
        parse=flag,
        default="false",
        help="Run each case that regressed with --dlbench-ab once more per side, with the framework's own profiler.",
    ),
    Option(
        name="breakdown",
        parse=flag,
        default="false",
        help="After each training, divide steps into their phases (forward, backward, update and others), each waited"
        " for: a measurement of its own, which leaves the step times as they are.",
    ),
    Option(
        name="layers",
        parse=flag,
        default="false",
        help="As --dlbench-breakdown, and also time every layer of the network by itself, forward and backward; dlbench"
        " runs layers prints them.",
    ),
    Option(
        name="json",
        parse=optional_path,
        default="",
        metavar="PATH",
        help="Write all records to this JSON file, for dlbench export; dlbench export schema prints its schema.",
    ),
    Option(
        name="history",
        parse=history_address,
        default="",
        metavar="ADDRESS",
        help="Add this session to the history in this folder or at an fsspec address, such as s3://bucket/history.",
    ),
    Option(
        name="group_by",
        spelled="group-by",
        parse=groups,
        default="",
        metavar="LABELS",
        help="One table for each framework, model, dataset, device or mark, or each combination, such as model,device.",
    ),
    Option(
        name="columns",
        parse=columns,
        names_metrics=True,
        default="",
        metavar="NAMES",
        help="Columns of the tables, such as throughput,accuracy,peak_rss,verdict; every metric is one. gatech and"
        " tartu stand for the columns of these studies.",
    ),
    Option(
        name="sort",
        parse=sort,
        names_metrics=True,
        default="",
        metavar="METRIC",
        help="Sort the tables by this metric, best first, or by name; by default in the order of the tests.",
    ),
)
