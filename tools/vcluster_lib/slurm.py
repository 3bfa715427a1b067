"""A real Slurm on the virtual hosts: munge, slurmctld on the login host, one slurmd per host.

Everything that it writes is in the cluster's folder, its munge has a key and a socket of its
own, so a Slurm or munge of the machine itself is not touched.
"""

import os
import secrets
import shutil
import time

from .errors import VclusterError
from .namespaces import OF_ADMINISTRATORS, inside, run
from .plan import LOGIN, Plan, main_address, topology_file
from .state import State

IDLE_S = 40  # on two busy cores; 3 s is usual
POLL_S = 0.1
TAIL_LINES = 8
NODE_MEMORY_MB = 4000

_PROGRAMS = {
    "munged": "munge",
    "slurmctld": "slurmctld",
    "slurmd": "slurmd",
    "sinfo": "slurm-client",
}

_SLURM_CONF = """\
ClusterName={name}
SlurmctldHost={login}({login_address})
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket={folder}/munge/munge.socket.2
StateSaveLocation={folder}/slurm/state
SlurmctldPidFile={folder}/slurm/slurmctld.pid
SlurmctldLogFile={folder}/slurm/slurmctld.log
SlurmdSpoolDir={folder}/slurm/%n
SlurmdPidFile={folder}/slurm/%n.pid
SlurmdLogFile={folder}/slurm/%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
MailProg=/bin/true
MpiDefault=none
SlurmdParameters=config_overrides
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SchedulerParameters=batch_sched_delay=0,sched_min_interval=0,bf_interval=1
SlurmdTimeout=10
KillWait=5
MinJobAge=10
ReturnToService=2
PreemptType=preempt/partition_prio
PreemptMode=REQUEUE
PartitionName=main Nodes=ALL Default=YES MaxTime=INFINITE State=UP GraceTime=5
PartitionName=urgent Nodes=ALL MaxTime=INFINITE State=UP PriorityTier=10 PreemptMode=OFF
"""


# Named, since slurmd ends where it finds neither version by itself. Nothing below uses cgroups,
# and the plugin of version 1 starts on machines of either version.
_CGROUP_CONF = "CgroupPlugin=cgroup/v1\n"

_GPU_FOLDER = "/run/gpus"


def check_permitted(user_namespace: bool) -> None:
    if user_namespace:
        # slurmd drops its supplementary groups, which a user namespace of one user forbids.
        raise VclusterError("--slurm: slurmd needs root: run as root, or leave --slurm out")
    path = os.environ.get("PATH", "") + OF_ADMINISTRATORS
    lacking = [package for name, package in _PROGRAMS.items() if not shutil.which(name, path=path)]
    if lacking:
        packages = " ".join([*lacking, "slurm-wlm-basic-plugins"])
        raise VclusterError(f"--slurm: not installed: apt-get install {packages}")


def configuration(state: State, plan: Plan) -> str:
    text = _SLURM_CONF.format(
        name=state.name,
        login=LOGIN,
        login_address=main_address(plan, plan.login),
        folder=state.folder,
    )
    if plan.slurm_topology != "yaml":  # that names its plugins itself
        text += f"TopologyPlugin=topology/{plan.slurm_topology}\n"
    gres = f" Gres=gpu:{plan.gpus}" if plan.gpus else ""
    if plan.gpus:
        text += "GresTypes=gpu\n"
    for host in plan.hosts:
        # Addresses, not names: a host's own name may not resolve, by --own-name.
        text += (
            f"NodeName={host.name} NodeAddr={main_address(plan, host)} CPUs={plan.cpus} "
            f"RealMemory={NODE_MEMORY_MB}{gres} State=UNKNOWN\n"
        )
    return text


def start(state: State, plan: Plan) -> None:
    folder = state.folder / "slurm"
    (folder / "state").mkdir(parents=True)
    state.slurm_conf.write_text(configuration(state, plan))
    name, text = topology_file(plan)
    (folder / name).write_text(text)
    (folder / "cgroup.conf").write_text(_CGROUP_CONF)
    if plan.gpus:
        _make_up_gpus(state, plan)
    for host in plan.hosts:
        (folder / host.name).mkdir()
    _start_munge(state)
    run(state, *inside(state, LOGIN), "slurmctld")
    for host in plan.hosts:
        run(state, *inside(state, host.name), "slurmd", "-N", host.name)


def _make_up_gpus(state: State, plan: Plan) -> None:
    """Twins of /dev/null in each host's own /run: /dev is the machine's. Slurm wants character devices,
    tells them apart by their paths, and numbers those of a job in CUDA_VISIBLE_DEVICES."""
    files = [f"{_GPU_FOLDER}/nvidia{i}" for i in range(plan.gpus)]
    for host in plan.hosts:
        run(state, *inside(state, host.name), "mkdir", _GPU_FOLDER)
        for file in files:
            run(state, *inside(state, host.name), "mknod", file, "c", "1", "3")
    lines = "".join(f"Name=gpu File={file}\n" for file in files)
    (state.folder / "slurm" / "gres.conf").write_text(lines)


def _start_munge(state: State) -> None:
    folder = state.folder / "munge"
    key = folder / "munge.key"
    key.touch(mode=0o400)
    key.chmod(0o600)
    key.write_bytes(secrets.token_bytes(1024))
    key.chmod(0o400)
    files = [
        f"--key-file={key}",
        f"--socket={folder}/munge.socket.2",
        f"--pid-file={folder}/munged.pid",
        f"--log-file={folder}/munged.log",
        f"--seed-file={folder}/munged.seed",
    ]
    run(state, *inside(state, LOGIN), "munged", *files)


def node_states(state: State) -> dict[str, str]:
    """Node name: state in words, as sinfo says it ("idle", "down*" …)."""
    text = run(state, *inside(state, LOGIN), "sinfo", "--noheader", "-N", "-o", "%N %T")
    return dict(line.split() for line in text.splitlines())


def wait_idle(state: State, plan: Plan) -> None:
    deadline = time.monotonic() + IDLE_S
    seen: dict[str, str] = {}
    while time.monotonic() < deadline:
        try:
            seen = node_states(state)
        except VclusterError:
            pass  # slurmctld does not answer yet
        if len(seen) == len(plan.hosts) and set(seen.values()) == {"idle"}:
            return
        time.sleep(POLL_S)
    raise VclusterError(_why_not_idle(state, plan, seen))


def _why_not_idle(state: State, plan: Plan, seen: dict[str, str]) -> str:
    late = [host.name for host in plan.hosts if seen.get(host.name) != "idle"]
    log = state.folder / "slurm" / (f"{late[0]}.log" if seen else "slurmctld.log")
    try:
        tail = log.read_text(errors="replace").splitlines()[-TAIL_LINES:]
    except OSError as error:
        tail = [str(error)]
    states = ", ".join(f"{name} {seen.get(name, 'unknown')}" for name in late)
    return f"Slurm: not idle after {IDLE_S} s: {states}; end of {log.name}:\n  " + "\n  ".join(tail)
