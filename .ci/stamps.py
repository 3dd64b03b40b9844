"""Stamps: tests that passed before on this machine with the same content are skipped.

stamps.py plan FRAMEWORK,…           the plan, as JSON; with CI_FULL=1 it skips nothing
stamps.py frameworks PLAN SWEEP      the frameworks that the sweep trains
stamps.py folders PLAN               the folders and files of tests/ that are skipped
stamps.py list PLAN                  what is skipped, with the key and the date of the pass
stamps.py write PLAN JUNIT_XML…      stamp what passed; nothing if anything failed

A stamp is a file in the user's cache. In the sweeps of all frameworks, PyTorch and JAX also run if what the tests need
of the driver has changed, and one framework runs in rotation: the one with the oldest stamps. Folders and files of
tests that need only a part of the driver are skipped, too (folders.py).

The examples are a sweep with names of their own, and so are the pages that a newcomer may follow after the first one.
Two examples and one page of those without a stamp run at a time, the others later: first what has changed itself, then
what passed longest ago.
"""

import json
import os
import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

from contents import EXAMPLES, NEWCOMER, SWEEPS, TESTED, about, digest, keys
from folders import driver_key, test_keys

# They show that the driver works with real frameworks: its changes are part of their keys.
WITH_DRIVER = ("pytorch", "jax")
# Where stamps of folders are, next to those of frameworks.
DRIVER = "driver"
# An example on each of two processors, for one to five minutes: it depends on how many pairs they need.
AT_A_TIME = {EXAMPLES: 2, NEWCOMER: 1}
Plan = dict[str, Any]


def folder() -> Path:
    """The folder of stamps."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "pytest-dlbench" / "ci" / "stamps"


def plan(names: list[str], *, is_full: bool) -> Plan:
    """The key of each sweep and framework, and what is skipped: the reason, the key, the date of the pass."""
    known = about(names)
    found = {sweep: of | _with_driver(sweep, of) for sweep, of in keys(known).items()}
    stamped = {} if is_full else {sweep: _stamped(sweep, found[sweep]) for sweep in found}
    # The others' stamps stay as old as they are, and would keep a framework in turn.
    turn = _turn(names, (stamps for sweep, stamps in stamped.items() if _has_all(sweep)))
    skipped = {
        sweep: {name: stamp for name, stamp in stamps.items() if not _has_all(sweep) or name != turn}
        for sweep, stamps in stamped.items()
    }
    if not is_full:
        for sweep in AT_A_TIME:
            skipped[sweep] |= _put_off(sweep, found[sweep], skipped[sweep])
    tests = test_keys(known)
    kept = {} if is_full else {name: stamp for name, key in tests.items() if (stamp := _stamp(name, DRIVER, key))}
    return {"keys": found, "turn": turn, "skipped": skipped, "folders": {"keys": tests, "skipped": kept}}


def _has_all(sweep: str) -> bool:
    """Whether a sweep trains every framework; then one does in rotation, whatever passed before."""
    return sweep not in AT_A_TIME and not SWEEPS[sweep].frameworks


def _with_driver(sweep: str, of_frameworks: Mapping[str, str]) -> dict[str, str]:
    """Keys that change with the driver, too, where all frameworks train."""
    if not _has_all(sweep):
        return {}
    driver = driver_key(SWEEPS[sweep].tests)
    return {name: digest([of_frameworks[name], driver]) for name in WITH_DRIVER if name in of_frameworks}


def _stamped(sweep: str, of_frameworks: Mapping[str, str]) -> dict[str, dict[str, str]]:
    return {name: stamp for name, key in of_frameworks.items() if (stamp := _stamp(sweep, name, key))}


def _stamp(sweep: str, name: str, key: str) -> dict[str, str]:
    """What is known of a pass; empty if there was none."""
    if not (file := _file(sweep, name, key)).is_file():
        return {}
    reason = f"{name} passed before with the same content (stamp {sweep}-{key})"
    return {"key": key, "passed": file.read_text().strip(), "reason": reason}


def _put_off(sweep: str, keys: Mapping[str, str], stamped: Iterable[str]) -> dict[str, dict[str, str]]:
    """What has no stamp and is checked by a later run, and why."""
    reason = f"{sweep}: at most {AT_A_TIME[sweep]} at a time, and all with CI_FULL=1"
    ordered = sorted(keys.keys() - {*stamped}, key=lambda name: (*_last_pass(sweep, name, keys[name]), name))
    later = ordered[AT_A_TIME[sweep] :]
    return {name: {"key": keys[name], "passed": "", "reason": f"{name} runs later: {reason}"} for name in later}


def _last_pass(sweep: str, name: str, key: str) -> tuple[bool, str]:
    """Whether its own files passed as they are, and when it passed last; empty if it never did."""
    own = key.partition("-")[0]
    dates = {file.name: file.read_text() for file in (folder() / name).glob(f"{sweep}-*")}
    return any(file.startswith(f"{sweep}-{own}-") for file in dates), max(dates.values(), default="")


def _turn(names: list[str], stamped: Iterable[Mapping[str, Mapping[str, str]]]) -> str | None:
    """The next framework in rotation: the one with the oldest stamp."""
    dates: dict[str, str] = {}
    for stamps in stamped:
        for name, stamp in stamps.items():
            dates[name] = min(stamp["passed"], dates.get(name, stamp["passed"]))
    return min((name for name in names if name in dates), key=dates.__getitem__, default=None)


def _file(sweep: str, name: str, key: str) -> Path:
    return folder() / name / f"{sweep}-{key}"


def frameworks(planned: Plan, sweep: str) -> list[str]:
    """The frameworks that a sweep trains."""
    return [name for name in planned["keys"][sweep] if name not in planned["skipped"].get(sweep, {})]


def lines(planned: Plan) -> Iterator[str]:
    """What is skipped, one line per framework, example or page."""
    for name in dict.fromkeys(
        [*planned["keys"]["layers"], *(name for one in AT_A_TIME for name in planned["keys"][one])]
    ):
        stamps = {sweep: of[name] for sweep, of in planned["skipped"].items() if name in of and of[name]["passed"]}
        if stamps:
            each = (f"{sweep} {stamp['key']} of {stamp['passed'][:10]}" for sweep, stamp in stamps.items())
            yield f"skipped by stamps: {name}: {', '.join(each)}"
    for name, stamp in planned["folders"]["skipped"].items():
        yield f"skipped by stamps: tests/{name}: {stamp['key']} of {stamp['passed'][:10]}"
    for sweep in AT_A_TIME:
        yield from (one["reason"] for one in planned["skipped"].get(sweep, {}).values() if not one["passed"])
    yield f"in turn: {planned['turn'] or 'none'}"


def write(planned: Plan, report: str) -> int:
    """Stamp each sweep and framework, and each folder, with a passed test in the report of a part of the run.

    If any of its tests failed, stamp none. Returns the number of stamps.
    """
    cases = [*ET.parse(report).iter("testcase")]
    if any(case.find(bad) is not None for case in cases for bad in ("failure", "error")):
        return 0
    passed = [f"{case.get('classname')}.{case.get('name')}" for case in cases if case.find("skipped") is None]
    part = Path(report).stem
    ran = {
        sweep: _trained(sweep, of, passed) & {*frameworks(planned, sweep)}
        for sweep, of in planned["keys"].items()
        if part in (TESTED[sweep].reports or (part,))
    }
    stamps = [_file(sweep, name, planned["keys"][sweep][name]) for sweep, names in ran.items() for name in names]
    folders = {
        name: key for name, key in planned["folders"]["keys"].items() if name not in planned["folders"]["skipped"]
    }
    return _dated([*stamps, *(_file(name, DRIVER, key) for name, key in folders.items() if _ran(name, passed))])


def pages(planned: Plan) -> int:
    """Stamp the pages of a newcomer in the plan, which are commands and have no tests. Returns the number of stamps."""
    return _dated([_file(NEWCOMER, name, planned["keys"][NEWCOMER][name]) for name in frameworks(planned, NEWCOMER)])


def _dated(stamps: list[Path]) -> int:
    # One date for all: ties in the rotation are resolved by the order of the table.
    date = datetime.now(UTC).isoformat()
    for stamp in stamps:
        _write(stamp, date)
    return len(stamps)


def _trained(sweep: str, names: Iterable[str], tests: Iterable[str]) -> set[str]:
    """The frameworks that tests of a sweep name in their brackets."""
    modules = tuple(f"{file.removesuffix('.py').replace('/', '.')}." for file in TESTED[sweep].tests)
    found = set()
    for test in tests:
        if test.startswith(modules):
            named = [name for name in names if re.search(rf"[\[-]{re.escape(name)}[\]-]", test)]
            # Does not match mxnet in mxnet-imperative.
            found |= {name for name in named if not any(name != other and name in other for other in named)}
    return found


def _ran(name: str, tests: Iterable[str]) -> bool:
    """Whether any of the tests is in this folder or file."""
    module = name.removesuffix(".py").replace("/", ".")
    return any(test.startswith(f"tests.{module}.") for test in tests)


def _write(file: Path, text: str) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    # Atomically, because another run may read it.
    whole = file.with_name(f"{file.name}.{os.getpid()}")
    whole.write_text(f"{text}\n")
    whole.replace(file)


def main(command: str, first: str, *others: str) -> None:
    """Run one of the commands above."""
    if command == "plan":
        json.dump(plan(first.split(","), is_full=os.environ.get("CI_FULL") == "1"), sys.stdout, indent=2)
        return
    planned = json.loads(Path(first).read_text())
    match command:
        case "frameworks":
            print(",".join(frameworks(planned, *others)))
        case "folders":
            print("\n".join(planned["folders"]["skipped"]))
        case "list":
            print("\n".join(lines(planned)))
        case "write":
            print(f"stamps written: {write(planned, *others)}")
        case "pages":
            print(f"stamps written: {pages(planned)}")
        case _:
            sys.exit(__doc__)


if __name__ == "__main__":
    main(*sys.argv[1:])
