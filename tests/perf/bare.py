"""The framework code of a builder without the driver: run by bench_overhead.py, prints the seconds of every step."""

import json
import sys
from time import monotonic

import numpy as np
from dlworker.frameworks import pytorch

plan = json.loads(sys.argv[1])
pytorch.configure(plan["threads"])
trainer = pytorch.Trainer(plan["network"], plan["recipe"], np.load(plan["weights"]), "cpu", plan["seed"])
# Memory-mapped, as in the worker: freeing a large array before training moves glibc's threshold between heap and mapped
# memory, which changes PyTorch's speed by 25 %.
trainer.load(*(np.load(plan[name], mmap_mode="r") for name in ("images", "labels", "order")))
seconds = []
for number in range(plan["steps"]):
    began = monotonic()
    trainer.step(number).item()
    seconds.append(monotonic() - began)
print(json.dumps(seconds))
