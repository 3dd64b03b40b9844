"""Delays what a host sends, on every kernel: not all have netem.

``python -m tests.cluster.delaying DEVICE BRIDGE SECONDS`` on the head: frames from DEVICE, which is the other end of a
host's link, reach the bridge after SECONDS, by a TAP device; those to it are not delayed. It prints a line once it is
ready, and works until it is killed. Before, ``python -m tests.cluster.delaying DEVICE`` on the host: it then sends
whole frames, which it otherwise leaves to a network adapter that does not exist.
"""

import ctypes
import fcntl
import os
import select
import socket
import struct
import subprocess
import sys
from collections import deque
from time import monotonic

TUN, TUNSETIFF, IFF_TAP, IFF_NO_PI = "/dev/net/tun", 0x400454CA, 0x0002, 0x1000
ETH_P_ALL = 3
SIOCETHTOOL = 0x8946
# Checksums, segmentation of TCP, and that of all protocols.
ETHTOOL_STXCSUM, ETHTOOL_STSO, ETHTOOL_SGSO = 0x17, 0x1F, 0x24
# The largest frame, with its header: one frame carries as much as a segment of TCP may have.
MTU, FRAME_BYTES = 65_000, 65_536
BUFFER_BYTES = 2**26


def tap(name: str, bridge: str) -> int:
    """A new TAP device on the bridge."""
    device = os.open(TUN, os.O_RDWR | os.O_NONBLOCK)
    fcntl.ioctl(device, TUNSETIFF, struct.pack("16sH", name.encode(), IFF_TAP | IFF_NO_PI))
    # Thousands of frames may wait for this process.
    for words in (("mtu", str(MTU)), ("txqueuelen", "10000"), ("master", bridge), ("up",)):
        subprocess.run(["ip", "link", "set", name, *words], check=True)
    return device


def packets(name: str) -> socket.socket:
    """A socket for all frames on a device."""
    frames = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ETH_P_ALL))
    frames.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, BUFFER_BYTES)
    frames.bind((name, 0))
    frames.setblocking(False)
    return frames


def relay(frames: socket.socket, device: int, delay_seconds: float) -> None:
    """Pass frames on for ever."""
    waiting: deque[tuple[float, bytes]] = deque()
    while True:
        left = max(0.0, waiting[0][0] - monotonic()) if waiting else None
        ready = select.select([frames, device], [], [], left)[0]
        if device in ready:
            frames.send(os.read(device, FRAME_BYTES))
        if frames in ready:
            frame, (_, _, kind, *_) = frames.recvfrom(FRAME_BYTES)
            if kind != socket.PACKET_OUTGOING:
                waiting.append((monotonic() + delay_seconds, frame))
        while waiting and waiting[0][0] <= monotonic():
            os.write(device, waiting.popleft()[1])


def send_whole_frames(name: str) -> None:
    """Let the kernel cut and sum up what a device sends, as ``ethtool -K NAME tx off tso off gso off`` does."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:
        for command in (ETHTOOL_STXCSUM, ETHTOOL_STSO, ETHTOOL_SGSO):
            off = ctypes.create_string_buffer(struct.pack("II", command, 0))
            fcntl.ioctl(control, SIOCETHTOOL, struct.pack("16sP", name.encode(), ctypes.addressof(off)))


def main(name: str, bridge: str = "", delay_seconds: str = "0") -> None:
    """Relay, or prepare a host for it."""
    if not bridge:
        send_whole_frames(name)
        return
    device, frames = tap(f"{name}-late", bridge), packets(name)
    print("ready", flush=True)
    relay(frames, device, float(delay_seconds))


if __name__ == "__main__":
    main(*sys.argv[1:])
