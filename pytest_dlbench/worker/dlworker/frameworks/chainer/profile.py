"""Chainer's own function timer: forward and backward. An optimiser's update is not a function, so it is missing."""

from chainer.function_hooks import TimerHook

from dlworker.profiling import processor_only


class OwnTimes(TimerHook):
    """Exclusive time of each function: a backward pass consists of functions, whose time the hook counts twice."""

    def __init__(self):
        super().__init__()
        self.seconds, self.within = {}, [0.0]

    def forward_preprocess(self, function, in_data):
        self.within.append(0.0)
        super().forward_preprocess(function, in_data)

    def backward_preprocess(self, function, in_data, out_grad):
        self.within.append(0.0)
        super().backward_preprocess(function, in_data, out_grad)

    def forward_postprocess(self, function, in_data):
        super().forward_postprocess(function, in_data)
        self._count()

    def backward_postprocess(self, function, in_data, out_grad):
        super().backward_postprocess(function, in_data, out_grad)
        self._count()

    def _count(self):
        name, whole = self.call_history[-1]
        own = whole - self.within.pop()
        self.within[-1] += whole
        self.seconds[name] = self.seconds.get(name, 0.0) + own


def profile(run, trainer, device):
    """{function: seconds} of what ``run`` does, forward and backward together."""
    processor_only("Chainer", device)
    with OwnTimes() as hook:
        run()
    return {name: taken for name, taken in hook.seconds.items() if taken > 0}
