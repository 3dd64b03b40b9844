"""Values of RAY_ADDRESS that --dlbench-on ray refuses, before Ray is loaded."""

import pytest

from pytest_dlbench.errors import DlbenchError
from pytest_dlbench.running.hosts.ray import RayEngine
from pytest_dlbench.running.waits import Patience


@pytest.mark.parametrize(
    ("address", "named"),
    [
        ("ray://head:10001", "RAY_ADDRESS=head:6379"),
        ("ray://10.0.0.1:10001/?a=b", "ray start --address=10.0.0.1:6379 --num-cpus=0"),
        ("ray://head", "RAY_ADDRESS=head:6379"),
        ("local", "unset it"),
    ],
)
def test_an_address_that_joins_no_cluster_is_refused_with_what_to_do(monkeypatch, address, named):
    monkeypatch.setenv("RAY_ADDRESS", address)
    with (
        pytest.raises(DlbenchError) as raised,
        RayEngine().lease(Patience(waiting=lambda _: None), frozenset()),
    ):
        pass
    assert f"RAY_ADDRESS={address}" in str(raised.value)
    assert named in str(raised.value)
