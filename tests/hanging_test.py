# ctest: TIMEOUT 240
"""File systems and names that do not answer: the agent beats on, and the job goes on or ends with the right
code and a reason. Each is begun with so little patience that an agent that waits itself is killed."""

import ctypes
import functools
import os
import select
import shlex
import signal
import socket
import struct
import sys
import threading
import unittest

import support

BEATS = "keep_alive_interval=1,keep_alive_max_attempt=2"
HASTE = "keep_alive_interval=1,keep_alive_max_attempt=1"  # the keeper waits no longer than one look-up
SH = ["--no-python", "sh", "-c"]
DETACH = 2  # MNT_DETACH
FUSE_INIT = 26
NO_LIFE = "gave no sign of life"
NAMELESS = "nobody.knows"

# Says that it runs, and ends with 7 once it is told to in the first attempt; the next ends by itself.
WORKER = """\
>"$ROOT/began.$TOPRUN_ATTEMPT"
[ $TOPRUN_ATTEMPT = 0 ] || exit ${LATER-0}
while [ ! -e "$ROOT/end" ]; do sleep 0.05; done
exit 7
"""

# A DNS server that never answers, beside which a command runs.
SILENT_SERVER = """\
import socket, subprocess, sys
server = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
server.bind(("127.0.0.53", 53))
sys.exit(subprocess.run(sys.argv[1:]).returncode)
"""


def swallow(server, ended):
    """Reads a FUSE server's requests (linux/fuse.h) and answers FUSE_INIT alone, without which no others come."""
    while True:
        ready, _, _ = select.select([server, ended], [], [])
        if ended in ready:
            return os.close(ended)
        request = os.read(server, 1 << 17)
        _, opcode, unique = struct.unpack_from("<IIQ", request)
        if opcode == FUSE_INIT:
            os.write(server, struct.pack("<IiQ16I", 80, 0, unique, 7, 31, 0, 0, 0, 1 << 16, *[0] * 10))


class FileSystems(support.TestCase):
    def setUp(self):
        support.needs_root()
        if not os.path.exists("/dev/fuse"):
            raise unittest.SkipTest("no /dev/fuse")
        self.root = self.folder()

    def hang(self, folder):
        """From now on whoever looks at the folder waits: it is a FUSE file system's that nobody serves."""
        libc = ctypes.CDLL(None, use_errno=True)
        server = os.open("/dev/fuse", os.O_RDWR | os.O_CLOEXEC)
        options = f"fd={server},rootmode=40000,user_id=0,group_id=0"
        if libc.mount(b"hung", os.fsencode(folder), b"fuse", 0, options.encode()) != 0:
            os.close(server)
            raise unittest.SkipTest(f"no FUSE: {os.strerror(ctypes.get_errno())}")
        self.addCleanup(libc.umount2, os.fsencode(folder), DETACH)
        self.addCleanup(os.close, server)  # first: it lets go whoever waits

    def hang_for_good(self, folder):
        """The same, and no signal ends the wait: the server takes every request and answers none."""
        libc = ctypes.CDLL(None, use_errno=True)
        server = os.open("/dev/fuse", os.O_RDWR | os.O_CLOEXEC | os.O_NONBLOCK)
        options = f"fd={server},rootmode=40000,user_id=0,group_id=0"
        if libc.mount(b"hung", os.fsencode(folder), b"fuse", 0, options.encode()) != 0:
            os.close(server)
            raise unittest.SkipTest(f"no FUSE: {os.strerror(ctypes.get_errno())}")
        ended, end = os.pipe()
        serving = threading.Thread(target=swallow, args=(server, ended))
        serving.start()

        @functools.cache
        def let_go():
            os.close(end)
            serving.join()
            os.close(server)
            libc.umount2(os.fsencode(folder), DETACH)

        self.addCleanup(let_go)
        return let_go

    def job(self, *options, **env):
        """Until its first attempt runs."""
        run = self.begin(support.binary(), "--rdzv-conf", BEATS, *options, *SH, WORKER,
                         env={"ROOT": str(self.root), **env})
        support.wait_until((self.root / "began.0").exists, 20, "the first attempt runs")
        return run

    def end(self, run, limit, code):
        (self.root / "end").touch()
        finished = run.wait(limit)
        self.assertNotIn(NO_LIFE, finished.err)
        self.assertEqual(finished.code, code, finished)
        self.assert_nothing_left(run)
        return finished

    def test_logs_of_a_restart(self):
        logs = self.folder()
        run = self.job("--max-restarts", "1", "--log-dir", logs, "--redirects", "3")
        self.hang(logs)
        finished = self.end(run, 60, code=1)
        self.assertRegex(finished.err, "cannot prepare the folders and files of its ranks: no answer after 20.0 s; "
                                       "check which file system hangs: that of the program, of --log-dir")

    def test_the_program_of_a_restart(self):
        folder = self.folder()
        program = folder / "program"
        program.write_text(f"#!/bin/sh\n{WORKER}")
        program.chmod(0o755)
        run = self.begin(support.binary(), "--rdzv-conf", BEATS, "--max-restarts", "1", "--no-python", program,
                         env={"ROOT": str(self.root)})
        support.wait_until((self.root / "began.0").exists, 20, "the first attempt runs")
        self.hang(folder)
        finished = self.end(run, 60, code=1)
        self.assertIn("cannot prepare the folders and files of its ranks: no answer after 20.0 s", finished.err)

    def test_the_report_of_a_job_that_goes_on(self):
        folder = self.folder()
        run = self.job("--max-restarts", "1", "--report", folder / "report.json", LATER="5")
        self.hang(folder)
        finished = self.end(run, 25, code=5)
        self.assertTrue((self.root / "began.1").exists(), finished)
        self.assertIn(f"cannot write {folder}/report.json: not done after 10 s", finished.err)

    def test_a_wait_that_no_signal_ends(self):
        """The agent is over, and a thread of its own keeps the kernel from ending it."""
        for silence in (2, 10):
            with self.subTest(silence=silence):
                folder = self.folder()
                port = support.free_port()
                run = self.begin(
                    support.binary(), "--rdzv-conf", f"keep_alive_interval=1,keep_alive_max_attempt={silence}",
                    "--master-port", port, "--report", folder / "report.json", *SH,
                    '>"$ROOT/began.0"; while [ ! -e "$ROOT/end" ]; do sleep 0.05; done', env={"ROOT": str(self.root)})
                support.wait_until((self.root / "began.0").exists, 20, "the rank runs")
                let_go = self.hang_for_good(folder)
                (self.root / "end").touch()
                try:
                    self.assertEqual(run.process.wait(30), 0)
                    read, _, _ = select.select([run.process.stdout], [], [], 10)
                    self.assertTrue(read, "nothing is printed, so its pipe is closed")
                    with socket.create_server(("", port)):
                        pass  # nothing holds it
                finally:
                    let_go()  # else a toprun that holds the pipes would hold the test
                finished = run.wait(10)
                self.assertNotIn(NO_LIFE, finished.err)
                self.assertIn(f"cannot write {folder}/report.json: not done after 10 s", finished.err)
                self.assertRegex(finished.err, r"toprun: these processes are left behind, because the kernel cannot "
                                               r"end them "
                                               r"\(does a file system not answer\?\): \d+ \(toprun.*, state D.*\)\n")
                for name in ("began.0", "end"):
                    (self.root / name).unlink()

    def test_temporary_files_of_a_job_that_ends(self):
        folder = self.folder()
        run = self.job(TMPDIR=str(folder))
        self.hang(folder)
        self.end(run, 15, code=7)

    def test_a_launcher_s_own_error_file(self):
        folder = self.folder()
        worker = ('echo "{\\"message\\": \\"no\\"}" >$TORCHELASTIC_ERROR_FILE; >"$ROOT/began.0"; '
                  'while [ ! -e "$ROOT/end" ]; do sleep 0.05; done; exit 7')
        run = self.begin(support.binary(), "--rdzv-conf", BEATS, *SH, worker,
                         env={"ROOT": str(self.root), "TORCHELASTIC_ERROR_FILE": str(folder / "error.json")})
        support.wait_until((self.root / "began.0").exists, 20, "the worker runs")
        self.hang(folder)
        finished = self.end(run, 15, code=7)
        self.assertIn(f"cannot write {folder}/error.json: its file system hangs", finished.err)

    def test_a_secret(self):
        folder = self.folder()
        self.hang(folder)
        finished = self.toprun("--rdzv-conf", BEATS, *SH, "true", limit=30,
                               env={"TOPRUN_SECRET_FILE": str(folder / "secret")})
        self.assertEqual(finished.code, 1, finished)
        self.assert_one_line(finished, "the secret of the job: no answer after 15.0 s; check whether munge, .*hangs")


class Pipes(support.TestCase):
    """A pipe that nothing is written to stands for a file on a file server that does not answer."""

    def pipe(self):
        path = self.folder() / "topology"
        os.mkfifo(path)
        return path

    def test_a_topology(self):
        path = self.pipe()
        finished = self.toprun("--topology", path, "--rdzv-conf", f"{BEATS},join_timeout=10", *SH, "true", limit=60)
        self.assertEqual(finished.code, 1, finished)
        self.assertEqual(finished.err.splitlines()[:-1], [  # before the run's last line
            f"toprun: waits for the topology file {path}, for 10.0 s at most",
            f"toprun: cannot compute the ranks' order: the topology file {path} did not answer within 10.0 s; "
            "find the command or file system that hangs, or start without this order (--order)"])

    def test_an_nccl_conf(self):
        """toprun's own settings would hide those of the file: it sets none."""
        path, port = self.pipe(), support.free_port()
        agents = [self.begin(support.binary(), *support.two_nodes(port, rank, nproc=1), "--rdzv-conf", BEATS, *SH,
                             "env | grep -E '^(NCCL|GLOO)_SOCKET' || echo none is set",
                             env={"NCCL_CONF_FILE": str(path)}) for rank in range(2)]
        for run in agents:
            finished = run.wait(60)
            self.assert_ok(finished)
            self.assertIn(f"{path}: the file system of {path} does not respond; toprun sets no network variables on this node\n",
                          finished.err)

    def test_a_signal_meanwhile(self):
        run = self.begin(support.binary(), "--topology", self.pipe(), "--rdzv-conf", BEATS, *SH, "true")
        run.says("waits for the topology file .*, for 1 min 00 s at most")
        run.signal(signal.SIGTERM)
        self.assertEqual(run.wait(20).code, 128 + signal.SIGTERM)
        self.assert_nothing_left(run)


class Names(support.TestCase):
    """On a host of another name, whose DNS server does not answer."""

    def setUp(self):
        support.needs_root()
        support.needs_program("ip")
        self.files = self.folder()
        (self.files / "resolv.conf").write_text("nameserver 127.0.0.53\n")
        (self.files / "hosts").write_text("127.0.0.1 localhost\n")

    def alone(self, *command):
        """The words that run a command there."""
        prepare = (f"ip link set lo up && mount --bind {self.files}/resolv.conf /etc/resolv.conf && "
                   f"mount --bind {self.files}/hosts /etc/hosts && hostname {NAMELESS} && exec \"$@\"")
        return ["unshare", "--net", "--mount", "--uts", "sh", "-c", prepare, "sh",
                sys.executable, "-c", SILENT_SERVER, *map(str, command)]

    def test_their_own_and_local_addresses(self):
        agents = [[support.binary(), "--nnodes", 2, "--node-rank", rank, "--master-addr", "127.0.0.1",
                   "--master-port", 29500, "--local-addr", NAMELESS, "--rdzv-conf", HASTE,
                   *SH, "echo rank $RANK of $WORLD_SIZE"]
                  for rank in (0, 1)]
        root, member = (shlex.join(map(str, words)) for words in agents)
        script = f"{member} & {root}; code=$?; wait $! && exit $code"
        finished = self.run_to_end(*self.alone("sh", "-c", script), limit=40)
        self.assert_ok(finished)
        self.assertEqual(sorted(finished.out.splitlines()), ["rank 0 of 2", "rank 1 of 2"])
        self.assertNotIn(NO_LIFE, finished.err)

    def test_the_root_s(self):
        finished = self.run_to_end(
            *self.alone(support.binary(), "--nnodes", 2, "--node-rank", 1, "--master-addr", "root.of.nobody",
                        "--master-port", 29500, "--rdzv-conf", f"{HASTE},join_timeout=6", *SH, "true"), limit=40)
        self.assertEqual(finished.code, 1, finished)
        self.assertNotIn(NO_LIFE, finished.err)
        self.assertRegex(finished.err, r"cannot join .* root\.of\.nobody.* within 6.*: cannot resolve host name")


if __name__ == "__main__":
    unittest.main()
