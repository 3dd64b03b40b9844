"""A builder whose framework is not installed."""

import a_framework_that_nobody_has

configure, versions, Trainer = a_framework_that_nobody_has.all_of_it
