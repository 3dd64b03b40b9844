"""A communicator that adds gradients up without dividing the sum."""


def install(parallel, group, plant):
    """Workers of this process use it."""
    communicator = parallel.COMMUNICATORS[0]
    mean = communicator.multi_node_mean_grad

    def summed(model, *arguments):
        mean(model, *arguments)
        for parameter in model.params():
            parameter.grad *= group["workers"]

    plant(communicator, "multi_node_mean_grad", summed)
