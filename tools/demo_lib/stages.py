"""Where the demo runs: on a virtual Slurm, on virtual hosts without one, on loopback addresses.

Each stage knows how torchrun and toprun are started there. The best that the machine permits is
taken; what the others lack is said.
"""

import dataclasses
import pathlib
import socket
import subprocess
import sys
import tempfile

from vcluster_lib import namespaces, plan, slurm
from vcluster_lib.errors import VclusterError

from .jobs import Command, DemoError

HOSTS = 8
RACKS = 4
RANKS_PER_HOST = 2
RANKS = HOSTS * RANKS_PER_HOST
UPLINK = "400mbit"
UPLINK_TEXT = "400 Mbit/s"
CPUS_PER_HOST = 4  # as Slurm counts them: room for the ranks
PORT = 29500
UP_LIMIT_S = 120

TOOLS = pathlib.Path(__file__).resolve().parent.parent


@dataclasses.dataclass
class Launchers:
    python: str  # has torch
    toprun: str

    def torchrun(self) -> list[str]:
        return [self.python, "-m", "torch.distributed.run"]

    def environment(self) -> dict[str, str]:
        """torchrun's worker Python is its own; toprun is told to take the same."""
        return {"PYTHON_EXEC": self.python, "OMP_NUM_THREADS": "1"}


class SlurmStage:
    """The seed's own command lines: one srun each."""

    title = f"{HOSTS} virtual hosts under a real Slurm, {RACKS} racks with uplinks of {UPLINK_TEXT}"
    has_slurm = True
    lacks = None
    has_network = True

    def __init__(self, launchers: Launchers, name: str):
        self.launchers = launchers
        self.name = name

    def open(self) -> None:
        _up(self.name, "--slurm", "--cpus", str(CPUS_PER_HOST))

    def close(self) -> None:
        _down(self.name)

    def torchrun(self, *script: str) -> list[Command]:
        # What `scontrol show hostnames $SLURM_JOB_NODELIST | head -n 1` gives on this cluster.
        first = "n0"
        return self._srun(
            *self.launchers.torchrun(),
            f"--nproc_per_node={RANKS_PER_HOST}",
            f"--rdzv_endpoint={first}:{PORT}",
            "--rdzv_backend=c10d",
            f"--nnodes={HOSTS}",
            *script,
        )

    def toprun(self, *script: str) -> list[Command]:
        return self._srun(self.launchers.toprun, f"--nproc-per-node={RANKS_PER_HOST}", *script)

    def _srun(self, *command: str) -> list[Command]:
        srun = ["srun", "--ntasks-per-node=1", f"--nodes={HOSTS}", *command]
        return [Command(_exec(self.name, plan.LOGIN, srun), self.launchers.environment())]


class HostsStage:
    """Without Slurm: the launchers' own way, one command on each host."""

    title = f"{HOSTS} virtual hosts, {RACKS} racks with uplinks of {UPLINK_TEXT}"
    has_slurm = False
    has_network = True

    def __init__(self, launchers: Launchers, name: str, lacks: str):
        self.launchers = launchers
        self.name = name
        self.lacks = f"no Slurm here ({lacks})"
        self.topology: tempfile.NamedTemporaryFile | None = None

    def open(self) -> None:
        _up(self.name)
        self.topology = tempfile.NamedTemporaryFile("w", suffix=".topology")
        self.topology.write(plan.locations(_racks()))
        self.topology.flush()

    def close(self) -> None:
        if self.topology:
            self.topology.close()
        _down(self.name)

    def torchrun(self, *script: str) -> list[Command]:
        # torchrun knows no places; its workers are told, to print them.
        places = [line.split()[1] for line in plan.locations(_racks()).splitlines()]
        commands = self._everywhere(self.launchers.torchrun(), script)
        for place, command in zip(places, commands):
            command.environment["TOPRUN_LOCATION"] = place
        return commands

    def toprun(self, *script: str) -> list[Command]:
        toprun = [self.launchers.toprun, f"--topology={self.topology.name}"]
        return self._everywhere(toprun, script)

    def _everywhere(self, launcher: list[str], script: tuple[str, ...]) -> list[Command]:
        words = [*launcher, *_by_hand("n0", PORT), *script]
        hosts = [host.name for host in _racks().hosts]
        environment = self.launchers.environment()
        return [Command(_exec(self.name, host, words), dict(environment)) for host in hosts]


class LoopbackStage:
    """Without namespaces: one launcher per loopback address of this machine, with what a Slurm
    step would tell it about its place, since all share one host name."""

    title = f"{HOSTS} loopback addresses that stand for hosts in {RACKS} racks"
    has_slurm = False
    has_network = False

    def __init__(self, launchers: Launchers, lacks: str):
        self.launchers = launchers
        self.lacks = f"network part skipped: no virtual hosts here ({lacks})"
        self.port = _free_port()

    def open(self) -> None:
        pass

    def close(self) -> None:
        pass

    def torchrun(self, *script: str) -> list[Command]:
        return self._everywhere(self.launchers.torchrun(), script)

    def toprun(self, *script: str) -> list[Command]:
        return self._everywhere([self.launchers.toprun], script)

    def _everywhere(self, launcher: list[str], script: tuple[str, ...]) -> list[Command]:
        commands = []
        for host in _racks().hosts:
            here = f"--local-addr=127.0.0.{host.index + 1}"
            words = [*launcher, *_by_hand("127.0.0.1", self.port), here, *script]
            environment = {
                **self.launchers.environment(),
                **_slurm_step(host),
                "GLOO_SOCKET_IFNAME": "lo",
            }
            commands.append(Command(words, environment))
        return commands


def _racks() -> plan.Plan:
    return plan.make_plan(HOSTS, RACKS, None)


def _by_hand(endpoint: str, port: int) -> list[str]:
    return [
        f"--nnodes={HOSTS}",
        f"--nproc-per-node={RANKS_PER_HOST}",
        "--rdzv-backend=c10d",
        f"--rdzv-endpoint={endpoint}:{port}",
        "--rdzv-id=demo",
    ]


def _slurm_step(host: plan.Host) -> dict[str, str]:
    """As srun with one task per node would set it."""
    return {
        "SLURM_JOB_ID": "1",
        "SLURM_JOB_NUM_NODES": str(HOSTS),
        "SLURM_JOB_NODELIST": f"n[0-{HOSTS - 1}]",
        "SLURM_STEP_ID": "0",
        "SLURM_STEP_NUM_NODES": str(HOSTS),
        "SLURM_STEP_NUM_TASKS": str(HOSTS),
        "SLURM_STEP_TASKS_PER_NODE": f"1(x{HOSTS})",
        "SLURM_STEP_NODELIST": f"n[0-{HOSTS - 1}]",
        "SLURM_NODEID": str(host.index),
        "SLURM_PROCID": str(host.index),
        "SLURM_LOCALID": "0",
        "SLURMD_NODENAME": host.name,
        "SLURM_TOPOLOGY_ADDR": f"{plan.CORE}.{host.rack}.{host.name}",
        "SLURM_TOPOLOGY_ADDR_PATTERN": "switch.switch.node",
    }


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def _vcluster(verb: str, name: str, *words: str) -> list[str]:
    return [sys.executable, str(TOOLS / "vcluster"), verb, "--name", name, *words]


def _exec(name: str, host: str, command: list[str]) -> list[str]:
    return _vcluster("exec", name, host, *command)


def _up(name: str, *words: str) -> None:
    shape = ["--hosts", str(HOSTS), "--racks", str(RACKS), "--uplink", UPLINK]
    command = _vcluster("up", name, *shape, *words)
    done = subprocess.run(command, capture_output=True, text=True, timeout=UP_LIMIT_S, check=False)
    if done.returncode != 0:
        raise DemoError(done.stderr.strip().removeprefix("vcluster: "))


def _down(name: str) -> None:
    subprocess.run(_vcluster("down", name), stderr=subprocess.DEVNULL, check=True)


def choose(launchers: Launchers, name: str, is_root: bool):
    try:
        namespaces.check_permitted(not is_root)
    except VclusterError as error:
        return LoopbackStage(launchers, str(error))
    try:
        slurm.check_permitted(not is_root)
    except VclusterError as error:
        return HostsStage(launchers, name, str(error))
    return SlurmStage(launchers, name)
