"""Arrays in memory: one label for each example."""

import numpy as np
import pytest

from pytest_dlbench.data import Arrays
from pytest_dlbench.errors import DataError


def arrays_of(*, train=(8, 8), test=(4, 4)):
    return Arrays(
        train_inputs=np.zeros((train[0], 1, 2, 2), dtype=np.float32),
        train_labels=np.zeros(train[1], dtype=np.int64),
        test_inputs=np.zeros((test[0], 1, 2, 2), dtype=np.float32),
        test_labels=np.zeros(test[1], dtype=np.int64),
    )


@pytest.mark.parametrize(("images", "labels"), [(3, 4), (4, 3), (0, 0)])
@pytest.mark.parametrize("split", ["train", "test"])
def test_a_split_without_a_label_for_each_example_is_refused(split, images, labels):
    with pytest.raises(DataError, match=f"the {split} split has {images} examples and {labels} labels"):
        arrays_of(**{split: (images, labels)})
