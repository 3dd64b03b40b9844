"""Wu, Liu, Pu et al.: "A Comparative Measurement Study of Deep Learning as a Service Framework".

The study trains eight "framework default" networks. Here so far: Caffe's LeNet, which the thesis of 2018 trains too.
"""

from pytest_dlbench.model import (
    SGD,
    Conv2D,
    Dense,
    Flatten,
    MaxPool,
    Model,
    Recipe,
    ReLU,
    SoftmaxCrossEntropy,
)

LENET = Model(
    name="gatech-lenet",
    family="cnn",
    sources=("gatech", "thesis"),
    input_shape=(1, 28, 28),
    # Caffe's form: no activation behind the convolutions.
    layers=(Conv2D(20, 5), MaxPool(2), Conv2D(50, 5), MaxPool(2), Flatten(), Dense(500), ReLU(), Dense(10)),
    head=SoftmaxCrossEntropy(classes=10),
    # Table 2: batch 64, 10,000 iterations = 10.67 epochs. Caffe's "inv" decay of the rate (gamma 1e-4, power 0.75)
    # waits for learning-rate schedules.
    recipe=Recipe(batch_size=64, epochs=11, optimizer=SGD(0.01, momentum=0.9, weight_decay=5e-4)),
)

MODELS = (LENET,)
