"""The specification of a run."""

import pickle

from tests.running.specs import spec


def test_a_spec_can_be_sent_to_another_process(tmp_path):
    asked = spec("clocked", tmp_path, evaluate_after=(3,), gpu="GPU-a", cores=frozenset({1}))
    assert repr(pickle.loads(pickle.dumps(asked))) == repr(asked)
