"""ImageNet's folders, ChestX-ray14 and PASCAL VOC, from small files in their official formats."""

from dataclasses import replace

import numpy as np
import pytest

from pytest_dlbench.data import DATASETS, SOURCES
from pytest_dlbench.data.cache import folder_of
from pytest_dlbench.data.chestxray import FINDINGS
from pytest_dlbench.data.importing import take
from pytest_dlbench.data.voc_annotations import Box, photographs
from pytest_dlbench.errors import DataError
from tests.doubles.official_files import picture, write

RED, GREEN, BLUE = (255, 0, 0), (0, 255, 0), (0, 0, 255)
KINDS = {"n01440764": RED, "n01443537": GREEN, "n01484850": BLUE}
IMAGENET = replace(DATASETS["imagenet"], classes=3)
SAMPLE = replace(DATASETS["imagenet-sample"], classes=3)
CHEST = DATASETS["chestxray14"]


def imagenet(train=2, test=1):
    return {
        f"{split}/{kind}/{kind}_{number}.JPEG": picture("JPEG", size=(300 + number, 260), colour=colour)
        for split, count in (("train", train), ("val", test))
        for kind, colour in KINDS.items()
        for number in range(count)
    }


def chest(**changes):
    rows = ["Image Index,Finding Labels,Follow-up #"]
    rows += ["00000001_000.png,Cardiomegaly|Hernia,0", "00000001_001.png,No Finding,1", "00000002_000.png,Mass,0"]
    return {
        "Data_Entry_2017_v2020.csv": "\n".join(rows) + "\n",
        "train_val_list.txt": "00000001_001.png\n00000001_000.png\n",
        "test_list.txt": "00000002_000.png\n",
        **{f"images/0000000{name}.png": picture("PNG", colour=RED) for name in ("1_000", "1_001", "2_000")},
        **changes,
    }


def test_classes_are_numbered_in_the_order_of_their_ids(prepared_of):
    arrays = prepared_of(IMAGENET, imagenet(), examples=(6, 3))
    assert (arrays.train_labels.tolist(), arrays.test_labels.tolist()) == ([0, 0, 1, 1, 2, 2], [0, 1, 2])


def test_photographs_become_224_by_224_with_channels_first(prepared_of):
    arrays = prepared_of(IMAGENET, imagenet(), examples=(6, 3))
    assert arrays.train_inputs.shape == (6, 3, 224, 224)
    np.testing.assert_allclose(arrays.train_inputs[2].mean(axis=(1, 2)), [0, 1, 0], atol=0.02)


def test_more_photographs_than_a_piece_are_written_in_order(prepared_of):
    arrays = prepared_of(IMAGENET, imagenet(train=12), examples=(36, 3))
    np.testing.assert_array_equal(arrays.train_inputs.mean(axis=(2, 3)).argmax(axis=1), arrays.train_labels)


def test_the_sample_takes_the_first_ten_and_two_of_each_class(prepared_of):
    arrays = prepared_of(SAMPLE, imagenet(train=11, test=3), examples=(30, 6))
    assert (len(arrays.train_labels), len(arrays.test_labels)) == (30, 6)


def test_a_file_that_is_not_an_image_is_refused_by_name(prepared_of):
    files = {**imagenet(), "val/n01440764/n01440764_0.JPEG": b"no image"}
    with pytest.raises(DataError, match=r"n01440764_0\.JPEG is not a readable image"):
        prepared_of(IMAGENET, files, examples=(6, 3))


def test_a_truncated_image_is_refused(prepared_of):
    whole = picture("JPEG", size=(400, 400))
    files = {**imagenet(), "val/n01440764/n01440764_0.JPEG": whole[: len(whole) // 2]}
    with pytest.raises(DataError, match="is not a readable image"):
        prepared_of(IMAGENET, files, examples=(6, 3))


def test_a_class_that_one_split_lacks_is_refused(prepared_of):
    files = {name: content for name, content in imagenet().items() if not name.startswith("val/n01484850")}
    with pytest.raises(DataError, match="train and val differ in classes: n01484850"):
        prepared_of(IMAGENET, files, examples=(6, 2))


def test_flags_are_one_for_each_finding_in_their_order(prepared_of):
    arrays = prepared_of(CHEST, chest(), examples=(2, 1))
    assert not arrays.train_labels[0].any()
    assert [FINDINGS[flag] for flag in np.flatnonzero(arrays.train_labels[1])] == ["Cardiomegaly", "Hernia"]
    assert [FINDINGS[flag] for flag in np.flatnonzero(arrays.test_labels[0])] == ["Mass"]


def test_x_rays_are_in_three_channels_of_224_by_224(prepared_of):
    assert prepared_of(CHEST, chest(), examples=(2, 1)).train_inputs.shape == (2, 3, 224, 224)


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"test_list.txt": "00000001_000.png\n"}, "patients whose images are in both splits: 00000001"),
        ({"test_list.txt": "00000003_000.png\n"}, r"lacks 1 images, starting with 00000003_000\.png"),
        ({"Data_Entry_2017_v2020.csv": "Image Index,Finding Labels\n00000001_000.png,Measles\n"}, "finding 'Measles'"),
        ({"Data_Entry_2017_v2020.csv": "a,b\n1,2\n"}, "has no columns 'Image Index' and 'Finding Labels'"),
    ],
)
def test_an_inconsistent_table_is_refused(prepared_of, changes, reason):
    with pytest.raises(DataError, match=reason):
        prepared_of(CHEST, chest(**changes), examples=(2, 1))


def annotation(kind="dog", corners=(5, 6, 50, 60), more=""):
    names = ("xmin", "ymin", "xmax", "ymax")
    box = "".join(f"<{name}>{corner}</{name}>" for name, corner in zip(names, corners, strict=True))
    size = "<size><width>100</width><height>80</height><depth>3</depth></size>"
    thing = f"<object><name>{kind}</name><bndbox>{box}</bndbox><difficult>1</difficult></object>"
    return f"{more}<annotation>{size}{thing}</annotation>"


@pytest.fixture
def voc(users_cache, tmp_path):
    def photographs_of(content):
        files = {
            "VOCdevkit/VOC2012/Annotations/2007_000027.xml": content,
            "VOCdevkit/VOC2012/ImageSets/Main/train.txt": "2007_000027\n",
            "VOCdevkit/VOC2012/JPEGImages/2007_000027.jpg": picture("JPEG"),
        }
        take(SOURCES["voc2012"], write(tmp_path / "have", files))
        return list(photographs(folder_of(SOURCES["voc2012"]), "train"))

    return photographs_of


def test_an_annotation_gives_the_size_and_the_boxes(voc):
    (photograph,) = voc(annotation())
    assert (photograph.width, photograph.height) == (100, 80)
    assert photograph.boxes == (Box(kind="dog", left=5, top=6, right=50, bottom=60, is_difficult=True),)
    assert photograph.path.is_file()


def test_corners_with_decimals_are_rounded(voc):
    assert voc(annotation(corners=(5.4, 6, 50, 60)))[0].boxes[0].left == 5


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (annotation(kind="unicorn"), "unknown class 'unicorn'"),
        (annotation(corners=(5, 6, 101, 60)), "is not within 100×80 pixels"),
        (annotation(corners=(50, 6, 5, 60)), "is not within"),
        (annotation(corners=("x", 6, 5, 60)), "is not an annotation of VOC 2012"),
        (annotation()[:-20], "is not an annotation of VOC 2012"),
        (annotation(more="<!DOCTYPE a [<!ENTITY b 'bb'>]>"), "declares a document type"),
    ],
)
def test_an_invalid_annotation_is_refused(voc, content, reason):
    with pytest.raises(DataError, match=reason):
        voc(content)
