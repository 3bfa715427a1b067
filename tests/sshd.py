"""A real sshd on every virtual host, with host keys, a user key and a configuration that nobody else
has; nothing below ~/.ssh is read or written."""

import pathlib
import subprocess

import support

UP_LIMIT_S = 30


def keygen(path):
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(path)], check=True)
    return path


class Daemons:
    """`folder` holds everything; each host has a cache of its own at folder/cache/HOST."""

    def __init__(self, virtual, hosts, folder):
        self.virtual, self.hosts, self.folder = virtual, hosts, pathlib.Path(folder)
        self.config = self.folder / "config"
        self.known = self.folder / "known_hosts"
        self.running = {}
        keygen(self.folder / "id")
        (self.folder / "authorized").write_text((self.folder / "id.pub").read_text())
        for host in hosts:
            key = keygen(self.folder / f"key.{host}")
            with self.known.open("a") as known:
                known.write(f"{host} {pathlib.Path(f'{key}.pub').read_text()}")
        self.config.write_text(self.client_configuration())

    def client_configuration(self):
        """With hosts that go wrong in the ways that the tests want."""
        common = f"""
Host *
  User root
  IdentitiesOnly yes
  UserKnownHostsFile {self.known}
  GlobalKnownHostsFile /dev/null
  StrictHostKeyChecking yes
  KexAlgorithms curve25519-sha256
  SendEnv {support.MARK}
"""
        odd = f"""
Host nokey
  HostName {self.hosts[0]}
  IdentityFile {self.folder}/none
Host noport
  HostName {self.hosts[0]}
  Port 9
Host alias
  HostName {self.hosts[0]}
  HostKeyAlias {self.hosts[0]}
Host unknown
  HostName {self.hosts[0]}
  HostKeyAlias unknown
Host * !nokey
  IdentityFile {self.folder}/id
"""
        return odd + common

    def start(self, host):
        home, cache = self.folder / "home" / host, self.folder / "cache" / host
        home.mkdir(parents=True, exist_ok=True)  # nobody's login scripts
        cache.mkdir(parents=True, exist_ok=True)
        configuration = self.folder / f"sshd.{host}"
        configuration.write_text(f"""
HostKey {self.folder}/key.{host}
PidFile none
AuthorizedKeysFile {self.folder}/authorized
StrictModes no
PermitRootLogin yes
PasswordAuthentication yes
KbdInteractiveAuthentication no
UsePAM no
MaxStartups 10:30:100
AcceptEnv {support.MARK}
SetEnv HOME={home} XDG_CACHE_HOME={cache} ON_HOST={host}
""")
        # Its own session's environment holds no mark: it is no process of any test.
        daemon = f"mkdir -p -m 755 /run/sshd && exec /usr/sbin/sshd -D -e -f {configuration}"
        with (self.folder / f"log.{host}").open("ab") as log:
            self.running[host] = subprocess.Popen(self.virtual.on(host, "sh", "-c", daemon),
                                                  stdin=subprocess.DEVNULL, stdout=log, stderr=log)

    def start_all(self):
        for host in self.hosts:
            self.start(host)
        check = "; ".join(f"until bash -c '</dev/tcp/{host}/22' 2>/dev/null; do sleep 0.05; done"
                          for host in self.hosts)
        subprocess.run(self.virtual.on("ctl", "sh", "-c", check), check=True, timeout=UP_LIMIT_S)

    def stop_all(self):
        for daemon in self.running.values():
            daemon.kill()
            daemon.wait()

    def ssh(self):
        return f"ssh -F {self.config}"

    def sessions(self, host):
        """The processes of sshd that serve one login each."""
        return support.children(self.running[host].pid)
