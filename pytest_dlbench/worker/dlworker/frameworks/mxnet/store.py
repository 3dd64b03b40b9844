"""The scheduler of MXNet's distributed KVStore, or a server of it, as a process of its own: ``-m … ROLE``.

A flag of the server says whether it keeps float64 in float32 ("multi-precision"). MXNet 1.9.1 never initialises it: it
is what was in the server's memory before, and where that is not 0, all sums have the precision of float32. So the
server is made in memory that is filled with zeros.
"""

import ctypes
import os
import sys

from dlworker.serving import die_with_parent

# glibc's number of the option to fill memory that is allocated, with the complement of this byte.
M_PERTURB, WITH_ZEROS = -6, 255
TUNABLES = "GLIBC_TUNABLES"
# These caches hand out memory as it was. Only blocks below a kilobyte are in them.
WITHOUT_CACHES = "glibc.malloc.tcache_count=0"
# The first worker says so once all have met.
IS_MADE = "the server is made"


def variables():
    """The environment variables of a server, in addition to those of its worker."""
    tunables = [one for one in (os.environ.get(TUNABLES), WITHOUT_CACHES) if one]
    return {TUNABLES: ":".join(tunables)}


def serve(role):
    """Serve until the first worker ends the store."""
    die_with_parent()
    # The variable is not set yet: with it, this import would serve, and never return.
    import mxnet  # noqa: PLC0415
    from mxnet.kvstore.kvstore_server import KVStoreServer  # noqa: PLC0415

    class Server(KVStoreServer):
        def _controller(self):
            usual = super()._controller()

            def control(command, body, unused):
                if body == IS_MADE.encode():
                    _fill(0)
                else:
                    usual(command, body, unused)

            return control

    os.environ["DMLC_ROLE"] = role
    store = mxnet.kv.create("dist")
    _fill(WITH_ZEROS)
    Server(store).run()


def _fill(byte):
    # MXNet's packages are for glibc.
    ctypes.CDLL(None).mallopt(M_PERTURB, byte)


if __name__ == "__main__":
    serve(sys.argv[1])
