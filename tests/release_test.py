# ctest: TIMEOUT 400
"""The files of a release, by dpkg-deb, rpm, pip's zip and tar; install.sh with whole and damaged ones."""

import functools
import hashlib
import http.server
import os
import pathlib
import shutil
import subprocess
import tarfile
import tempfile
import threading
import unittest
import zipfile

import support
from released import ARCHITECTURE, RELEASE, TIME, made, needs_tools

INSTALL = support.REPOSITORY / "packaging/install.sh"
ARCHIVE = f"toprun-{{}}-linux-{ARCHITECTURE}.tar.gz"
PROGRAMS = {"usr/bin/toprun", "usr/bin/toprun-bench"}
TEXTS = {"usr/share/man/man1/toprun.1", "usr/share/bash-completion/completions/toprun", "usr/share/zsh/site-functions/_toprun",
         "usr/share/fish/vendor_completions.d/toprun.fish",
         "usr/share/modulefiles/toprun/{}", *(f"usr/share/doc/toprun/{name}" for name in ("README.md", "CHANGELOG.md", "LICENSE", "toprun.cdx.json"))}


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


class Case(support.TestCase):
    @classmethod
    def setUpClass(cls):
        needs_tools()
        cls.scratch = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.scratch.cleanup)
        cls.folder = pathlib.Path(cls.scratch.name)
        subprocess.run(["minisign", "-G", "-W", "-p", cls.folder / "key.pub", "-s", cls.folder / "key"], check=True,
                       capture_output=True)
        cls.key = (cls.folder / "key.pub").read_text().splitlines()[1]
        cls.dist = cls.folder / "dist"
        cls.version, done = made(cls.dist, "--minisign", cls.folder / "key")
        if done.returncode != 0:
            raise AssertionError(done.stdout + done.stderr)
        cls.archive = cls.dist / ARCHIVE.format(cls.version)
        subprocess.run([support.binary(), "man", "-o", cls.folder / "man1"], check=True)
        pages = {f"usr/share/man/man1/{page.name}" for page in (cls.folder / "man1").iterdir()}
        cls.files = PROGRAMS | {name.format(cls.version) for name in TEXTS} | pages


class Files(Case):
    def test_each_form_has_the_same_programs_and_texts(self):
        with tarfile.open(self.archive) as tar:
            top = f"toprun-{self.version}-linux-{ARCHITECTURE}"
            names = {member.name.replace(top, "usr", 1): member for member in tar}
        self.assertEqual(set(names), self.files)
        for name, member in names.items():
            self.assertEqual((member.mtime, member.uid, member.mode), (int(TIME), 0, 0o755 if name in PROGRAMS else 0o644), name)
        listed = subprocess.check_output(["dpkg-deb", "--fsys-tarfile", next(self.dist.glob("*.deb"))])
        deb = subprocess.run(["tar", "-t"], input=listed, capture_output=True).stdout.decode().split()
        self.assertEqual({name[2:] for name in deb if not name.endswith("/")}, self.files)
        rpm = subprocess.check_output(["rpm", "-qlp", next(self.dist.glob("*.rpm"))], text=True).split()
        self.assertEqual({name[1:] for name in rpm}, self.files)
        with zipfile.ZipFile(next(self.dist.glob("toprun-*.whl"))) as wheel:
            self.assertLess({"toprun", "toprun-bench"}, {pathlib.Path(name).name for name in wheel.namelist()})

    def test_the_sums_are_of_all_files_and_the_signature_is_the_keys(self):
        sums = dict(reversed(line.split("  ")) for line in (self.dist / "SHA256SUMS").read_text().splitlines())
        others = {path.name for path in self.dist.iterdir()} - {"SHA256SUMS", "SHA256SUMS.minisig"}
        self.assertEqual(set(sums), others)
        for name, digest in sums.items():
            self.assertEqual(hashlib.sha256((self.dist / name).read_bytes()).hexdigest(), digest, name)
        checked = subprocess.run(["minisign", "-V", "-P", self.key, "-m", self.dist / "SHA256SUMS"], capture_output=True)
        self.assertEqual(checked.returncode, 0, checked.stderr)

    def test_a_second_call_gives_the_same_bytes(self):
        again = self.folder / "again"
        _, done = made(again)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("has no signature", done.stderr)
        self.assertEqual((again / "SHA256SUMS").read_text(), (self.dist / "SHA256SUMS").read_text())

    def test_wrong_calls_are_one_line(self):
        _, done = made(self.folder / "none", SOURCE_DATE_EPOCH="today")
        self.assertEqual((done.returncode, done.stderr),
                         (1, "release: SOURCE_DATE_EPOCH=today: this is not a number of seconds since 1970\n"))
        for arguments, said in ((["9.9.9"], "there is no tag v9.9.9"), (["1.0", "--arch", "sparc"], "choose from x86_64, aarch64"),
                                (["1.0", "--out", self.dist], "is not empty")):
            done = subprocess.run([RELEASE, "--out", self.folder / "none", *arguments], capture_output=True, text=True)
            self.assertEqual(done.returncode, 1)
            self.assertIn(said, done.stderr.splitlines()[-1])
        self.assertFalse(list((self.folder / "none").glob("*")))


class Install(Case):
    def setUp(self):
        self.there = tempfile.TemporaryDirectory()
        self.addCleanup(self.there.cleanup)
        self.prefix = pathlib.Path(self.there.name) / "prefix"

    def install(self, *arguments, source=None, **environment):
        return subprocess.run(["sh", INSTALL, "--prefix", self.prefix, "--from", source or self.dist, *arguments],
                              capture_output=True, text=True, env={**os.environ, **environment})

    def refused(self, said, *arguments, **options):
        done = self.install(*arguments, **options)
        self.assertEqual(done.returncode, 1, done.stderr)
        lines = [line for line in done.stderr.splitlines() if "the signature was not checked" not in line]
        self.assertEqual(len(lines), 1, done.stderr)
        self.assertRegex(lines[0], said)
        self.assertEqual([path for path in self.prefix.rglob("*") if path.is_file()], [])

    def changed(self, name, content):
        source = pathlib.Path(self.there.name) / "changed"
        shutil.copytree(self.dist, source)
        (source / name).write_bytes(content)
        return source

    def test_installs_starts_two_ranks_and_goes_away(self):
        done = self.install("--minisign-key", self.key)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertNotIn("not checked", done.stderr)
        ranks = subprocess.run([self.prefix / "bin/toprun", "--nproc-per-node", "2", "--no-python", "sh", "-c", "echo rank $RANK"],
                               capture_output=True, text=True)
        self.assertEqual(sorted(ranks.stdout.split()), ["0", "1", "rank", "rank"], ranks.stderr)
        self.assertEqual(self.install("--minisign-key", self.key).returncode, 0)  # over itself
        self.assertEqual(self.install("--uninstall").returncode, 0)
        self.assertEqual(list(self.prefix.glob("*")), [])
        self.refused("nothing was installed below", "--uninstall")

    def test_what_an_earlier_version_left_goes_away(self):
        self.assertEqual(self.install().returncode, 0)
        record = self.prefix / "share/toprun/installed-files"
        stale = self.prefix / "share/modulefiles/toprun/0.0.9"
        stale.write_text("")
        mine = self.prefix / "share/modulefiles/toprun/mine"
        mine.write_text("")
        record.write_text(f"{record.read_text()}{stale.relative_to(self.prefix)}\n")
        self.assertEqual(self.install().returncode, 0)
        self.assertFalse(stale.exists())
        self.assertTrue(mine.exists())
        self.assertEqual(self.install("--uninstall").returncode, 0)
        self.assertEqual([path for path in self.prefix.rglob("*") if path.is_file()], [mine])

    def test_over_http_with_openpgp(self):
        home = pathlib.Path(self.there.name) / "gpg"
        home.mkdir(mode=0o700)
        gpg = ["gpg", "--batch", "--homedir", home, "--pinentry-mode", "loopback", "--passphrase", ""]
        self.addCleanup(subprocess.run, ["gpgconf", "--homedir", home, "--kill", "all"], capture_output=True)
        subprocess.run([*gpg, "--quick-gen-key", "Release <release@localhost>", "ed25519", "sign"], check=True, capture_output=True)
        source = self.changed("unrelated", b"")
        signed = [*gpg, "--armor", "--detach-sign", "--output", source / "SHA256SUMS.asc", source / "SHA256SUMS"]
        subprocess.run(signed, check=True, capture_output=True)
        keyring = home / "keys.gpg"
        subprocess.run([*gpg, "--export", "--output", keyring], check=True, capture_output=True)
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=source))
        self.addCleanup(server.server_close)
        self.addCleanup(server.shutdown)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        address = f"http://127.0.0.1:{server.server_port}"
        done = self.install("--gpg-keyring", keyring, source=address)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertNotIn("not checked", done.stderr)
        self.assertEqual(self.install("--uninstall").returncode, 0)
        with open(source / "SHA256SUMS", "a") as sums:
            sums.write(f"{'0' * 64}  another\n")
        self.refused("does not match the keys of", "--gpg-keyring", keyring, source=address)
        (source / "SHA256SUMS.asc").unlink()
        self.refused("cannot get SHA256SUMS.asc from http", "--gpg-keyring", keyring, source=address)

    def test_a_damaged_archive(self):
        content = bytearray(self.archive.read_bytes())
        content[len(content) // 2] ^= 1
        self.refused("is damaged: its SHA-256 sum", source=self.changed(self.archive.name, content))

    def test_a_wrong_signature(self):
        sums = (self.dist / "SHA256SUMS").read_bytes().replace(b"0", b"1", 1)
        self.refused("does not match the key", "--minisign-key", self.key, source=self.changed("SHA256SUMS", sums))

    def test_files_that_are_not_there(self):
        self.refused(r"cannot get SHA256SUMS from /nonexistent: .*No such file", source="/nonexistent")
        self.refused("cannot get SHA256SUMS from http://127.0.0.1:1", source="http://127.0.0.1:1")

    def test_an_unknown_machine(self):
        shim = pathlib.Path(self.there.name) / "bin"
        shim.mkdir()
        (shim / "uname").write_text('#!/bin/sh\n[ "$1" = -m ] && echo riscv64 || echo Linux\n')
        (shim / "uname").chmod(0o755)
        self.refused("there is no toprun for riscv64", PATH=f"{shim}:{os.environ['PATH']}")

    def test_a_full_disk(self):
        support.needs_root()
        self.prefix.mkdir()
        subprocess.run(["mount", "-t", "tmpfs", "-o", "size=10m", "none", self.prefix], check=True)
        self.addCleanup(subprocess.run, ["umount", self.prefix])
        self.refused("cannot unpack .*: no space is left on this file system; nothing was installed")

    def test_a_folder_that_may_not_be_written(self):
        self.prefix = pathlib.Path("/proc/toprun")
        done = self.install()
        self.assertEqual(done.returncode, 1)
        self.assertIn("name a folder that you may write with --prefix", done.stderr)


if __name__ == "__main__":
    unittest.main()
