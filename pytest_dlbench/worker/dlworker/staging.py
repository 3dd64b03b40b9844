"""Memory of the host that a device copies by itself must not be freed or reused before it has."""


class InFlight(object):
    """Arrays that a device may still be copying."""

    def __init__(self):
        self._held = []

    def keep(self, arrays, is_done):
        """Keep these arrays, whose copies have been queued, until the function ``is_done`` returns true."""
        self._held = [one for one in self._held if not one[1]()] + [(arrays, is_done)]
