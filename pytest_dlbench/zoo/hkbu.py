"""Shi, Wang, Xu, Chu: "Benchmarking State-of-the-Art Deep Learning Software Tools" (v7, 2017), and its repository.

Ragged on purpose: fcn-r has three hidden layers of 2048, 4096 and 1024. (In the repository CNTK orders them 4096, 2048,
1024, which makes 13,714,442 parameters.)
"""

from pytest_dlbench.model import SGD, Dense, Flatten, Model, Recipe, Sigmoid, SoftmaxCrossEntropy

FCN_R = Model(
    name="hkbu-fcn-r",
    family="fcn",
    sources=("hkbu",),
    input_shape=(1, 28, 28),
    layers=(Flatten(), Dense(2048), Sigmoid(), Dense(4096), Sigmoid(), Dense(1024), Sigmoid(), Dense(10)),
    head=SoftmaxCrossEntropy(classes=10),
    # Batch sizes in the paper: 342, 512, 1024, 2048 and 4096; 1024 is its table 7 row.
    recipe=Recipe(batch_size=1024, epochs=40, optimizer=SGD(0.05, momentum=0.9)),
)

MODELS = (FCN_R,)
