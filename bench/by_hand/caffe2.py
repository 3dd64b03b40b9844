"""tartu-mnist-cnn in Caffe2, as its MNIST tutorial writes it. Prints the steps' seconds."""

import json
import sys
import time

# This folder, where Python looks first, has files that are named like frameworks.
sys.path.pop(0)

import numpy as np
from caffe2.python import brew, core, model_helper, optimizer, workspace


def add_model(model, data, channels, features):
    conv1 = brew.conv(model, data, "conv1", dim_in=channels, dim_out=32, kernel=3)
    conv1 = brew.relu(model, conv1, conv1)
    conv2 = brew.conv(model, conv1, "conv2", dim_in=32, dim_out=64, kernel=3)
    conv2 = brew.relu(model, conv2, conv2)
    pool1 = brew.max_pool(model, conv2, "pool1", kernel=2, stride=2)
    dropout1 = brew.dropout(model, pool1, "dropout1", ratio=0.25, is_test=0)
    fc1 = brew.fc(model, dropout1, "fc1", dim_in=features, dim_out=128)
    fc1 = brew.relu(model, fc1, fc1)
    dropout2 = brew.dropout(model, fc1, "dropout2", ratio=0.5, is_test=0)
    return brew.fc(model, dropout2, "pred", 128, 10)


def main(asked):
    threads = asked["threads"]
    core.GlobalInit(["caffe2", f"--caffe2_omp_num_threads={threads}", f"--caffe2_mkl_num_threads={threads}"])
    images = np.load(asked["images"])
    order = np.load(asked["order"]).astype(np.int32)
    workspace.FeedBlob("images", images)
    workspace.FeedBlob("labels", np.load(asked["labels"]).astype(np.int32))
    workspace.FeedBlob("index", order[0])

    model = model_helper.ModelHelper(name="mnist_train", arg_scope={"order": "NCHW"})
    model.param_init_net.Proto().device_option.random_seed = 1
    model.net.Proto().device_option.random_seed = 1
    data = model.net.Gather(["images", "index"], "data")
    data = model.StopGradient(data, data)
    label = model.net.Gather(["labels", "index"], "label")
    height, width = images.shape[2:]
    pred = add_model(model, data, images.shape[1], 64 * ((height - 4) // 2) * ((width - 4) // 2))
    _, loss = model.net.SoftmaxWithLoss([pred, label], ["softmax", "loss"])
    model.AddGradientOperators([loss])
    optimizer.build_sgd(
        model, base_learning_rate=asked["learning_rate"], policy="fixed", momentum=asked["momentum"], nesterov=0
    )
    workspace.RunNetOnce(model.param_init_net)
    workspace.CreateNet(model.net, overwrite=True)

    seconds = []
    for number in range(asked["steps"]):
        began = time.monotonic()
        workspace.FeedBlob("index", order[number])
        workspace.RunNet(model.net)
        float(workspace.FetchBlob("loss"))
        seconds.append(time.monotonic() - began)
    print(json.dumps(seconds))


main(json.loads(sys.argv[1]))
