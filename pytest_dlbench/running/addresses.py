"""The network addresses of this host, and where its workers can listen."""

import ipaddress
import socket
from collections.abc import Iterable
from contextlib import ExitStack, suppress

import psutil

from pytest_dlbench.errors import DlbenchError

# Any: connecting a datagram socket sends nothing.
PORT = 9


def own() -> tuple[str, ...]:
    """The IPv4 addresses of this host that others may reach."""
    every = (address for of_one in psutil.net_if_addrs().values() for address in of_one)
    found = (one.address for one in every if one.family == socket.AF_INET)
    return tuple(address for address in found if not ipaddress.ip_address(address).is_loopback)


def towards(address: str) -> str:
    """The address of this host on its way to another one, or to itself; raises OSError if there is no way."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.connect((address, PORT))
        return str(probe.getsockname()[0])


def reached_from(others: Iterable[str]) -> str:
    """The address of this host for hosts with these addresses; raises DlbenchError if it has none."""
    here = own()
    for other in others:
        # Hosts may have equal addresses, such as those of a network of containers.
        if other not in here:
            with suppress(OSError):
                if (found := towards(other)) in here:
                    return found
    raise DlbenchError(
        f"the workers of several hosts cannot meet: this one, with the addresses {', '.join(here) or 'none'}, has no"
        f" way to {', '.join(others) or 'the others, which have no address'}"
    )


def interface_towards(address: str) -> str:
    """The name of the network interface by which this host reaches an address, also one of its own."""
    try:
        found = towards(address)
    except OSError as error:
        raise DlbenchError(f"the first worker's host, {address}, cannot be reached: {error.strerror}") from error
    every = psutil.net_if_addrs().items()
    names = [name for name, of_one in every if any(one.address == found for one in of_one)]
    if not names:
        raise DlbenchError(f"no network interface of this host has {found}, its address on the way to {address}")
    return names[0]


def free_ports(count: int, address: str) -> list[int]:
    """Ports at which nobody listens now; if somebody does before the workers meet there, the run fails and says so."""
    with ExitStack() as probes:
        sockets = [probes.enter_context(socket.socket()) for _ in range(count)]
        for probe in sockets:
            probe.bind((address, 0))
        return [probe.getsockname()[1] for probe in sockets]
