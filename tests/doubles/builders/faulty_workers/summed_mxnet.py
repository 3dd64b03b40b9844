"""A store whose sums are not divided by the number of workers."""

from mxnet import gluon


def install(parallel, group, plant):
    """Workers of this process use it."""
    if hasattr(parallel.Trainer, "copies"):
        _install_in_one_process(group, plant)
        return
    usual = parallel.Trainer._set_up

    def set_up(self, recipe):
        usual(self, recipe)
        self.workers = 1

    plant(parallel.Trainer, "_set_up", set_up)


def _install_in_one_process(group, plant):
    usual = gluon.Trainer.allreduce_grads

    def summed(self):
        usual(self)
        for parameter in self._params:
            for gradient in parameter.list_grad() if parameter.grad_req != "null" else ():
                gradient[:] = gradient * group["workers"]

    plant(gluon.Trainer, "allreduce_grads", summed)
