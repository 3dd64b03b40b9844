"""A builder whose framework is installed but misses a system library."""

import ctypes

framework = ctypes.CDLL("libnobody-has-this.so.6")
configure, versions, Trainer = framework.configure, framework.versions, framework.Trainer
