"""What a history of 100,000 records costs: load all, filter one case, aggregate every case by session.

python -m tests.perf.history --sessions 1000
"""

import argparse
import sys
import tempfile
from time import monotonic, process_time

from pytest_dlbench.reporting.exports.rows import kinds, rows
from pytest_dlbench.storing.history import History
from pytest_dlbench.storing.recorded import Recorded
from tests.doubles import records

RECORDS = 100_000


def session(runs: int, number: int) -> list[Recorded]:
    """One session of ``runs`` runs, three a case."""
    cases = [records.case(f"training-pytorch-net{place}-digits28-cpu-quick") for place in range(runs // 3 + 1)]
    of = records.runs(steps=(0.01, 0.011, 0.012))
    return [Recorded(record=records.record(of, case=case), result=records.case_result(case=case)) for case in cases]


def main() -> None:
    """Write, then measure what a reader waits for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sessions", type=int, default=1000)
    asked = parser.parse_args()
    each = RECORDS // asked.sessions
    with tempfile.TemporaryDirectory() as folder:
        history = History(address=folder)
        table = rows(session(each, 0))[:each]
        began = monotonic()
        for _ in range(asked.sessions):
            history.append(table, kinds(), machine="linux-acme-2cores-8gib")
        wrote = monotonic() - began
        began, worked = monotonic(), process_time()
        found = history.read().rows
        loaded = monotonic() - began
        one = found[found["case"] == found["case"].iloc[0]]
        medians = found.groupby(["case", "session"])[["step_time", "accuracy", "peak_rss"]].median()
        done, work = monotonic() - began, process_time() - worked
    if len(found) != each * asked.sessions:
        sys.exit(f"{len(found)} rows were read, {each * asked.sessions} written")
    print(f"{len(found):,} records of {asked.sessions:,} sessions: written in {wrote:.2f} s")
    print(
        f"loaded in {loaded:.2f} s; one case ({len(one):,}) filtered, and {len(medians):,} medians made, {done:.2f} s"
    )
    print(f"of which the processor worked {work:.2f} s")


if __name__ == "__main__":
    main()
