"""A builder whose framework is here, and misses a library of the system."""

import ctypes

framework = ctypes.CDLL("libnobody-has-this.so.6")
configure, versions, Trainer = framework.configure, framework.versions, framework.Trainer
