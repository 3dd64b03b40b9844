"""Of which trainings a stored certificate is evidence."""

from dataclasses import replace
from types import SimpleNamespace

import pytest

import pytest_dlbench as dlb
from pytest_dlbench.model import infer
from pytest_dlbench.planning.plan import RunSettings
from pytest_dlbench.planning.sweep import Change
from pytest_dlbench.storing.certificates import CertificateStore
from pytest_dlbench.workflows import certify
from tests.doubles import records
from tests.storing.test_certificates import CERTIFICATE

FRAMEWORK, MODEL, CPU = dlb.FRAMEWORKS["pytorch"], dlb.MODELS["gatech-lenet"], dlb.DEVICES["cpu"]
TWO_WORKERS = RunSettings(machine=records.machine(), scale="smoke", threads=1, seed=1, workers=2, timeout_seconds=60.0)


@pytest.mark.parametrize(
    ("changes", "is_certified"),
    [
        ((), True),
        ((Change(name="exchange", value="full"),), True),
        ((Change(name="exchange", value="fp16"),), False),
        ((Change(name="precision", value="bfloat16"),), False),
        ((Change(name="channels_last", value=True),), False),
    ],
)
def test_workers_that_exchange_in_full_and_compute_the_same_are_certified(changes, is_certified, tmp_path):
    store = CertificateStore(folder=tmp_path)
    settings = replace(TWO_WORKERS, changes=changes)
    session = SimpleNamespace(settings=settings, certificates=store, uncertified=[])
    spec = settings.spec(FRAMEWORK, MODEL, dlb.DATASETS["digits28"], CPU, recipe=MODEL.recipe, label="training")
    of = {"model": MODEL.name, "dataset": "digits28", "dataset_digest": spec.data.digest, "workers": 2}
    stored = replace(CERTIFICATE, network_digest=infer(MODEL).digest, **of)
    store.write(stored)
    run = records.run(versions={"torch": "2.13.0", "kernel": "6.1"})
    assert certify.certificate_of(session, spec, run) == (stored if is_certified else None)
