"""What several devices gained in published trainings."""

import pytest

from pytest_dlbench.reporting.charts import workers
from pytest_dlbench.reporting.published import tables
from pytest_dlbench.reporting.published.scaling import scaled, sentences
from tests.doubles.judged import judged, measured


def found(source, framework, model, *, device, devices):
    return next(
        one
        for one in scaled(source)
        if (one.figure.framework, one.figure.model, one.devices) == (framework, model, devices)
        and device in one.figure.device
    )


def test_a_batch_that_is_kept_gains_by_the_ratio_of_times():
    # Table 8: 0.208 s on one GPU, 0.144 s on two, of 4,096 examples in total.
    one = found("hkbu", "TensorFlow", "FCN-R", device="K80", devices=2)
    assert (one.model, one.framework, one.is_weak) == ("hkbu-fcn-r", "tensorflow", False)
    assert one.speedup == pytest.approx(0.208 / 0.144)
    assert one.efficiency == pytest.approx(0.208 / 0.144 / 2)


def test_a_batch_that_grows_gains_by_the_ratio_of_samples_per_second():
    # Table 8: as many iterations, each GPU with a batch of 32.
    one = found("gatech", "TensorFlow", "tensorflow Inception-v3 ImageNet", device="M60", devices=4)
    assert one.is_weak
    assert one.speedup == pytest.approx(4 * 111781.2 / 131796.7)


def test_speeds_gain_by_their_ratio():
    # Appendix A: 19,807 and 22,734 images/s.
    one = found("thesis", "Caffe", "LeNet", device="K20m", devices=2)
    assert (one.is_weak, one.framework) == (None, None)
    assert one.speedup == pytest.approx(22734 / 19807)


def test_three_studies_trained_on_several_devices_and_every_gain_is_possible():
    assert {source: len(list(scaled(source))) for source in ("hkbu", "thesis", "gatech", "tartu")} == {
        "hkbu": 30,
        "thesis": 78,
        "gatech": 6,
        "tartu": 0,
    }


def test_ours_with_as_many_workers_stand_next_to_it():
    one = found("hkbu", "MXNet", "FCN-R", device="K80", devices=2)
    lines = tables.scaled([one], {("mxnet", "hkbu-fcn-r", 2): 1.5, ("mxnet", "hkbu-fcn-r", 4): 9.0})
    assert "1.77" in lines[-1]
    assert "1.50" in lines[-1]
    assert tables.gain(one, {("mxnet", "hkbu-fcn-s", 2): 1.5}) is None


def test_a_sentence_for_each_framework_that_we_have_too():
    about = [one for one in scaled("hkbu") if one.model == "hkbu-fcn-r"]
    assert next(sentences(about)) == (
        "published by hkbu: hkbu-fcn-r, CNTK, NVIDIA Tesla K80 GK210 (E5-2630 v4 host): speed-up 1.63 on 2 (82 %),"
        " 2.51 on 4 (63 %)"
    )
    assert len(list(sentences(about))) == 3


def test_the_page_has_gains_of_workers_and_what_studies_printed_of_the_network():
    one, two = (judged("mxnet", "hkbu-fcn-r", step=step, runs=1, workers=n) for step, n in ((0.02, 1), (0.0125, 2)))
    cases = measured(one, two)
    assert workers.gains(cases) == {("mxnet", "hkbu-fcn-r", 1): 1.0, ("mxnet", "hkbu-fcn-r", 2): pytest.approx(1.6)}
    notes = workers.chart(cases).notes
    assert any("MXNet, NVIDIA Tesla K80" in note and "1.77 on 2 (88 %)" in note for note in notes)
    assert all("hkbu-fcn-r" in note for note in notes)
