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
EVERY_WAY = "\x1b[31m\nFORGED\r\x07\x1b]0;t\x07\x9b2J\u202e\u2066\u2028\u200b\ufeff\x7f\x00"
# All but line ends and tabs of C0, DEL, C1 and what turns the direction of a text, or is not seen.
OBEYED = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b\u2060-\u2064\ufeff\u200e\u200f\u061c\u2028-\u202e\u2066-\u2069]")


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
                                 (ADA, 0o602, "every user may write to it"),
                                 (MALLORY, 0o644, f"it belongs to user {MALLORY}, neither to you nor to root")]:
            with self.subTest(owner=owner, mode=oct(mode)):
                path = self.owned_file("secret", owner, "word\n", mode)
                finished = self.ada(*QUIET, "true", env={"TOPRUN_SECRET_FILE": str(path)})
                if why is None:
                    self.assert_ok(finished)
                else:
                    self.assertEqual(finished.code, 1)
                    self.assert_one_line(finished, f"TOPRUN_SECRET_FILE {path}: {why}; .*use chmod 600")


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
                              "root; set TOPRUN_CONTAINERS to a folder that belongs to you", finished.err)
                self.assertFalse((self.home / "asked").exists())

    def test_of_ones_own_are(self):
        finished = self.contained()
        self.assertNotIn("belongs to", finished.err)
        self.assertIn("docker://docker.io/library/debian:12", (self.home / "asked").read_text())


class RemoteCopy(SharedFolder):
    """The command by which ssh finds toprun on a host, or a folder to copy it to; run here."""

    def test_does_not_go_where_somebody_elses_link_leads(self):
        user = f"test-{uuid.uuid4().hex}"
        told = self.ada("--hosts", "nowhere", "--dry-run", "-v", *QUIET, "true").out
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
        why = (f"cannot make a folder for the jobs' sockets: /tmp/toprun-{ADA}: it belongs to user {MALLORY}, "
               "not to you; have this folder removed, or set XDG_RUNTIME_DIR to a folder that you own")
        finished = self.in_a_tmp_of_its_own("--standalone", *QUIET, "echo rank")
        self.assert_ok(finished)
        self.assertEqual((finished.out, finished.err.count(why)), ("rank\n", 1), finished.err)
        self.assert_one_line(self.in_a_tmp_of_its_own("stacks"), why)


class Asked(support.TestCase):
    """The socket of a running job, asked by other users: were its folder open, the kernel would still say who asks."""

    ASKS = ("import socket, sys; s = socket.socket(socket.AF_UNIX); s.settimeout(30); s.connect(sys.argv[1]); "
            "s.sendall(b'GET /job HTTP/1.1\\r\\nHost: x\\r\\n\\r\\n'); sys.stdout.write(repr(s.recv(64)))")

    def asked_by(self, user, path):
        return self.run_to_end("setpriv", f"--reuid={user}", f"--regid={user}", "--clear-groups", sys.executable, "-c",
                               self.ASKS, path)

    def test_only_its_user_and_root_are_answered(self):
        support.needs_root()
        support.needs_program("setpriv")
        place = self.folder(within="/var/tmp")
        place.chmod(0o755)
        program, runtime, stands = place / "toprun", place / "run", place / "there"
        shutil.copy(support.binary(), program)
        for folder in (runtime, stands):
            folder.mkdir()
            os.chown(folder, ADA, ADA)
            folder.chmod(0o700)
        run = self.begin("setpriv", f"--reuid={ADA}", f"--regid={ADA}", "--clear-groups", program, *QUIET,
                         f"touch {stands}/rank; exec sleep 600", env={"XDG_RUNTIME_DIR": str(runtime), "HOME": str(runtime)},
                         cwd="/")
        support.wait_until((stands / "rank").exists, 60, "its rank")
        path, = (runtime / "toprun").iterdir()
        refused = self.asked_by(MALLORY, path)
        self.assertIn("PermissionError", refused.err)
        for open_to_all in (runtime, runtime / "toprun", path):
            open_to_all.chmod(0o777)
        answers = {user: self.asked_by(user, path) for user in (MALLORY, ADA, 0)}
        self.assertTrue(answers[MALLORY].out == "b''" or re.search("reset|Broken pipe", answers[MALLORY].err), answers[MALLORY])
        for user in (ADA, 0):
            self.assertIn("HTTP/1.1 200", answers[user].out, user)
        run.signal(2)
        self.assertEqual(run.wait(60).code, 130)


class CoreFile(support.TestCase):
    """That of an agent would hold the job's secret."""

    def test_agents_leave_none_and_ranks_may(self):
        place = self.folder()
        run = self.begin("sh", "-c", 'ulimit -Sc "$(ulimit -Hc)"; ulimit -Sc >"$0/given"; exec "$@"', place, support.binary(),
                         *QUIET, f"ulimit -Sc >{place}/rank; mv {place}/rank {place}/ranks; exec sleep 600")
        support.wait_until((place / "ranks").exists, 60, "its rank")
        given = (place / "given").read_text()
        if given == "0\n":
            self.skipTest("no core files are possible here")
        self.assertEqual((place / "ranks").read_text(), given)
        for pid in (run.process.pid, run.agent()):
            limits = pathlib.Path(f"/proc/{pid}/limits").read_text()
            self.assertRegex(limits, r"(?m)^Max core file size +0 ")
        run.signal(2)
        run.wait(60)


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

    def test_a_strange_host_writes_no_line_of_ours(self):
        """It joins without a secret, and its rank fails: with colours, line ends and what turns a text in its name."""
        support.needs_root()
        support.needs_program("unshare")
        name = "x\x1b[31mE\x1b[0m\ntoprun: FORGED\r\x9b\u202e\u200b"
        port = support.free_port()
        both = ["--nnodes", 2, "--nproc-per-node", 1, "--master-addr", "127.0.0.1", "--master-port", port]
        root = self.begin(support.binary(), *both, "--node-rank", 0, "-v", *QUIET, "exec sleep 600")
        stranger = self.begin(
            "unshare", "--uts", sys.executable, "-c",
            "import os, socket, sys; socket.sethostname(sys.argv[1]); os.execv(sys.argv[2], sys.argv[2:])",
            name, support.binary(), *both, "--node-rank", 1, *QUIET, "exit 3")
        for end in (root.wait(60), stranger.wait(60)):
            self.assertEqual(end.code, 3, end)
            self.assertIn(r"x\x1b[31mE\x1b[0m\ntoprun: FORGED\x0d", end.err)
            self.assertNotRegex(end.err, r"(?m)^toprun: FORGED|\x1b|\r")
            self.assert_harmless(end.err)

    def evil_reports(self):
        """(where, report): a report of a job that goes on, each of whose texts in turn is hostile, and all of them."""
        place = {"name": "n0", "group_rank": 0, "first_rank": 0, "nproc": 2, "location": "/c/r/n0", "logs": "/logs/n0"}
        cause = {"kind": "exit", "what": "rank 0 on n0 ended with exit code 3", "rank": 0, "local_rank": 0, "node": "n0",
                 "exit_code": 3, "signal": None, "message": "it failed", "error_file": "/e", "last_output": ["a line"],
                 "kernel_evidence": "oom"}
        hang = {"what": "rank 1 waits", "noticed": "2026-11-28T01:00:02.000Z", "over": None, "suspects": [], "evidence": []}
        report = {"schema": "toprun.report/1", "job": "job", "root": {"host": "n0", "pid": 4711}, "grow": "at-restart",
                  "exit_code": None, "started": "2026-11-28T01:00:00.000Z", "ended": None,
                  "updated": "2026-11-28T01:00:03.000Z", "attempts": [
                      {"attempt": 0, "started": "2026-11-28T01:00:00.000Z", "ended": None,
                       "phases_ms": {"join": 1, "spawn": 2}, "nodes": [place], "cause": cause, "hang": hang,
                       "awaited": {"phase": "first_collective", "count": 1, "ranks": [{"rank": 1, "node": "n0"}], "nodes": ["n0"]},
                       "slowest": [{"phase": "import", "rank": 1, "node": "n0", "ms": 9}]}]}

        def texts(value, path):
            if isinstance(value, str):
                yield path
            for key, one in value.items() if isinstance(value, dict) else \
                    enumerate(value) if isinstance(value, list) else ():
                yield from texts(one, path + (key,))

        def put(document, path):
            for key in path[:-1]:
                document = document[key]
            document[path[-1]] = f"{document[path[-1]]}{EVERY_WAY}"

        yield "nothing", report
        wanted = [path for path in texts(report, ()) if path != ("schema",)]
        self.assertGreater(len(wanted), 20)
        for path in wanted:
            document = json.loads(json.dumps(report))
            put(document, path)
            yield ".".join(map(str, path)), document
        for path in wanted:
            put(report, path)
        yield "all", report

    def test_no_text_of_a_report_reaches_the_terminal_as_it_is(self):
        path = self.folder() / "report.json"
        ssh = self.folder() / "ssh"
        ssh.write_text("#!/bin/sh\necho no route to that host >&2\nexit 255\n")
        ssh.chmod(0o755)
        lines = {}
        for where, report in self.evil_reports():
            path.write_text(json.dumps(report))
            for verb in ("status", "stacks", "grow", "top"):
                with self.subTest(verb=verb, text=where):
                    finished = self.run_to_end(support.binary(), verb, path, env={"TOPRUN_SSH": str(ssh)})
                    self.assert_harmless(finished.out + finished.err)
                    self.assertNotRegex(finished.out + finished.err, r"(?m)^FORGED|\x1b")
                    count = len((finished.out + finished.err).splitlines())
                    self.assertGreater(count, 0, "it says what it knows, or why it does not")
                    self.assertLessEqual(count, max(1, lines.setdefault(verb, count)), finished)

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
