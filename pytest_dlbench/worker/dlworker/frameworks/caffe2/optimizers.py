"""Updates written out in Caffe2's operators, where it lacks them or computes something else."""


def _number(model, name, value):
    return model.param_init_net.ConstantFill([], name, shape=[1], value=value)


def add_update(model, settings):
    one = _number(model, "one", 1.0)
    update = OPTIMIZERS[settings["kind"]](model, settings, one)
    for parameter in model.params:
        moved = update(parameter, model.param_to_grad[parameter])
        if moved is not None:
            model.net.WeightedSum([parameter, one, moved, "rate"], parameter)


def _slot(model, parameter, name):
    return model.param_init_net.ConstantFill([parameter], "%s_%s" % (parameter, name), value=0.0)


def _average(model, share_name, share):
    """A function that moves a slot towards a value (exponential moving average)."""
    old, new = _number(model, share_name, share), _number(model, share_name + "_new", 1.0 - share)
    return lambda slot, value: model.net.WeightedSum([slot, old, value, new], slot)


def _momentum(model, settings, one):
    momentum = _number(model, "momentum", settings["momentum"])

    def update(parameter, gradient):
        slot = _slot(model, parameter, "velocity")
        velocity = model.net.WeightedSum([slot, momentum, gradient, one], slot)
        if not settings["nesterov"]:
            return velocity
        return model.net.WeightedSum([gradient, one, velocity, momentum], "%s_moved" % parameter)

    return update


def _adam(model, settings, one):
    """Each step is fed the bias-corrected "rate" and the "correction" of the root."""
    mean, square = _average(model, "beta1", settings["beta1"]), _average(model, "beta2", settings["beta2"])
    epsilon = _number(model, "epsilon", settings["epsilon"])

    def update(parameter, gradient):
        net, name = model.net, str(parameter)
        first = mean(_slot(model, parameter, "mean"), gradient)
        second = square(_slot(model, parameter, "squares"), net.Sqr(gradient, name + "_square"))
        root = net.Mul([net.Sqrt(second, name + "_root"), "correction"], name + "_corrected", broadcast=1)
        return net.Div([first, net.Add([root, epsilon], name + "_divisor", broadcast=1)], name + "_moved")

    return update


def _rmsprop(model, settings, one):
    average, epsilon = _average(model, "rho", settings["rho"]), _number(model, "epsilon", settings["epsilon"])

    def update(parameter, gradient):
        net, name = model.net, str(parameter)
        squares = average(_slot(model, parameter, "squares"), net.Sqr(gradient, name + "_square"))
        root = net.Sqrt(squares, name + "_root")
        return net.Div([gradient, net.Add([root, epsilon], name + "_divisor", broadcast=1)], name + "_moved")

    return update


def _adadelta(model, settings, one):
    def update(parameter, gradient):
        slots = [_slot(model, parameter, "squares"), _slot(model, parameter, "moves")]
        numbers = {"epsilon": settings["epsilon"], "decay": settings["rho"]}
        model.net.Adadelta([parameter] + slots + [gradient, "rate"], [parameter] + slots, **numbers)

    return update


OPTIMIZERS = {"sgd": _momentum, "adam": _adam, "rmsprop": _rmsprop, "adadelta": _adadelta}


def clip(model, length):
    """Clip the gradients by their global norm."""
    net, gradients = model.net, [model.param_to_grad[parameter] for parameter in model.params]
    squares = [net.SumSqrElements(gradient, "%s_squares" % gradient) for gradient in gradients]
    norm = net.Sqrt(net.Sum(squares, "norm_square") if len(squares) > 1 else squares[0], "norm")
    most = model.param_init_net.ConstantFill([], "most", shape=[], value=length)
    factor = net.Div([most, net.Max([norm, most], "longest")], "factor")
    for gradient in gradients:
        net.Mul([gradient, factor], gradient, broadcast=1)


def add_weight_decay(model, share):
    # As optimizer.add_weight_decay(), and for biases, scales and shifts as well.
    one, decay = _number(model, "decay_one", 1.0), _number(model, "weight_decay", share)
    for parameter in model.params:
        gradient = model.param_to_grad[parameter]
        model.net.WeightedSum([gradient, one, parameter, decay], gradient)
