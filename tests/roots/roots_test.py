"""The way of a new user into clean systems: install.sh, then two ranks. `make test-roots`, before a release.

The systems are minimal roots of their distributions (debootstrap, below build/roots), of this machine's architecture and
of aarch64, which qemu-user runs elsewhere.
"""

import dataclasses
import pathlib
import re
import shutil
import subprocess
import sys
import time
import unittest
import urllib.request

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import support
from released import ARCHITECTURE, BUILT, made, needs_tools

DEBIAN_NAMES = {"x86_64": "amd64", "aarch64": "arm64"}  # of architectures
ROOTS = support.REPOSITORY / "build/roots"
UBUNTU = {"x86_64": "http://archive.ubuntu.com/ubuntu", "aarch64": "http://ports.ubuntu.com/ubuntu-ports"}
# Debian has no package with Ubuntu's keys. These are the keys of Ubuntu's archive since 2012.
UBUNTU_KEYS = UBUNTU["x86_64"] + "/pool/main/u/ubuntu-keyring/ubuntu-keyring_2023.11.28.1_all.deb"
FINGERPRINTS = {"790BC7277767219C42C86F933B4FE6ACC0B21F32", "843938DF228D22F7B3742BC0D94AA3F0EFE21092",
                "F6ECB3762474EDA9D21B7022871920D1991BC93C"}
NETWORK_LIMIT_S = 60


@dataclasses.dataclass
class System:
    suite: str
    is_ubuntu: bool = False


SYSTEMS = [System("bullseye"), System("bookworm"), System("trixie"),  # Debian 11 to 13
           System("jammy", is_ubuntu=True), System("noble", is_ubuntu=True)]  # Ubuntu 22.04 and 24.04
LIMIT_S = 30
RUN = "$HOME/.local/bin/toprun --nproc-per-node 2 --no-python sh -c 'echo rank $RANK of $WORLD_SIZE'"


def ubuntu_keys():
    """The keyring, made once. Its package is believed for the fingerprints above, not for its source."""
    keyring = ROOTS / "ubuntu-archive-keyring.gpg"
    if keyring.exists():
        return keyring
    package, unpacked = ROOTS / "ubuntu-keyring.deb", ROOTS / "ubuntu-keyring"
    try:
        with urllib.request.urlopen(UBUNTU_KEYS, timeout=NETWORK_LIMIT_S) as answer:
            package.write_bytes(answer.read())
    except OSError as error:
        raise unittest.SkipTest(f"Ubuntu's keys cannot be fetched: {error}") from error
    subprocess.run(["dpkg-deb", "-x", package, unpacked], check=True)
    found = unpacked / "usr/share/keyrings/ubuntu-archive-keyring.gpg"
    shown = subprocess.run(["gpg", "--show-keys", "--with-colons", found], check=True, capture_output=True, text=True).stdout
    assert set(re.findall(r"^fpr:+([0-9A-F]{40}):", shown, re.M)) == FINGERPRINTS, shown
    return found.rename(keyring)


def root_of(system, architecture):
    """Made once."""
    root = ROOTS / f"{system.suite}-{architecture}"
    if not (root / "complete").exists():
        shutil.rmtree(root, ignore_errors=True)
        ROOTS.mkdir(parents=True, exist_ok=True)
        options, source = ["--variant=minbase", f"--arch={DEBIAN_NAMES[architecture]}"], []
        if system.is_ubuntu:
            options.append(f"--keyring={ubuntu_keys()}")
            source = [UBUNTU[architecture], "/usr/share/debootstrap/scripts/gutsy"]  # the script of all of Ubuntu's releases
        done = subprocess.run(["debootstrap", *options, system.suite, root, *source], capture_output=True, text=True)
        if done.returncode != 0:
            raise unittest.SkipTest(f"debootstrap made no {system.suite} of {architecture}: {done.stdout.splitlines()[-1:]}")
        (root / "complete").touch()
    return root


class CleanRoots(support.TestCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        support.needs_root()
        support.needs_program("debootstrap")
        needs_tools()

    def test_from_the_installer_to_two_ranks(self):
        self.installs(BUILT, ARCHITECTURE)

    def test_the_same_on_aarch64(self):
        built = BUILT.parent / "release-aarch64"
        if ARCHITECTURE == "aarch64" or not (built / "toprun").exists():
            raise unittest.SkipTest("needs build/release-aarch64: make release ARCH=aarch64")
        self.installs(built, "aarch64")

    def installs(self, built, architecture):
        dist = self.folder() / "dist"
        version, done = made(dist, built=built, architecture=architecture)
        self.assertEqual(done.returncode, 0, done.stderr)
        for system in SYSTEMS:
            with self.subTest(system.suite):
                root = root_of(system, architecture)
                shutil.rmtree(root / "root/dist", ignore_errors=True)
                shutil.rmtree(root / "root/.local", ignore_errors=True)
                shutil.copytree(dist, root / "root/dist")
                began = time.monotonic()
                installed = self.inside(root, "cd /root/dist && sh install.sh")
                ran = self.inside(root, RUN)
                took = time.monotonic() - began
                self.assertEqual(installed.returncode, 0, installed.stderr)
                self.assertEqual(sorted(ran.stdout.splitlines()), ["rank 0 of 2", "rank 1 of 2"], ran.stderr)
                self.assertLess(took, LIMIT_S)
                name = (root / "etc/os-release").read_text().split('PRETTY_NAME="')[1].split('"')[0]
                print(f"{name}, {architecture}: toprun {version} installed and two ranks ended after {took:.1f} s", flush=True)

    def inside(self, root, line):
        """With /proc, as a machine or a container has it, in namespaces that end with it."""
        return subprocess.run(["unshare", "--mount", "--pid", "--fork", "--mount-proc=" + str(root / "proc"), "chroot", root,
                               "sh", "-c", line], capture_output=True, text=True, timeout=120,
                              env={"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/root", "LANG": "C"})


if __name__ == "__main__":
    unittest.main()
