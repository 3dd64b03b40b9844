"""Thinning keeps the shape of a series: its end, its order and its peak."""

from dataclasses import fields

from hypothesis import given
from hypothesis import strategies as st

from pytest_dlbench.sampling.timeline import Sample, thinned

series = st.lists(st.tuples(st.integers(0, 10**6), st.integers(0, 10**12)), max_size=300).map(
    lambda pairs: [
        Sample(seconds=time / 100, rss_bytes=rss, cpu_seconds=time / 200, machine_seconds=time / 50)
        for time, rss in sorted(pairs)
    ]
)


@given(series, st.integers(1, 50))
def test_a_thinned_series_has_at_most_the_limit(samples, limit):
    line = thinned(samples, limit)
    lengths = {len(getattr(line, field.name)) for field in fields(line)}
    assert lengths == {len(line.seconds)}
    assert len(line.seconds) <= limit


@given(series, st.integers(1, 50))
def test_thinning_keeps_the_peak_and_the_last_moment(samples, limit):
    line = thinned(samples, limit)
    assert max(line.rss_bytes, default=None) == max((sample.rss_bytes for sample in samples), default=None)
    assert line.seconds[-1:] == tuple(sample.seconds for sample in samples[-1:])


@given(series)
def test_a_short_series_is_unchanged(samples):
    line = thinned(samples, 300)
    assert line.rss_bytes == tuple(sample.rss_bytes for sample in samples)


@given(series, st.integers(1, 50))
def test_thinning_keeps_the_order(samples, limit):
    assert list(thinned(samples, limit).seconds) == sorted(thinned(samples, limit).seconds)
