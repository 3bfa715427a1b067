"""A real sshd on every virtual host, so that `toprun --hosts` and mpirun find one another.

Keys, known hosts and configuration are the cluster's own; nothing below ~/.ssh is written. The
client's comes before /etc/ssh/ssh_config's and after the user's, as the system's would.
"""

import shutil
import subprocess

from .errors import VclusterError
from .namespaces import inside, run
from .plan import Plan
from .state import State

SSHD = "/usr/sbin/sshd"
CLIENT_CONFIGURATION = "/etc/ssh/ssh_config"

_CLIENT = """\
Host *
  IdentityFile {folder}/id
  UserKnownHostsFile {folder}/known_hosts
  StrictHostKeyChecking yes
"""

_SERVER = """\
HostKey {folder}/host_key
PidFile none
AuthorizedKeysFile {folder}/id.pub
StrictModes no
PermitRootLogin yes
PasswordAuthentication no
KbdInteractiveAuthentication no
UsePAM no
MaxStartups 100
"""


def check_permitted(user_namespace: bool) -> None:
    if user_namespace:
        # sshd changes its user and groups at a login, which a user namespace of one user forbids.
        raise VclusterError("--ssh: sshd needs root: run as root, or leave --ssh out")
    if not shutil.which(SSHD) or not shutil.which("ssh"):
        raise VclusterError("--ssh: not installed: apt-get install openssh-server openssh-client")


def start(state: State, plan: Plan) -> None:
    folder = state.folder / "ssh"
    folder.mkdir(mode=0o700)
    for key in ("id", "host_key"):
        subprocess.run(
            ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", folder / key], check=True
        )
    (folder / "known_hosts").write_text("* " + (folder / "host_key.pub").read_text())
    client, server = folder / "client", folder / "server"
    client.write_text(_CLIENT.format(folder=folder))
    server.write_text(_SERVER.format(folder=folder))
    for host in plan.everybody():
        there = inside(state, host.name)
        run(state, *there, "mount", "--bind", str(client), CLIENT_CONFIGURATION)
        run(state, *there, "mkdir", "-m", "755", "/run/sshd")
        run(state, *there, SSHD, "-f", str(server))
