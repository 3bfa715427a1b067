"""Hosts as namespaces: one sleeping process holds a host's network, mount and UTS namespaces.

Nothing is pinned in the file system, so when the last process of a cluster ends the kernel
removes its namespaces, and with them every interface, address, queue and mount.
"""

import os
import pathlib
import signal
import subprocess
import time

from .errors import VclusterError
from .plan import SWITCHES, Host, Plan
from .state import TOKEN_VARIABLE, State, save

KILL_S = 10
OF_ADMINISTRATORS = ":/usr/sbin:/sbin"  # their programs' folders, which a user's PATH lacks
POLL_S = 0.02

# Why each mount: the hosts file makes names resolve. A fresh sysfs shows the host's own
# interfaces, with the cgroup mounts kept because slurmd looks for them. An own /run keeps the
# machine's daemons (nscd, resolved, munge) from answering on the host.
_HOLD_HOST = """
set -e
hostname "$1"
mount --bind "$2/hosts/$1" /etc/hosts
if [ -d /sys/fs/cgroup ]; then
  mount --rbind /sys/fs/cgroup "$2/scratch"
  mount -t sysfs sysfs /sys
  mount --rbind "$2/scratch" /sys/fs/cgroup
  umount -l "$2/scratch"
else
  mount -t sysfs sysfs /sys
fi
mount -t tmpfs -o mode=755,size=16m tmpfs /run
mkdir -m 755 /run/munge /run/lock
mount --bind "$2/munge" /run/munge
ip link set lo up
echo ready
exec sleep infinity >/dev/null 2>&1
"""

_HOLD_SWITCHES = """
set -e
hostname "$1"
ip link set lo up
echo ready
exec sleep infinity >/dev/null 2>&1
"""


def netns_of(pid: int | str) -> str:
    return os.readlink(f"/proc/{pid}/ns/net")


def _environment() -> dict[str, str]:
    return {**os.environ, "PATH": os.environ.get("PATH", "/usr/bin:/bin") + OF_ADMINISTRATORS}


def of_the_cluster(state: State) -> dict[str, str]:
    """The token by which `down` knows a process, and where Slurm's configuration is."""
    slurm = {"SLURM_CONF": str(state.slurm_conf)} if state.slurm_conf.exists() else {}
    return {TOKEN_VARIABLE: state.token, **slurm}


def environment(state: State) -> dict[str, str]:
    """Of every process that we start."""
    return {**_environment(), **of_the_cluster(state)}


def run(state: State, *argv: str, text: str = "") -> str:
    """Runs a command of ours to its end; its failure is ours."""
    try:
        done = subprocess.run(
            argv, input=text, capture_output=True, text=True, env=environment(state), check=False
        )
    except FileNotFoundError:
        raise VclusterError(f"{argv[0]} is not installed: apt-get install iproute2") from None
    if done.returncode != 0:
        command = " ".join(argv[:6])
        reason = done.stderr.strip().replace("\n", "; ") or f"exit code {done.returncode}"
        raise VclusterError(f"`{command} …`: {reason}")
    return done.stdout


def inside(state: State, holder: str, folder: str = "/") -> list[str]:
    """The words before a command that make it run on a host, in `folder`."""
    users = ["--user", "--preserve-credentials"] if state.user_namespace else []
    target = ["nsenter", "--target", str(state.holders[holder])]
    return [*target, *users, "--net", "--mount", "--uts", f"--wdns={folder}", "--"]


def _new_namespaces(state: State, holder: str) -> list[str]:
    unshare = ["unshare", "--net", "--mount", "--uts"]
    if not state.user_namespace:
        return unshare
    if not state.holders:  # the first one makes the user namespace that all share
        return [*unshare, "--user", "--map-root-user"]
    first = next(iter(state.holders.values()))
    return ["nsenter", "--target", str(first), "--user", "--preserve-credentials", "--", *unshare]


def hold(state: State, holder: str, is_host: bool) -> subprocess.Popen:
    """Starts the process that holds a host's namespaces; `wait_ready` must follow."""
    script = _HOLD_HOST if is_host else _HOLD_SWITCHES
    process = subprocess.Popen(
        [*_new_namespaces(state, holder), "sh", "-c", script, "holder", holder, str(state.folder)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd="/",
        env=environment(state),
        start_new_session=True,  # Ctrl-C at a terminal is for `up`, not for the hosts
    )
    state.holders[holder] = process.pid
    return process


def wait_ready(holder: str, process: subprocess.Popen) -> None:
    line = process.stdout.readline()  # ends with the script: its commands cannot wait for long
    if line == "ready\n":
        process.stdout.close()
        process.stderr.close()
        return
    reason = process.stderr.read().strip().replace("\n", "; ")
    raise VclusterError(f"host {holder}: its namespaces could not be made: {reason}")


def check_permitted(user_namespace: bool) -> None:
    """One try of what every host needs, so that what is missing is said in one line."""
    users = ["--user", "--map-root-user"] if user_namespace else []
    tries = "ip link set lo up && mount -t sysfs sysfs /sys && hostname probe"
    probe = ["unshare", *users, "--net", "--mount", "--uts", "sh", "-c", tries]
    try:
        done = subprocess.run(
            probe, capture_output=True, text=True, env=_environment(), check=False
        )
    except FileNotFoundError:
        raise VclusterError("unshare is not installed: apt-get install util-linux") from None
    if done.returncode == 0:
        return
    reason = done.stderr.strip().replace("\n", "; ")
    if "ip: not found" in reason:
        raise VclusterError("ip is not installed: apt-get install iproute2")
    if user_namespace:
        raise VclusterError(
            f"not root, and user namespaces are not permitted ({reason}): run as root, or set "
            "sysctl kernel.unprivileged_userns_clone=1 (Debian) or "
            "kernel.apparmor_restrict_unprivileged_userns=0 (Ubuntu)"
        )
    raise VclusterError(
        f"root, but namespaces are not permitted ({reason}): needs CAP_SYS_ADMIN and "
        "CAP_NET_ADMIN, in a container --privileged"
    )


def is_ours(state: State, pid: int) -> bool:
    """Process ids are used again; the token is not."""
    try:
        words = pathlib.Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
    except OSError:
        return False
    return f"{TOKEN_VARIABLE}={state.token}".encode() in words


def check_alive(state: State, holder: str) -> None:
    if not is_ours(state, state.holders[holder]):
        raise VclusterError(
            f"host {holder} of cluster '{state.name}' is gone (its process was killed): "
            "`vcluster down`, then up"
        )


def processes(state: State) -> dict[int, str]:
    """Every process of the cluster with its network namespace: those that carry the token, and
    those in a namespace of theirs (a job's environment may have been emptied)."""
    spaces: dict[int, str] = {}
    for entry in os.listdir("/proc"):
        if entry.isdigit() and int(entry) != os.getpid():
            try:
                spaces[int(entry)] = netns_of(entry)
            except OSError:
                continue  # ended, a zombie, or somebody else's
    tokens = {pid for pid in spaces if is_ours(state, pid)}
    ours = {spaces[pid] for pid in tokens} - {state.outer_netns}
    return {pid: ns for pid, ns in spaces.items() if pid in tokens or ns in ours}


def kill_all(state: State) -> None:
    """Again and again, since a process may fork while we look."""
    deadline = time.monotonic() + KILL_S
    while left := processes(state):
        for pid in left:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        if time.monotonic() > deadline:
            pids = ", ".join(str(pid) for pid in sorted(left))
            raise VclusterError(f"processes {pids} do not end: kill them, then `vcluster down`")
        time.sleep(POLL_S)


def hold_all(state: State, plan: Plan) -> None:
    """The switches first: in a user namespace the others join theirs."""
    wait_ready(SWITCHES, hold(state, SWITCHES, is_host=False))
    started: list[tuple[Host, subprocess.Popen]] = []
    for host in plan.everybody():
        started.append((host, hold(state, host.name, is_host=True)))
    save(state)
    for host, process in started:
        wait_ready(host.name, process)
