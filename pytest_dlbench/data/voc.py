"""PASCAL VOC 2012: 11,540 photographs with boxes around objects of 20 classes; no model trains on it yet.

Source: M. Everingham et al., The PASCAL Visual Object Classes Challenge 2012. The training split has 5,717 images, the
validation split 5,823; the boxes of the test split were never published.
"""

from pytest_dlbench.data.source import File, Source

SOURCE = Source(
    name="voc2012",
    about="11,540 photographs with boxes around objects, 1.9 GiB",
    page="http://host.robots.ox.ac.uk/pascal/VOC/voc2012/",
    contents=(
        "VOCdevkit/VOC2012/Annotations/*.xml",
        "VOCdevkit/VOC2012/ImageSets/Main/*.txt",
        "VOCdevkit/VOC2012/JPEGImages/*.jpg",
    ),
    files=(
        File(
            name="VOCtrainval_11-May-2012.tar",
            url="http://host.robots.ox.ac.uk/pascal/VOC/voc2012/VOCtrainval_11-May-2012.tar",
            checksum="md5:6cd6e144f989b92b3379bac3b3de84fd",
        ),
    ),
)
