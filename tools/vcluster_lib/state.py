"""The folder of a cluster: what `down` needs to find everything, also after a crash.

One folder per cluster below /tmp/toprun-vcluster-UID, made before anything else and removed
last. While `up` or `down` works it holds a lock on the folder, which dies with the process.
"""

import dataclasses
import fcntl
import json
import os
import pathlib
import secrets
import shutil
import stat
import tempfile

from .errors import VclusterError
from .plan import Host, Plan

TOKEN_VARIABLE = "TOPRUN_VCLUSTER_ID"


@dataclasses.dataclass
class State:
    name: str
    token: str  # every process that we start carries it in its environment
    up_pid: int
    outer_netns: str  # the network namespace that is not ours to clean
    user_namespace: bool
    plan: Plan | None = None
    holders: dict[str, int] = dataclasses.field(default_factory=dict)  # name: process id
    cut: list[str] = dataclasses.field(default_factory=list)
    ready: bool = False

    @property
    def folder(self) -> pathlib.Path:
        return folder_of(self.name)

    @property
    def slurm_conf(self) -> pathlib.Path:
        return self.folder / "slurm" / "slurm.conf"


def base_folder() -> pathlib.Path:
    # A fixed place: with TMPDIR or XDG_RUNTIME_DIR, `down` could look elsewhere than `up` did.
    # Not /run: every host has a /run of its own.
    return pathlib.Path(f"/tmp/toprun-vcluster-{os.getuid()}")


def folder_of(name: str) -> pathlib.Path:
    return base_folder() / name


def create(name: str, outer_netns: str, user_namespace: bool) -> tuple[State, int]:
    """Claims the name. Returns the state and the descriptor that holds the folder's lock."""
    base = base_folder()
    base.mkdir(mode=0o755, exist_ok=True)
    info = base.lstat()
    if not stat.S_ISDIR(info.st_mode) or info.st_uid != os.getuid():
        raise VclusterError(f"{base} is not a folder of ours: remove it")
    try:
        folder_of(name).mkdir(mode=0o755)
    except FileExistsError:
        raise VclusterError(_why_it_exists(name)) from None
    lock = _lock(name)
    state = State(name, secrets.token_hex(16), os.getpid(), outer_netns, user_namespace)
    save(state)
    return state, lock


def _why_it_exists(name: str) -> str:
    flag = "" if name == "vcluster" else f" --name {name}"
    return (
        f"cluster '{name}' exists already: `vcluster down{flag}` ends it, "
        "`vcluster up --name OTHER` makes another"
    )


def _lock(name: str) -> int:
    descriptor = os.open(folder_of(name), os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        raise VclusterError(
            f"another vcluster command is changing cluster '{name}': wait until it ends"
        ) from None
    return descriptor


def save(state: State) -> None:
    text = json.dumps(dataclasses.asdict(state), indent=1)
    with tempfile.NamedTemporaryFile("w", dir=state.folder, delete=False) as file:
        file.write(text)
    os.replace(file.name, state.folder / "state.json")


def load(name: str) -> State:
    """The state of a cluster that is up."""
    state = read(name)
    if state is None:
        raise VclusterError(f"no cluster '{name}': `vcluster up` makes one")
    if not state.ready:
        raise VclusterError(
            f"cluster '{name}' was never finished: wait for its `up`, or `vcluster down`"
        )
    return state


def load_locked(name: str) -> tuple[State | None, int]:
    """For commands that change the cluster. No state: the folder holds nothing to undo."""
    try:
        lock = _lock(name)
    except FileNotFoundError:
        raise VclusterError(f"no cluster '{name}': nothing to do") from None
    return read(name), lock


def read(name: str) -> State | None:
    """Of a cluster in any condition; None where `up` was stopped before it wrote any."""
    try:
        fields = json.loads((folder_of(name) / "state.json").read_text())
    except FileNotFoundError:
        return None
    if fields["plan"] is not None:
        plan = fields["plan"]
        plan["hosts"] = [Host(**host) for host in plan["hosts"]]
        plan["login"] = Host(**plan["login"])
        fields["plan"] = Plan(**plan)
    return State(**fields)


def remove(name: str) -> None:
    shutil.rmtree(folder_of(name), ignore_errors=True)
    try:
        base_folder().rmdir()
    except OSError:
        pass  # other clusters live there


def names() -> list[str]:
    base = base_folder()
    return sorted(p.name for p in base.iterdir()) if base.is_dir() else []
