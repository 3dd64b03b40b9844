"""scikit-learn's digits: 1,797 real scans of handwritten digits, 8×8, that need no download.

Source: E. Alpaydin and C. Kaynak, Optical Recognition of Handwritten Digits, UCI (1998), the test part, as shipped
with scikit-learn. The split is fixed in ``digits_test_index.txt``: 360 test images, stratified by digit.
"""

from functools import partial

from pytest_dlbench.data.dataset import Arrays, Dataset

EXAMPLES = 1797
TEST_EXAMPLES = 360


def _make(scale: int, margin: int, channels: int) -> Arrays:
    # Late: NumPy and scikit-learn are slow to load, and needed once for each cache.
    from pytest_dlbench.data.digits_arrays import enlarged  # noqa: PLC0415

    return enlarged(scale=scale, margin=margin, channels=channels)


def _digits(name: str, *, scale: int, margin: int, channels: int) -> Dataset:
    side = 8 * scale + 2 * margin
    return Dataset(
        name=name,
        version=1,
        shape=(channels, side, side),
        classes=10,
        train_examples=EXAMPLES - TEST_EXAMPLES,
        test_examples=TEST_EXAMPLES,
        make=partial(_make, scale, margin, channels),
    )


DATASETS = (
    _digits("digits", scale=1, margin=0, channels=1),
    _digits("digits28", scale=3, margin=2, channels=1),  # stands where MNIST would
    _digits("digits32", scale=4, margin=0, channels=3),  # stands where CIFAR would
)
