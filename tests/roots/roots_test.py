"""The way of a new user into clean systems: install.sh, then two ranks. `make test-roots`, before a release.

The systems are minimal roots of their distributions (debootstrap, below build/roots), of this machine's architecture and
of aarch64, which qemu-user runs elsewhere.
"""

import pathlib
import shutil
import subprocess
import sys
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import support
from released import ARCHITECTURE, BUILT, made, needs_tools

SUITES = "bullseye", "bookworm", "trixie"  # Debian 11 to 13; a Debian machine has no keys of other archives
DEBIAN = {"x86_64": "amd64", "aarch64": "arm64"}
ROOTS = support.REPOSITORY / "build/roots"
LIMIT_S = 30
RUN = "$HOME/.local/bin/toprun --nproc-per-node 2 --no-python sh -c 'echo rank $RANK of $WORLD_SIZE'"


def root_of(suite, architecture):
    """Made once."""
    root = ROOTS / f"{suite}-{architecture}"
    if not (root / "complete").exists():
        shutil.rmtree(root, ignore_errors=True)
        ROOTS.mkdir(parents=True, exist_ok=True)
        done = subprocess.run(["debootstrap", "--variant=minbase", f"--arch={DEBIAN[architecture]}", suite, root],
                              capture_output=True, text=True)
        if done.returncode != 0:
            raise unittest.SkipTest(f"debootstrap made no {suite} of {architecture}: {done.stdout.splitlines()[-1:]}")
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
        for suite in SUITES:
            with self.subTest(suite):
                root = root_of(suite, architecture)
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
                system = (root / "etc/os-release").read_text().split('PRETTY_NAME="')[1].split('"')[0]
                print(f"{system}, {architecture}: toprun {version} installed and two ranks ended after {took:.1f} s", flush=True)

    def inside(self, root, line):
        """With /proc, as a machine or a container has it, in namespaces that end with it."""
        return subprocess.run(["unshare", "--mount", "--pid", "--fork", "--mount-proc=" + str(root / "proc"), "chroot", root,
                               "sh", "-c", line], capture_output=True, text=True, timeout=120,
                              env={"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/root", "LANG": "C"})


if __name__ == "__main__":
    unittest.main()
