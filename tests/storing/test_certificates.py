"""Certificates of equivalence: kept for a network, found for the same network, revoked."""

from dataclasses import replace

import pytest

from pytest_dlbench.errors import FileFormatError
from pytest_dlbench.judging import equivalence
from pytest_dlbench.records import Certificate, Golden
from pytest_dlbench.storing.certificates import CertificateStore
from tests.doubles import records

GOLDEN = Golden(
    network_digest="5d806ee3711cedb8",
    dataset_digest="63bf5a2fc100bc0f",
    difference=2e-16,
    losses=(2.0, 1.0),
    evaluation_loss=0.5,
)
CERTIFICATE = Certificate(
    framework="pytorch",
    model="mnist-cnn",
    dataset="digits28",
    device="cpu",
    network_digest="5d806ee3711cedb8",
    precision="float32",
    steps=2,
    deviation=1e-7,
    evaluation_deviation=2e-7,
    bound=1e-5,
    versions={"torch": "2.13.0"},
    date="2026-11-21T00:00:00+00:00",
    machine=records.machine().name,
    dataset_digest="63bf5a2fc100bc0f",
)


@pytest.fixture
def store(tmp_path):
    return CertificateStore(folder=tmp_path)


def find(store, machine=CERTIFICATE.machine, digest="5d806ee3711cedb8", **case):
    return store.find(records.case(**case), machine, digest)


def test_git_ignores_the_folder_of_the_session_if_certificates_come_first(tmp_path):
    CertificateStore(folder=tmp_path / ".dlbench" / "certificates").write(CERTIFICATE)
    assert (tmp_path / ".dlbench" / ".gitignore").read_text().splitlines()[-1] == "*"


def test_a_certificate_is_found_for_its_own_network(store):
    store.write(CERTIFICATE)
    assert find(store) == CERTIFICATE
    assert store.all() == [CERTIFICATE]


def test_a_certificate_does_not_apply_to_another_network_of_the_same_name(store):
    store.write(CERTIFICATE)
    assert find(store, digest="another") is None


def test_a_certificate_does_not_apply_to_another_framework(store):
    store.write(CERTIFICATE)
    assert find(store, framework="jax") is None


def test_each_class_of_machine_has_certificates_of_its_own(store):
    other = replace(CERTIFICATE, machine="linux-other", deviation=2e-7)
    store.write(CERTIFICATE)
    assert find(store, machine="linux-other") is None
    store.write(other)
    assert (find(store), find(store, machine="linux-other")) == (CERTIFICATE, other)
    store.revoke(other)
    assert (find(store), find(store, machine="linux-other")) == (CERTIFICATE, None)


def test_a_revoked_certificate_is_gone(store):
    store.write(CERTIFICATE)
    store.revoke(CERTIFICATE)
    store.revoke(CERTIFICATE)
    assert find(store) is None


def test_a_damaged_certificate_certifies_nothing(store):
    path = store.write(CERTIFICATE)
    path.write_text("{")
    assert find(store) is None
    with pytest.raises(FileFormatError):
        store.all()


def certify(losses=(2.0, 1.0), evaluation_loss=0.5, **changes):
    run = records.run()
    training = replace(run.training, losses=losses, step_seconds=(0.1, 0.1))
    evaluation = replace(run.evaluation, loss=evaluation_loss)
    ended = replace(run, training=training, evaluation=evaluation, **changes)
    return equivalence.certificate(records.case(), records.context(), ended, GOLDEN, equivalence.BOUND)


def test_the_same_losses_are_equal():
    found = certify()
    assert (found.deviation, found.evaluation_deviation) == (0.0, 0.0)
    assert equivalence.is_equal(found)


def test_the_largest_relative_difference_of_a_loss_counts():
    assert certify(losses=(2.0, 1.001)).deviation == pytest.approx(1e-3)
    assert certify(losses=(2.002, 1.0)).deviation == pytest.approx(1e-3)


def test_one_loss_or_the_evaluation_beyond_the_bound_is_not_equal():
    assert not equivalence.is_equal(certify(losses=(2.0, 1.00002)))
    assert not equivalence.is_equal(certify(evaluation_loss=0.5001))
    assert equivalence.is_equal(certify(evaluation_loss=0.50002))
    assert not equivalence.is_equal(certify(evaluation_loss=0.50003))


def test_a_certificate_has_only_the_frameworks_own_versions():
    own = {"torch": "2.13.0", "numpy": "2.4.6"}
    others = {"kernel": "6.1", "environment": "current", "GLIBC_TUNABLES": "x", "driver-python": "3.11.7"}
    assert certify(versions={**own, **others}).versions == own
