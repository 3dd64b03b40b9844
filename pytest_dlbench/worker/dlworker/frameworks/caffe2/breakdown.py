"""The phases of Caffe2's steps: the operators of its training net, in order, as one net for each phase."""

from caffe2.python import core, workspace

from dlworker import breakdown as phases


def breakdown(trainer):
    """The phases, which have the operators and the blobs of the whole net."""
    return Phases(trainer)


class Phases(phases.Phases):
    """A step as four nets."""

    def __init__(self, trainer):
        super().__init__(trainer)
        operators, model = trainer.model.net.Proto().op, trainer.model
        cuts = zip(("input", "forward", "backward", "update"), model.begins, model.begins[1:] + [len(operators)])
        self._nets = [(name, self._net(name, operators[begin:end])) for name, begin, end in cuts]
        gradients = [str(model.param_to_grad[parameter]) for parameter in model.params]
        self._results = {"input": "label", "forward": "loss", "backward": gradients[0], "update": str(model.params[-1])}

    @staticmethod
    def _net(name, operators):
        net = core.Net("breakdown_" + name)
        net.Proto().op.extend(operators)
        workspace.CreateNet(net, overwrite=True)
        return net

    def phases(self, number):
        self.trainer.feed_step(number)
        for name, net in self._nets:
            workspace.RunNet(net)
            yield name, [self._results[name]]

    def read(self, arrays):
        for blob in arrays:
            workspace.FetchBlob(blob)
