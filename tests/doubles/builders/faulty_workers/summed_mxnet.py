"""A store whose sums are not divided by the number of workers."""


def install(parallel, group):
    """Workers of this process use it."""
    usual = parallel.Trainer._set_up

    def set_up(self, recipe):
        usual(self, recipe)
        self.workers = 1

    parallel.Trainer._set_up = set_up
