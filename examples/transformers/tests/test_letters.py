import pytest

from pytest_dlbench import Metric

# Without a tolerance it is shown, and not judged: accuracy is.
ADVANTAGE = Metric(name="advantage", unit="share", kind="points", better="higher")


@pytest.mark.dlbench(metrics=[ADVANTAGE])
def test_letters(dlbench):
    result = dlbench.measure("programs/letters.py", environment="requirements.txt", steps=150, rate=0.005)
    result.require(accuracy=0.3, advantage=0.1)
