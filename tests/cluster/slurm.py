"""SLURM on the hosts of a network: its controller on the head, and a node on each of the others, one with a fake GPU.

All share one munged: its socket is a file. What differs between hosts is set by SLURM's own prolog of tasks.
"""

import os
import platform
import subprocess
from pathlib import Path

import psutil

from tests.cluster.conftest import HEAD, HOSTS, Network
from tests.running.processes import wait_for

# The host that has it.
WITH_GPU = HOSTS[0]
CONFIGURATION = """
ClusterName=tests
SlurmctldHost={here}({head})
SlurmUser=root
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool-%n
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd-%n.pid
ProctrackType=proctrack/linuxproc
TaskPlugin=task/affinity
TaskProlog={folder}/prolog
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
GresTypes=gpu
MpiDefault=none
ReturnToService=2
SlurmdTimeout=10
SchedulerParameters=sched_interval=1
{nodes}
PartitionName=tests Nodes={hosts} Default=YES MaxTime=INFINITE State=UP
"""
NODE = "NodeName={name} NodeAddr={address} CPUs={cpus} RealMemory=1000 State=UNKNOWN{gres}"


class Slurm:
    """SLURM's daemons in the namespaces of a network, with their files in its folder."""

    def __init__(self, network: Network) -> None:
        self.network, self.folder = network, network.folder / "slurm"
        self._daemons: list[subprocess.Popen[str]] = []

    def start(self) -> None:
        """All daemons; every node can be leased when this returns."""
        self._link_up()
        self.folder.mkdir()
        (self.folder / "state").mkdir()
        self._configure()
        key = self.folder / "munge.key"
        key.write_bytes(os.urandom(128))
        key.chmod(0o600)
        files = [
            f"--{name}={self.folder}/munge.{name.partition('-')[0]}" for name in ("socket", "pid-file", "log-file")
        ]
        self._start(HEAD, "munged", "--foreground", "--force", f"--key-file={key}", *files, f"--seed-file={key}.seed")
        wait_for((self.folder / "munge.socket").exists)
        self._start(HEAD, "slurmctld", "-D")
        for host in HOSTS:
            self._start(host, "slurmd", "-D", "-N", host)
        wait_for(lambda: all(self.state(host) == "idle" for host in HOSTS))

    def stop(self) -> None:
        """End all daemons."""
        for daemon in self._daemons:
            daemon.kill()
            daemon.wait()

    def repair(self) -> None:
        """Make every node free again, whatever an earlier test has done to it."""
        self._link_up()
        wait_for(lambda: not any(map(self.network.of_runs, HOSTS)))
        for host in HOSTS:
            if self.state(host) != "idle":
                for process in self.network.running(host, "slurmd"):
                    process.kill()
                self._start(host, "slurmd", "-D", "-N", host)
        wait_for(lambda: all(self.state(host) == "idle" for host in HOSTS) and not self.jobs())

    def state(self, host: str) -> str:
        """What SLURM says of a node: idle if it can be leased."""
        return self._answer("sinfo", "--noheader", f"--nodes={host}", "--format=%t")

    def jobs(self) -> list[str]:
        """The states of all leases: R if it is running, PD if it waits."""
        return self._answer("squeue", "--noheader", "--format=%t").split()

    def daemons_of_steps(self, host: str) -> list[psutil.Process]:
        """The processes by which SLURM watches over its leases of a host."""
        return self.network.running(host, "slurmstepd")

    def _link_up(self) -> None:
        for host in HOSTS:
            self.network.ip(HEAD, "link", "set", host, "up")

    def _configure(self) -> None:
        addresses = self.network.addresses
        nodes = "\n".join(
            NODE.format(
                name=host,
                address=addresses[host],
                cpus=os.cpu_count(),
                gres=" Gres=gpu:1" if host == WITH_GPU else "",
            )
            for host in HOSTS
        )
        values = {"here": platform.node(), "head": addresses[HEAD], "folder": self.folder}
        configuration = CONFIGURATION.format(**values, nodes=nodes, hosts=",".join(HOSTS))
        self.network.slurm_configuration.write_text(configuration)
        (self.folder / "gres.conf").write_text(f"NodeName={WITH_GPU} Name=gpu File=/dev/null\n")
        prolog = self.folder / "prolog"
        prolog.write_text(_prolog(self.network))
        prolog.chmod(0o700)

    def _answer(self, *command: str) -> str:
        with self.network.start(HEAD, *command, stdout=subprocess.PIPE) as started:
            return str(started.communicate()[0]).strip()

    def _start(self, host: str, *command: str) -> None:
        with (self.folder / f"{Path(command[0]).name}-{host}.txt").open("a") as printed:
            self._daemons.append(self.network.start(host, *command, stdout=printed, stderr=subprocess.STDOUT))


def _prolog(network: Network) -> str:
    """A program that prints the variables in which hosts differ."""
    lines = ["#!/bin/sh", 'case "$SLURMD_NODENAME" in']
    for host in HOSTS:
        own = {name: value for name, value in network.environment(host).items() if os.environ.get(name) != value}
        lines += [f"{host}) cat <<'END'", *(f"export {name}={value}" for name, value in own.items()), "END", ";;"]
    return "\n".join([*lines, "esac", ""])
