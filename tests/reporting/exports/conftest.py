import pytest

from pytest_dlbench.judging import summarise
from pytest_dlbench.judging.reasons import unfinished as reason_of
from pytest_dlbench.records import CaseOutcome, RunOutcome
from pytest_dlbench.storing.recorded import Recorded
from tests.doubles import records


def recorded(name="training-pytorch-mnist-cnn-digits28-cpu-quick", **changes):
    case = records.case(name)
    return Recorded(record=records.record(case=case, **changes), result=records.case_result(case=case))


@pytest.fixture
def sound():
    """A case of three runs whose steps took 10, 11 and 12 ms."""
    return recorded(of=records.runs(steps=(0.010, 0.011, 0.012)))


@pytest.fixture
def unfinished():
    """A case that timed out."""
    case = records.case("training-jax-mnist-cnn-digits28-cpu-quick", framework="jax")
    run = records.unfinished(RunOutcome.TIMEOUT, "no answer in time", case=case.id)
    reasons = (reason_of(run),)
    result = records.case_result(case=case, outcome=CaseOutcome.TIMEOUT, figures={}, runs=1, reasons=reasons)
    return Recorded(record=records.record([run], case=case), result=result)


@pytest.fixture
def applied():
    """Three inference runs whose batches take 0.1 s."""
    run = records.inferred()
    case = records.case("inference-pytorch-mnist-cnn-digits28-cpu-quick")
    result = records.case_result(case=case, figures=summarise([run]))
    return Recorded(record=records.record([run] * 3, case=case), result=result)
