"""The hot function of an inference server: a step answers the requests that wait."""

import json

import numpy as np
import torch
from inputs import TRAINED_ON, digits
from server import Server, request, trained


def build(run):
    torch.set_num_threads(run.threads)
    images, labels = digits()
    waiting = run.parameters["requests"]
    server = Server(trained(images[:TRAINED_ON], labels[:TRAINED_ON], run.seed))
    random = np.random.default_rng(run.seed)
    texts = [request(number, pixels) for number, pixels in enumerate(images)]

    def step(number):
        server.answer([texts[chosen] for chosen in random.integers(TRAINED_ON, size=waiting)])
        # Nothing is learned, so that there is no loss.
        return 0.0

    def evaluate():
        answers = [json.loads(answer) for answer in server.answer(texts[TRAINED_ON:])]
        return {"accuracy": np.mean([labels[answer["id"]] == answer["digit"] for answer in answers])}

    return {"step": step, "evaluate": evaluate, "samples_per_step": waiting}
