# ctest: TIMEOUT 400 LABELS cluster
"""--stage: an environment on its way to the nodes' own folders, and ranks that use it at its own path."""

import contextlib
import json
import os
import random
import re
import signal
import subprocess
import sys
import threading
import unittest

import cluster
import stranger
import support

TOPRUN = support.TOPRUN
HOSTS = ("n0", "n1", "n2", "n3")
COPIES = "/run/copies"  # each host's own memory
MIB = 1 << 20

# What a rank sees: from which file system it imports, and that of the folder for copies.
SHOWS = """\
import json, os, sys
imported_before = "staged_module" in sys.modules
import staged_module
environment = sys.argv[1]
seen = {"rank": int(os.environ["RANK"]), "node": os.environ["TOPRUN_NODE_NAME"], "said": staged_module.SAYS,
        "file": staged_module.__file__, "device": os.stat(staged_module.__file__).st_dev, "prefix": sys.prefix,
        "copies": os.stat("/run/copies").st_dev, "user": os.geteuid(), "folder": os.getcwd(), "warm": imported_before,
        "here": sum(1 for _ in os.scandir(environment))}
try:
    open(environment + "/written", "w").close()
except OSError as error:
    seen["write"] = error.strerror
os.write(1, (json.dumps(seen) + "\\n").encode())
"""


def seen_by(finished):
    ranks = [json.loads(line) for one in finished for line in one.out.splitlines() if line.startswith("{")]
    return sorted(ranks, key=lambda rank: rank["rank"])


def made_environment(path, megabytes=1):
    """A venv with a module and a library of so many MiB."""
    # Other users may not be able to use the one that runs the tests.
    python = "/usr/bin/python3" if os.access("/usr/bin/python3", os.X_OK) else sys.executable
    subprocess.run([python, "-m", "venv", "--without-pip", path], check=True)
    packages, = path.glob("lib/python*/site-packages")
    (packages / "staged_module.py").write_text("SAYS = 'first'\n")
    (path / "large.bin").write_bytes(random.Random(7).randbytes(megabytes * MIB))
    return packages


class OnHosts(cluster.TestCase):
    UP = ("--hosts", "4", "--racks", "2")
    PORT = 29640

    def setUp(self):
        self.path = self.folder()
        self.path.chmod(0o755)
        self.environment = self.path / "env"
        self.packages = made_environment(self.environment)
        self.script = self.path / "shows.py"
        self.script.write_text(SHOWS)
        for host in HOSTS:
            self.mount(host)

    def sh(self, host, command):
        finished = self.begin(*self.cluster.on(host, "sh", "-c", command)).wait(20)
        self.assert_ok(finished)
        return finished.out

    def mount(self, host, options="size=200m,mode=1777"):
        self.sh(host, f"mkdir -p {COPIES}; umount {COPIES} 2>/dev/null; mount -t tmpfs -o {options} none {COPIES}")

    def agents(self, *words, hosts=HOSTS, nodes=None, before=(), stage=None, port=None, command=None):
        command = command or ("--venv", self.environment, self.script, self.environment)
        meet = ("--nnodes", nodes or len(hosts), "--rdzv-backend", "c10d", "--rdzv-endpoint", f"n0:{port or self.PORT}")
        return [self.start(host, "env", "-C", self.path, *before, TOPRUN, *meet, "-v", "--stage", stage or self.environment, "--stage-to", COPIES,
                           *words, *command, env={"OMP_NUM_THREADS": "1", "TOPRUN_SECRET": "x"})
                for host in hosts]

    def launch(self, *words, **options):
        finished = [run.wait(90) for run in self.agents(*words, **options)]
        for one in finished:
            self.assert_ok(one)
        return finished

    def assert_staged(self, ranks, on=HOSTS[1:], ranks_on=HOSTS):
        """`ranks_on`: the node of each rank that has to be there."""
        self.assertEqual(sorted(rank["node"] for rank in ranks), sorted(ranks_on), ranks)
        for rank in ranks:
            same = rank["device"] == rank["copies"]
            self.assertEqual(same, rank["node"] in on, rank)
            self.assertEqual(rank["prefix"], str(self.environment))
            self.assertTrue(rank["file"].startswith(str(self.environment)), rank)
            self.assertEqual(rank.get("write") == "Read-only file system", same, rank)

    def assert_left_out(self, finished, why, nodes):
        """One line at the root, and ranks that use the environment itself."""
        left_out = re.findall(r"(?m)^toprun: (.* --stage is left out: .*)$", "".join(one.err for one in finished))
        self.assertEqual(len(left_out), 1, left_out)
        self.assertRegex(left_out[0], why)
        self.assert_staged(seen_by(finished), on=[host for host in HOSTS[1:] if host not in nodes])

    def copied_mib(self, finished):
        return float(re.search(r"the environment is on \d+ more nodes?, ([\d.]+) MiB were copied", finished[0].err)[1])

    def left_of(self, host):
        return self.sh(host, f"ls {COPIES}/toprun-stage-*").split()


class Copies(OnHosts):
    def test_ranks_import_from_copies_and_only_what_changed_is_copied(self):
        report = self.path / "report.json"
        finished = self.launch("--report", report)
        ranks = seen_by(finished)
        self.assert_staged(ranks)
        self.assertEqual([rank["said"] for rank in ranks], ["first"] * 4)
        self.assertEqual({rank["folder"] for rank in ranks}, {str(self.path)})
        self.assertGreaterEqual(self.copied_mib(finished), 3)
        attempt, = json.loads(report.read_text())["attempts"]
        self.assertEqual(attempt["slowest"]["stage"]["counted"], 3)
        times = attempt["phases_ms"]
        self.assertTrue(times["order"] <= times["stage"] <= times["spawn"], times)
        (self.environment / "written").unlink()  # by n0's rank
        self.assertEqual(self.copied_mib(self.launch()), 0)
        (self.environment / "written").unlink()
        with open(self.environment / "large.bin", "r+b") as file:
            file.write(b"changed")
        (self.packages / "staged_module.py").write_text("SAYS = 'second'\n")
        finished = self.launch()
        self.assertAlmostEqual(self.copied_mib(finished), 3, delta=0.2)
        self.assertEqual([rank["said"] for rank in seen_by(finished)], ["second"] * 4)
        self.assert_staged(seen_by(finished))
        versions = [name for name in self.left_of("n1") if "-" in name]
        self.assertEqual(len(versions), 1, versions)

    def test_a_warm_parent_imports_from_the_copy(self):
        finished = self.launch("--warm=staged_module")
        self.assertNotIn("--warm is left out", finished[1].err)
        self.assert_staged(seen_by(finished))
        self.assertEqual([rank["warm"] for rank in seen_by(finished)], [True] * 4)

    def test_one_file(self):
        image = self.path / "image.sqsh"
        image.write_bytes(os.urandom(3 * MIB))
        read = ("--no-python", "sh", "-c", f"sha256sum {image}; stat -c 'on %d' {image} {COPIES}")
        finished = self.launch(stage=image, command=read)
        self.assertEqual(len(set(re.findall(r"\w{64}", "".join(one.out for one in finished)))), 1)
        for one in finished[1:]:
            self.assertEqual(len(set(re.findall(r"on \d+", one.out))), 1, one)

    def test_a_conda_environment_by_its_name(self):
        self.environment = self.path / "envs" / "train"
        made_environment(self.environment)
        (self.environment / "conda-meta").mkdir()
        (self.environment / "conda-meta" / "history").touch()
        finished = self.launch(stage="train", before=("env", f"CONDA_ENVS_PATH={self.path}/envs"),
                               command=("--conda", "train", self.script, self.environment))
        self.assert_staged(seen_by(finished))

    def test_a_user_without_rights(self):
        user = ("setpriv", "--reuid", "12345", "--regid", "12345", "--clear-groups")
        if subprocess.run([*user, "unshare", "-Urm", "true"], capture_output=True).returncode != 0:
            self.skipTest("users have no namespaces of their own here")
        self.path.chmod(0o777)
        finished = self.launch(before=user, command=("--venv", self.environment, self.script, self.environment))
        ranks = seen_by(finished)
        self.assertEqual({rank["user"] for rank in ranks}, {12345})
        for rank in ranks:
            self.assertEqual(rank["device"] == rank["copies"], rank["node"] != "n0", rank)

    def test_where_no_mounts_are_possible(self):
        """A venv is used where its copy lies; nothing else could be."""
        for host in HOSTS:
            self.sh(host, "mkdir -p /run/root && mount --rbind / /run/root")
            self.addCleanup(self.sh, host, "umount -l /run/root")
        inside = ("chroot", "/run/root", "env", "-C", self.path)
        finished = self.launch(before=inside)
        for rank in seen_by(finished):
            is_moved = rank["node"] != "n0"
            self.assertEqual(rank["prefix"].startswith(COPIES), is_moved, rank)
            self.assertEqual(rank["device"] == rank["copies"], is_moved, rank)
        finished = self.launch(before=inside, command=("--no-python", "true"))
        left_out = re.findall(r"(?m)^toprun: .* --stage is left out: .*$", finished[0].err)
        self.assertEqual(len(left_out), 1, finished[0])
        self.assertRegex(left_out[0], r"n\d: .*: toprun runs in a chroot.*; so it is on n")

    def test_two_jobs_at_once(self):
        both = self.agents(port=self.PORT) + self.agents(port=self.PORT + 1, hosts=("n0", "n3", "n2"))
        finished = [run.wait(90) for run in both]
        for one in finished:
            self.assert_ok(one)
        self.assert_staged(seen_by(finished[:4]))
        self.assert_staged(seen_by(finished[4:]), ranks_on=["n0", "n3", "n2"])

    def test_a_late_node(self):
        begun = self.path / "begun"
        begun.mkdir()
        waits = self.path / "waits.py"
        waits.write_text(SHOWS + f"import pathlib, time\npathlib.Path('{begun}', str(os.getpid())).touch()\n"
                         "while os.environ['WORLD_SIZE'] == '3':\n    time.sleep(0.05)\n")
        command = ("--venv", self.environment, waits, self.environment)
        words = ("--grow", "now", "--rdzv-conf", "last_call_timeout=1")
        early = self.agents(*words, hosts=HOSTS[:3], nodes="3:4", command=command)
        self.wait_for_files(begun, 3)
        late = self.agents(*words, hosts=HOSTS[3:], nodes="3:4", command=command)
        finished = [run.wait(90) for run in early + late]
        for one in finished:
            self.assert_ok(one)
        self.assert_staged(seen_by(finished), ranks_on=[*HOSTS[:3], *HOSTS])
        self.assertEqual(re.findall(r"the environment is on (.*?),", finished[0].err), ["2 more nodes", "1 more node"])


# Opens so many connections as agents that ask for the environment, and shows no key.
ASKS_IN_VAIN = """\
import os, resource, socket, sys, time
most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
host, port, job, version, count = sys.argv[1], int(sys.argv[2]), sys.argv[3], sys.argv[4], int(sys.argv[5])
held = []
for _ in range(count):
    held.append(socket.create_connection((host, port)))
    held[-1].sendall(f"toprun/1 {version} stage {job} {os.urandom(7).hex()} {os.urandom(32).hex()} none\\n".encode())
print("all", flush=True)
time.sleep(600)
"""


class Strangers(OnHosts):
    def test_who_shows_no_key_keeps_no_node_from_the_environment(self):
        root, = self.agents("--rdzv-id", "guarded", hosts=HOSTS[:1], nodes=2)
        listens = f"import socket; socket.create_connection(('n0', {self.PORT})).close()"
        support.wait_until(lambda: self.start(HOSTS[2], sys.executable, "-c", listens).wait(20).code == 0, 60, "the root listens")
        flood = self.start(HOSTS[2], sys.executable, "-c", ASKS_IN_VAIN, "n0", self.PORT, stranger.content_hash("job guarded"),
                           stranger.version(), 1500)
        flood.prints("all")
        other, = self.agents("--rdzv-id", "guarded", hosts=HOSTS[1:2], nodes=2)
        finished = [run.wait(90) for run in (root, other)]
        for one in finished:
            self.assert_ok(one)
            self.assertNotIn("left out", one.err)
        self.assert_staged(seen_by(finished), on=HOSTS[1:2], ranks_on=HOSTS[:2])
        flood.kill_all()


class BadTargets(OnHosts):
    def test_a_node_without_room_passes_nothing_on(self):
        self.mount("n1", "size=700k")
        self.assert_left_out(self.launch(), r"n1: .*no space in /run/copies/.* MiB are free; choose another folder "
                                            r"with --stage-to",
                             ["n1"])
        self.assertFalse([name for name in self.left_of("n1") if "-" in name], "what can never be whole takes no room")

    def test_a_file_system_that_is_full_in_the_middle(self):
        self.mount("n1", "size=200m,nr_inodes=14")
        self.assert_left_out(self.launch(), r"n1: .*cannot make /run/copies/\S+: No space left on device", ["n1"])
        self.assertFalse([name for name in self.left_of("n1") if "-" in name], "what can never be whole takes no room")

    def test_read_only(self):
        self.mount("n2", "ro")
        self.assert_left_out(self.launch(), r"n2: .*cannot make /run/copies/.*: Read-only file system", ["n2"])

    def test_noexec(self):
        self.mount("n3", "noexec")
        self.assert_left_out(self.launch(), r"n3: .*cannot use /run/copies: its file system is mounted noexec", ["n3"])

    def test_somebody_elses_folder(self):
        self.sh("n1", f"mkdir -m 700 {COPIES}/toprun-stage-0; chown 12345 {COPIES}/toprun-stage-0")
        self.assert_left_out(self.launch(), r"n1: .*toprun-stage-0: it belongs to user 12345", ["n1"])

    def test_all_nodes_are_named_in_one_line(self):
        for host in HOSTS[1:]:
            self.mount(host, "ro")
        self.assert_left_out(self.launch(), r"Read-only file system.*; so it is on n\S+$", HOSTS[1:])

    def test_an_environment_that_is_on_no_other_node(self):
        self.sh("n0", "mkdir /run/alone; echo a > /run/alone/file")
        finished = [run.wait(60) for run in self.agents(stage="/run/alone", command=("--no-python", "true"))]
        self.assertEqual(finished[0].code, 1, finished)
        self.assertRegex(finished[0].err, r"n[123] has neither the original of /run/alone nor a copy: "
                                          r"cannot mount over /run/alone: No such file")

    def test_a_source_that_changes(self):
        large = self.environment / "large.bin"
        over = threading.Event()

        def change():
            with open(large, "ab", buffering=0) as file:
                while not over.is_set():
                    file.write(b"more")

        writer = threading.Thread(target=change)
        writer.start()
        try:
            finished = self.launch()
        finally:
            over.set()
            writer.join()
        self.assert_left_out(finished, r"large\.bin(: it changes while it is read| has changed while it was copied)", HOSTS[1:])

    def test_a_source_that_is_not_there(self):
        finished = [run.wait(60) for run in self.agents(stage=self.path / "none", command=("--no-python", "true"))]
        self.assertEqual(finished[0].code, 1)
        self.assertIn("none: No such file or directory", finished[0].err)


class BrokenChain(OnHosts):
    UP = ("--hosts", "4", "--racks", "2", "--uplink", "100mbit")

    def test_a_node_that_dies_while_it_passes_the_environment_on(self):
        (self.environment / "large.bin").write_bytes(os.urandom(40 * MIB))
        words = ("--rdzv-conf", "last_call_timeout=1,join_timeout=60")
        runs = self.agents(*words, nodes="3:4")

        def has_some():
            parts = self.sh("n1", f"du -sk {COPIES} | cut -f1").split()
            return int(parts[0]) > 4_000
        cluster.wait_for(has_some, "n1 has some of it", 60)
        for pid in runs[1].processes():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        runs[1].wait(30)
        finished = [run.wait(90) for run in (runs[0], *runs[2:])]
        for one in finished:
            self.assert_ok(one)
        self.assert_staged(seen_by(finished), ranks_on=["n0", "n2", "n3"])

    def test_ctrl_c_while_the_environment_is_copied_and_the_next_run_goes_on(self):
        (self.environment / "large.bin").write_bytes(os.urandom(30 * MIB))
        runs = self.agents()
        cluster.wait_for(lambda: int(self.sh("n1", f"du -sk {COPIES} | cut -f1")) > 10_000, "n1 has some of it", 60)
        runs[0].process.send_signal(signal.SIGINT)
        finished = [run.wait(20) for run in runs]
        self.assertEqual(finished[0].code, 130, finished)
        for run in runs:
            self.assert_nothing_left(run)
        self.assertTrue(any(name.endswith(".part") for name in self.left_of("n1")))
        finished = self.launch()
        self.assert_staged(seen_by(finished))
        self.assertLess(self.copied_mib(finished), 3 * 30 - 8)


class OnOneHost(support.TestCase):
    def test_it_contradicts_a_container(self):
        finished = self.toprun("--stage", "/opt/env", "--container", "a.sif", "train.py")
        self.assertEqual(finished.code, 2)
        self.assert_one_line(finished, "--stage and --container: ranks in a container use the environment in the image, so they would not use the copy of --stage; give only one of them")

    def test_one_node_needs_no_copy(self):
        finished = self.toprun("--stage", "/no/such/environment", "--no-python", "true")
        self.assert_ok(finished)
        said = finished.err.splitlines()
        self.assertEqual(said[0], "toprun: --stage /no/such/environment has no effect: a job on one node needs no "
                                  "copy, and this node does not have this path")
        self.assertRegex("\n".join(said[1:]), r"\A.*: 1 rank on 1 node, all ended with 0\Z")
        finished = self.toprun("--stage", "/usr", "--no-python", "true")
        self.assert_ok(finished)
        self.assert_one_line(finished, ".*: 1 rank on 1 node, all ended with 0")


if __name__ == "__main__":
    unittest.main()
