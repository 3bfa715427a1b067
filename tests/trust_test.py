# ctest: TIMEOUT 120
"""What another user of the same machine could put in our way, and what a stranger could have us show."""

import json
import os
import pathlib
import re
import shlex
import shutil
import socket
import stat
import subprocess
import sys
import threading
import unittest
import uuid

import support

ADA = 61001   # who runs toprun
MALLORY = 61002  # who would like to
QUIET = ["--no-python", "sh", "-c"]
# All but line ends and tabs of C0, DEL, C1 and what turns the direction of a text.
OBEYED = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u061c\u2028-\u202e\u2066-\u2069]")


class SharedFolder(support.TestCase):
    """A folder like /tmp, in which ada runs toprun."""

    def setUp(self):
        support.needs_root()
        support.needs_program("setpriv")
        self.place = self.folder()
        self.place.chmod(0o755)
        self.program = self.place / "toprun"
        shutil.copy(support.binary(), self.program)
        self.shared = self.place / "shared"
        self.shared.mkdir()
        self.shared.chmod(0o1777)
        self.home = self.place / "home"
        self.home.mkdir()
        os.chown(self.home, ADA, ADA)

    def ada(self, *argv, env=None, cwd=None):
        return self.run_to_end("setpriv", f"--reuid={ADA}", f"--regid={ADA}", "--clear-groups",
                               self.program, *argv, cwd=cwd or self.home,
                               env={"TMPDIR": str(self.shared), "HOME": str(self.home), **(env or {})})

    def give(self, path, owner, mode=None):
        os.lchown(path, owner, owner)
        if mode is not None:
            path.chmod(mode)
        return path

    def owned_file(self, name, owner, text="", mode=0o644):
        path = self.shared / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return self.give(path, owner, mode)

    def owned_link(self, name, target, owner):
        path = self.shared / name
        path.symlink_to(target)
        return self.give(path, owner)


class Logs(SharedFolder):
    def test_redirected_output_is_nobody_elses(self):
        # Somebody else was here first, and would have the output written elsewhere.
        theirs = self.shared / "toprun-logs"
        theirs.mkdir()
        self.give(theirs, MALLORY, 0o777)
        said = []
        for _ in range(2):
            finished = self.ada("--redirects", 3, *QUIET, "echo secret")
            self.assert_ok(finished)
            said += re.findall(r"(?m)logs are kept in (\S+)$", finished.err)
        self.assertEqual(os.listdir(theirs), [])
        folders = sorted(path for path in self.shared.iterdir() if path != theirs)
        self.assertEqual(sorted(said), [str(path) for path in folders])
        self.assertEqual(len(folders), 2)
        for path in folders:
            self.assertEqual((path.stat().st_uid, stat.S_IMODE(path.stat().st_mode)), (ADA, 0o700))
            self.assertEqual([log.read_text() for log in path.rglob("stdout.log")], ["secret\n"])

    def test_folders_below_log_dir_are_private(self):
        logs = self.shared / "logs"
        self.assert_ok(self.ada("--log-dir", logs, "--tee", 3, *QUIET, "true"))
        run, = logs.iterdir()
        self.assertEqual(stat.S_IMODE(run.stat().st_mode), 0o700)


class Report(SharedFolder):
    def setUp(self):
        super().setUp()
        self.precious = self.home / "precious"
        self.precious.write_text("old")
        self.give(self.precious, ADA)

    def report(self, path):
        return self.ada("--report", path, *QUIET, "true")

    def assert_refused(self, finished):
        self.assertEqual(finished.code, 0)
        self.assertRegex(finished.err, r"(?m)^toprun: cannot write .*report\.json: .*belongs to user")
        self.assertEqual(self.precious.read_text(), "old")

    def test_does_not_follow_somebody_elses_link(self):
        self.assert_refused(self.report(self.owned_link("report.json", self.precious, MALLORY)))

    def test_does_not_follow_a_link_on_the_way(self):
        self.owned_link("results", self.home, MALLORY)
        (self.home / "report.json").symlink_to(self.precious)
        self.assert_refused(self.report(self.shared / "results/report.json"))

    def test_does_not_write_to_somebody_elses_file(self):
        path = self.owned_file("report.json", MALLORY, "theirs", 0o666)
        self.assert_refused(self.report(path))
        self.assertEqual(path.read_text(), "theirs")

    def test_follows_the_users_own_link(self):
        link = self.owned_link("report.json", self.precious, ADA)
        self.assert_ok(self.report(link))
        self.assertEqual(json.loads(self.precious.read_text())["exit_code"], 0)

    def test_goes_through_a_descriptor(self):
        finished = self.toprun("--report", "/dev/stdout", *QUIET, "true")
        self.assert_ok(finished)
        self.assertEqual(json.loads(finished.out)["exit_code"], 0)


class Configuration(SharedFolder):
    def test_somebody_elses_stops_nobody_below(self):
        project = self.shared / "ada"
        project.mkdir()
        self.give(project, ADA)
        path = self.shared / "toprun.toml"
        own = self.home / "own.toml"
        own.write_text("nproc-per-node = 2\n")
        self.give(own, ADA)
        for name, make in {
                "unreadable": lambda: self.owned_file("toprun.toml", MALLORY, "", 0o600),
                "dangling": lambda: self.owned_link("toprun.toml", "/no/such", MALLORY),
                "a link to our own": lambda: self.owned_link("toprun.toml", own, MALLORY),
        }.items():
            with self.subTest(name):
                path.unlink(missing_ok=True)
                make()
                finished = self.ada(*QUIET, "echo rank", cwd=project)
                self.assert_ok(finished)
                self.assertEqual(finished.out, "rank\n")
                self.assertEqual(finished.err.count(f"toprun: {path} is ignored: "), 1, finished.err)


class Secret(SharedFolder):
    def test_is_refused_where_others_could_know_it(self):
        for owner, mode, why in [(ADA, 0o600, None), (ADA, 0o400, None), (ADA, 0o640, "others may read it"),
                                 (ADA, 0o602, "everybody may write to it"),
                                 (MALLORY, 0o644, f"it belongs to user {MALLORY}, neither to you nor to root")]:
            with self.subTest(owner=owner, mode=oct(mode)):
                path = self.owned_file("secret", owner, "word\n", mode)
                finished = self.ada(*QUIET, "true", env={"TOPRUN_SECRET_FILE": str(path)})
                if why is None:
                    self.assert_ok(finished)
                else:
                    self.assertEqual(finished.code, 1)
                    self.assert_one_line(finished, f"TOPRUN_SECRET_FILE {path}: {why}; .*chmod 600 it")


class Images(SharedFolder):
    """A runtime that only says what it is to run stands in: what is tested comes before it."""

    def setUp(self):
        super().setUp()
        self.programs = self.place / "bin"
        self.programs.mkdir()
        runtime = self.programs / "apptainer"
        runtime.write_text(f"#!/bin/sh\necho \"$@\" >>{self.home}/asked\nexit 9\n")
        runtime.chmod(0o755)
        self.env = {"SCRATCH": str(self.shared),
                    "PATH": f"{self.programs}:{os.environ['PATH']}"}

    def contained(self):
        return self.ada("--container", "docker://debian:12", "--container-runtime", "apptainer",
                        *QUIET, "true", env=self.env)

    def test_of_somebody_else_are_not_run(self):
        for name in ("toprun", "toprun/containers", "toprun/containers/docker.io+library+debian+12.sif"):
            with self.subTest(name):
                shutil.rmtree(self.shared / "toprun", ignore_errors=True)
                image = self.shared / "toprun/containers/docker.io+library+debian+12.sif"
                image.parent.mkdir(parents=True)
                for path in (image.parent.parent, image.parent):
                    self.give(path, ADA, 0o755)
                image.write_text("an image")
                self.give(image, ADA)
                self.give(self.shared / name, MALLORY, 0o777)
                finished = self.contained()
                self.assertEqual(finished.code, 1)
                self.assertIn(f"{self.shared / name}: it belongs to user {MALLORY}, neither to you nor to "
                              "root; set TOPRUN_CONTAINERS to a folder of your own", finished.err)
                self.assertFalse((self.home / "asked").exists())

    def test_of_ones_own_are(self):
        finished = self.contained()
        self.assertNotIn("belongs to", finished.err)
        self.assertIn("docker://docker.io/library/debian:12", (self.home / "asked").read_text())


class RemoteCopy(SharedFolder):
    """The command by which ssh finds toprun on a host, or a folder to copy it to; run here."""

    def test_does_not_go_where_somebody_elses_link_leads(self):
        user = f"test-{uuid.uuid4().hex}"
        told = self.ada("--hosts", "nowhere", "--dry-run", *QUIET, "true").out
        agents = next(line for line in told.splitlines() if line.startswith("agents"))
        line = shlex.split(agents.split(" <<< ")[0])[-1]
        folders = [pathlib.Path(f"{place}/toprun-{user}") for place in ("/var/tmp", "/dev/shm", "/tmp")]
        for folder in folders:
            self.addCleanup(shutil.rmtree, folder, ignore_errors=True)
        self.addCleanup(folders[0].unlink)
        folders[0].symlink_to(self.home)
        os.lchown(folders[0], MALLORY, MALLORY)
        asked = self.run_to_end("setpriv", f"--reuid={ADA}", f"--regid={ADA}", "--clear-groups",
                                "sh", "-c", line, env={"LOGNAME": user, "HOME": "/no/such", "XDG_CACHE_HOME": ""})
        self.assertIn(f"came incomplete to {folders[1]}", asked.out)  # nobody sends it
        self.assertEqual(list(self.home.iterdir()), [])
        self.assertEqual(stat.S_IMODE(folders[1].stat().st_mode), 0o700)


class Socket(support.TestCase):
    """Where no runtime folder is, the folder of a job's socket lies in /tmp."""

    def in_a_tmp_of_its_own(self, *words):
        """With a folder in it that mallory made before."""
        place = self.folder(within="/var/tmp")
        program, tmp = place / "toprun", place / "tmp"
        shutil.copy(support.binary(), program)
        (tmp / f"toprun-{ADA}").mkdir(parents=True)
        os.chown(tmp / f"toprun-{ADA}", MALLORY, MALLORY)
        for folder in (place, tmp):
            folder.chmod(0o755)
        tmp.chmod(0o1777)
        return self.run_to_end("unshare", "--mount", "sh", "-c", 'mount --bind "$0" /tmp && exec "$@"', tmp, "setpriv",
                               f"--reuid={ADA}", f"--regid={ADA}", "--clear-groups", program, *words,
                               env={"TMPDIR": "/var/tmp", "HOME": "/", "XDG_RUNTIME_DIR": ""}, cwd="/")

    def test_somebody_else_has_its_folder(self):
        support.needs_root()
        support.needs_program("setpriv")
        why = (f"no folder for the sockets by which jobs can be asked: /tmp/toprun-{ADA}: it belongs to user {MALLORY}, "
               "not to you; have it removed, or set XDG_RUNTIME_DIR to a folder of yours")
        finished = self.in_a_tmp_of_its_own("--standalone", *QUIET, "echo rank")
        self.assert_ok(finished)
        self.assertEqual((finished.out, finished.err.count(why)), ("rank\n", 1), finished.err)
        self.assert_one_line(self.in_a_tmp_of_its_own("stacks"), why)


class Terminal(support.TestCase):
    EVIL = "\x1b]0;owned\x07\x1b[2J\u009b31m\u202eevil"

    def assert_harmless(self, text):
        self.assertEqual(OBEYED.findall(text), [], text)

    def test_a_strangers_refusal_is_shown_harmless(self):
        """A program that answers like a root, to members that do not know it yet."""
        listener = socket.create_server(("127.0.0.1", 0))
        self.addCleanup(listener.close)
        answered = threading.Event()

        def answer():
            while True:
                try:
                    visitor, _ = listener.accept()
                except OSError:
                    return
                with visitor:
                    visitor.recv(512)
                    visitor.sendall(f"toprun/1 refused version {self.EVIL}\n".encode() + b"\xff\n")
                    answered.set()

        threading.Thread(target=answer, daemon=True).start()
        finished = self.run_to_end(
            support.binary(), "--nnodes", 2, "--node-rank", 1, "--master-addr", "127.0.0.1",
            "--master-port", listener.getsockname()[1], "--rdzv-conf", "join_timeout=2",
            *QUIET, "true")
        self.assertNotEqual(finished.code, 0)
        self.assertTrue(answered.is_set())
        self.assert_harmless(finished.err)

    def test_a_hosts_name_is_shown_harmless(self):
        support.needs_root()
        support.needs_program("unshare")
        name = "n\x1b[2J\u009b"
        finished = self.run_to_end(
            "unshare", "--uts", sys.executable, "-c",
            "import os, socket, sys; socket.sethostname(sys.argv[1]); os.execv(sys.argv[2], sys.argv[2:])",
            name, support.binary(), "--standalone", "--nproc-per-node", 2, "-v", *QUIET, "exit 3")
        self.assertEqual(finished.code, 3)
        self.assertIn(r"n\x1b[2J\xc2\x9b", finished.err)
        self.assert_harmless(finished.err)

    def test_what_ranks_print_stays_as_it_is(self):
        printed = (self.EVIL + "\n").encode() + b"\xff\xc2\n"
        path = self.folder() / "printed"
        path.write_bytes(printed)
        finished = subprocess.run([support.binary(), "--standalone", *QUIET, f"cat '{path}'; cat '{path}' >&2"],
                                  capture_output=True, timeout=60)
        self.assertEqual(finished.stdout, printed)
        self.assertIn(printed, finished.stderr)

    def test_an_error_file_is_shown_harmless(self):
        finished = self.toprun("--standalone", "--no-python", sys.executable, "-c",
                               "import json, os, sys; "
                               "json.dump({'message': {'message': sys.argv[1], 'extraInfo': {}}}, "
                               "open(os.environ['TORCHELASTIC_ERROR_FILE'], 'w')); sys.exit(4)", self.EVIL)
        self.assertEqual(finished.code, 4)
        self.assertIn("evil", finished.err)
        self.assert_harmless(finished.err)


if __name__ == "__main__":
    unittest.main()
