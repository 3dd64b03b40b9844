"""A store whose sums are not divided by the number of workers."""


def install(parallel, group, plant):
    """Workers of this process use it."""
    usual = parallel.Trainer._set_up

    def set_up(self, recipe):
        usual(self, recipe)
        self.workers = 1

    plant(parallel.Trainer, "_set_up", set_up)
