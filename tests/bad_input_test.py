# ctest: TIMEOUT 240
"""What toprun says to wrong input and to strangers: one line with what, where, why and what to do;
an exit code; in bounded time; nothing left behind."""

import hashlib
import os
import pathlib
import re
import socket
import struct
import sys
import threading
import unittest

import support
from support import two_nodes

AT_ONCE_S = 5            # for what can be known without waiting for anybody
STRANGER_LIMIT_S = 30    # to say that whoever listens there is no toprun; join time-outs are shorter
JOIN = ["--rdzv-conf", "join_timeout=3"]
SH = ["--no-python", "sh", "-c"]
NOTHING = ["--no-python", "true"]


class CommandLine(support.TestCase):
    # arguments, exit code, the line after "toprun: "
    CASES = [
        ([], 2, "no script given; .*"),
        (["--nproc-per-node", "2"], 2, "no script given; .*"),
        (["missing.py"], 2, "script missing.py in .*: No such file or directory; .*"),
        (["folder"], 2, "script folder.*: is a directory.*; name the file to run"),
        (["--no-python", "no-such-program"], 2, ".*no-such-program.*"),
        (["--nproc-per-node", "0", *NOTHING], 2, "--nproc-per-node 0: must be .*, cpu, gpu or auto"),
        (["--nproc-per-node", "-1", *NOTHING], 2, "--nproc-per-node -1: must be .*"),
        (["--nproc-per-node", "x", *NOTHING], 2, "--nproc-per-node x: must be .*"),
        (["--nproc-per-node", "gpu", *NOTHING], 2, "--nproc-per-node gpu: no GPU is visible .*; .*"),
        (["--nproc-per-nodes", "2", *NOTHING], 2, r".*did you mean --nproc-per-node\?"),
        (["--no-such-thing", *NOTHING], 2, "unknown option --no-such-thing; .*"),
        (["--nnodes", "0", *NOTHING], 2, "--nnodes 0: .*"),
        (["--nnodes", "2:1", *NOTHING], 2, "--nnodes 2:1: MIN is greater than MAX; write the smaller number first: MIN:MAX"),
        (["--nnodes", "0:2", *NOTHING], 2, '--nnodes 0:2: MIN is "0", and must be .*'),
        (["--nnodes", "2", "--standalone", *NOTHING], 2, ".*; drop --standalone"),
        (["--nnodes", "2", "--node-rank", "2", "--master-addr", "127.0.0.1", *NOTHING], 2,
         "--node-rank 2: .* from 0 to 1"),
        (["-m", *NOTHING], 2, "-m and --no-python contradict each other; give only one of them"),
        (["--max-restarts", "-1", *NOTHING], 2, "--max-restarts -1: must be .*"),
        (["--max-restarts", "9" * 30, *NOTHING], 2, "--max-restarts 9+: must be .*"),
        (["--nprocs", "2", *NOTHING], 2, r".*did you mean --nproc-per-node\?"),
        (["--signals-to-handle", "TERM,KILL", *NOTHING], 2, ".*: SIGKILL cannot be caught; .*"),
        (["--shutdown-timeout", "-1", *NOTHING], 2, "--shutdown-timeout -1: must be .*"),
        (["--log-line-prefix-template", "${ran}", *NOTHING], 2,
         r".*: unknown macro \$\{ran\}; the known macros are \$\{role_name\}, .*"),
        (["--logs-specs", "mine", *NOTHING], 2, "--logs-specs mine: .*; leave it out: --log-dir,.*"),
        (["--redirects", "9", *NOTHING], 2, "--redirects 9: .*"),
        (["--redirects", "0:3,1", *NOTHING], 2, '--redirects 0:3,1: "1" must be a local rank, .*'),
        (["--log-max-size", "1X", *NOTHING], 2, "--log-max-size 1X: .*"),
        (["--rdzv-backend", "etcd", *NOTHING], 2, "--rdzv-backend etcd: .*use c10d.*"),
        (["--nnodes", "2", "--rdzv-endpoint", "localhost:x", *NOTHING], 2,
         '--rdzv-endpoint localhost:x: the port "x" is not a number .*'),
        (["--nnodes", "2", "--rdzv-endpoint", "localhost:99999", *NOTHING], 2,
         '--rdzv-endpoint localhost:99999: the port "99999" is not a number .*'),
        (["--master-port", "65536", *NOTHING], 2, ".*65536.*"),
        (["--tee", "9", *NOTHING], 2, "--tee 9: .*"),
        (["--topology", "no-file", *NOTHING], 2, "--topology no-file: it is neither a file nor .*"),
        (["topo", "ordr"], 2, r".*did you mean order\?"),
        (["topo", "order", "--hosts", "n[1-", "--topology", "good"], 2,
         r"--hosts: host list 'n\[1-', column 2: '\[' is never closed; .*"),
        (["topo", "order", "--hosts", "n[3-1]", "--topology", "good"], 2,
         r"--hosts: host list 'n\[3-1\]', column 3: the range 3-1 descends; .*"),
        (["topo", "order", "--hosts", "n[0-999999999]", "--topology", "good"], 2,
         "--hosts: .* has more than 262144 hosts; .*"),
        (["topo", "order", "--topology", "unfinished"], 2, "unfinished:2:1: the path of host b is missing;.*"),
        (["topo", "order", "--topology", "twice"], 2, "twice:3:1: host a appears twice, first at twice:1;.*"),
        (["topo", "order", "--topology", "bad.toml"], 2, r"bad.toml:1:3: .*"),
        (["topo", "order", "--topology", "cycle.conf"], 2, "cycle.conf:.*s[12].*"),
        (["store", "--port", "x"], 2, ".*x.*"),
    ]

    def test_one_line_each(self):
        here = self.folder()
        (here / "folder").mkdir()
        (here / "good").write_text("a /c/r/a\nb /c/s/b\n")
        (here / "unfinished").write_text("a /c/r/a\nb\n")
        (here / "twice").write_text("a /c/r/a\nb /c/r/b\na /c/s/a\n")
        (here / "bad.toml").write_text("[a\nb=1\n")
        (here / "cycle.conf").write_text("SwitchName=s1 Switches=s2\nSwitchName=s2 Switches=s1\n"
                                         "SwitchName=s3 Nodes=a\n")
        for argv, code, line in self.CASES:
            with self.subTest(" ".join(argv)):
                finished = self.toprun(*argv, cwd=here, limit=AT_ONCE_S)
                self.assertEqual((finished.code, finished.out), (code, ""), finished)
                self.assert_one_line(finished, line)

    def test_an_order_that_is_not_there(self):
        finished = self.toprun("--order", "file:no-file", *NOTHING)
        self.assertEqual(finished.code, 2, finished)
        self.assertIn("--order file:no-file: cannot read no-file: No such file or directory; give a file with one "
                      "host per line\n", finished.err)

    def test_hosts_that_a_topology_file_lacks(self):
        file = self.folder() / "places"
        file.write_text("a /c/r/a\n")
        finished = self.toprun("--topology", file, *NOTHING)
        self.assert_ok(finished)
        self.assertIn(f"{file} does not know where {os.uname().nodename} is", finished.err)
        finished = self.toprun("--topology", file, "--topology-required", *NOTHING)
        self.assertEqual(finished.code, 1)
        self.assertRegex(finished.err, rf"--topology-required: .* {os.uname().nodename}; add these nodes to")

    def test_a_topology_file_with_an_error_starts_nothing(self):
        file = self.folder() / "places"
        file.write_text("a /c/r/a\nb\n")
        finished = self.toprun("--topology", file, *SH, "echo ran")
        self.assertEqual((finished.code, finished.out), (2, ""))
        self.assertIn(f"{file}:2:1: the path of host b is missing", finished.err)

    def test_a_line_of_a_topology_file_that_means_too_many_hosts(self):
        file = self.folder() / "places"
        file.write_text("a[0-65535],b[0-65535],c[0-65535],d[0-65535],e[0-65535] /c/r/0\n")
        finished = self.run_to_end(support.binary(), "topo", "show", "--topology", file)
        self.assertEqual((finished.code, finished.out), (2, ""), finished)
        self.assert_one_line(finished, rf"{file}:1:\d+: there are too many hosts: at most 262144 hosts are allowed; .*")

    def test_a_log_folder_that_cannot_be_written(self):
        file = self.folder() / "file"
        file.touch()
        finished = self.toprun("--log-dir", file, *SH, "echo ran")
        self.assertEqual((finished.code, finished.out), (2, ""), finished)
        self.assertRegex(finished.err, rf"cannot write logs to {file}: .*; choose a folder that can be")


class KindsOfJobs(support.TestCase):
    def test_a_job_s_kind_before_its_name(self):
        """kubectl writes it so; a shell's argument may also name a pod, by its number."""
        for words in (("shell", "--attach", "job/foo"), ("shell", "--on", "kubernetes", "--attach", "pytorchjob/foo"),
                      ("run", "--in", "job/foo", "train.py"), ("logs", "job/foo")):
            with self.subTest(words):
                finished = self.toprun(*words, env={"KUBECONFIG": "/nowhere"})
                self.assertEqual((finished.code, finished.out), (2, ""), finished)
                self.assertRegex(finished.err, r"\Atoprun: .*without its kind.*\n\Z")


class NotPythons(support.TestCase):
    """A file that Python cannot run is named before anything starts, with the line that was meant."""

    def test_shell_scripts_batch_scripts_and_programs(self):
        folder = self.folder()
        (folder / "run.sh").write_text("#!/bin/bash\npython train.py\n")
        (folder / "job.sbatch").write_text("#!/bin/bash\n#SBATCH --nodes=2\n#SBATCH --gpus-per-node=8\nsrun true\n")
        as_it_is = "not for Python; to start the script as it is, write --no-python"
        for words, said in [
                (["run.sh"], f"script run.sh: is a script for bash, {as_it_is} ./run.sh"),
                (["--nproc-per-node", "2", "./run.sh"], f"script ./run.sh: is a script for bash, {as_it_is} ./run.sh"),
                (["/bin/sh", "run.sh"], "script /bin/sh: is a program, and Python can run only a script; write --no-python "
                                        "/bin/sh"),
                ([sys.executable, "x.py"], f"script {sys.executable}: is a program, and Python can run only a script; "
                                           f"leave {sys.executable} out: toprun starts Python for each rank"),
                (["submit", "job.sbatch"], f"script job.sbatch: is a script for bash, {as_it_is} ./job.sbatch; to "
                                           "submit the script as a separate job, run `sbatch job.sbatch`; to submit "
                                           "a Python script with the same options, run `toprun submit --nodes=2 "
                                           "--gpus-per-node=8 SCRIPT`")]:
            with self.subTest(words):
                finished = self.toprun(*words, cwd=folder, limit=AT_ONCE_S)
                self.assertEqual((finished.code, finished.out), (2, ""), finished)
                self.assert_one_line(finished, re.escape(said))


FEW_FILES = 128


class Stranger:
    """A listener that is no toprun: it answers with `greeting`, then closes or stays silent."""

    def __init__(self, test, greeting=b"", close=False):
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.greeting, self.close, self.guests, self.came = greeting, close, [], 0
        threading.Thread(target=self.serve, daemon=True).start()
        test.addCleanup(self.end)

    def serve(self):
        try:
            while True:
                guest = self.listener.accept()[0]
                self.came += 1
                self.guests.append(guest)
                if self.greeting:
                    guest.sendall(self.greeting)
                if self.close:
                    guest.close()
        except OSError:
            pass  # the guest or the listener is gone

    def end(self):
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
        for guest in self.guests:
            guest.close()


class Endpoint(support.TestCase):
    def join(self, endpoint, *options, limit=STRANGER_LIMIT_S):
        finished = self.toprun("--nnodes", 2, "--rdzv-backend", "c10d", "--rdzv-endpoint", endpoint,
                               *options, *SH, "echo ran", limit=limit)
        self.assertEqual((finished.code, finished.out), (1, ""), finished)
        return finished

    def test_nobody_joins(self):
        finished = self.join(f"localhost:{support.free_port()}", *JOIN)
        self.assertRegex(finished.err, r"toprun: 1 of 2 joined within [3-9]\.\d s; start the missing ones, "
                                       "or raise join_timeout in --rdzv-conf\n")

    def test_a_name_that_does_not_resolve(self):
        finished = self.join("no-such-host.invalid:29400", *JOIN)
        self.assertRegex(finished.err, r"waiting for .*no-such-host\.invalid:29400: cannot resolve")
        self.assertRegex(finished.err.splitlines()[-1],
                         r"cannot join .* within [3-9]\.\d s: cannot resolve .*is_host=1 on one$")

    def dial(self, port, *options):
        """Node rank 1, which dials a root that is not there."""
        return self.begin(support.binary(), *two_nodes(port, node_rank=1), *options, *NOTHING)

    def last_words(self, run, are_all=False):
        finished = run.wait(STRANGER_LIMIT_S)
        if are_all:
            self.assertEqual(len(finished.err.splitlines()), 1, finished)
        self.assertEqual(finished.code, 1, finished)
        self.assert_nothing_left(run)
        return finished.err.splitlines()[-1]

    def test_a_port_that_refuses(self):
        port = support.free_port()
        self.assertRegex(self.last_words(self.dial(port, *JOIN)),
                         rf"cannot join .*127\.0\.0\.1:{port} within [3-9]\.\d s: connection refused")

    def test_strangers(self):
        # Each is told apart from a root that starts late; the join time-out is not waited for.
        cases = [(stranger, self.dial(stranger.port), why) for stranger, why in (
            (Stranger(self), "it says nothing for 2.0 s"),
            (Stranger(self, close=True), "(the connection was closed|Connection reset by peer)"),
            (Stranger(self, b"SSH-2.0-OpenSSH_9.2\r\n"), "not a toprun root: .* protocol: 'SSH-2.0-OpenSSH_9.2'"))]
        for stranger, run, why in cases:
            with self.subTest(why):
                self.assertRegex(self.last_words(run, are_all=True), rf"cannot join .*:{stranger.port}: .*{why}.*; "
                                 "choose another port with --rdzv-endpoint or --master-port")
                # In 4 s there is time for some 20 tries, and on a slow machine for fewer.
                self.assertLess(stranger.came, 25)

    def test_a_port_in_use_names_its_holder(self):
        stranger = Stranger(self)
        for host, argv in (("", ["--master-port", stranger.port]),
                           (rf"{re.escape(socket.gethostname())}: ", two_nodes(stranger.port, node_rank=0))):
            with self.subTest(argv):
                finished = self.toprun(*argv, *NOTHING, limit=AT_ONCE_S)
                self.assertEqual(finished.code, 1)
                self.assert_one_line(finished, rf"{host}cannot listen on port {stranger.port}: Address "
                                               rf"already in use; \S+ \(pid {os.getpid()}\) holds it")

    def test_with_c10d_the_endpoint_s_own_host_names_it_too(self):
        strangers = {Stranger(self): "says nothing", Stranger(self, close=True): "closes",
                     Stranger(self, b"SSH-2.0-OpenSSH_9.2\r\n"): "another protocol"}
        runs = {stranger: self.begin(support.binary(), "--nnodes", 2, "--rdzv-backend", "c10d", "--rdzv-endpoint",
                                     f"localhost:{stranger.port}", *NOTHING) for stranger in strangers}
        for stranger, what in strangers.items():
            with self.subTest(what):
                self.assertRegex(self.last_words(runs[stranger]),
                                 rf"^toprun: cannot listen on port {stranger.port}: Address already in use, and the "
                                 r"program that "
                                 rf"answers there is not a toprun root; \S+ \(pid {os.getpid()}\) holds it$")


class Refused(support.TestCase):
    """A root and one member wait for a third; who does not belong to them is refused by name."""

    def setUp(self):
        self.port = support.free_port()
        self.ready = self.folder()
        self.runs = [self.node(rank) for rank in (0, 1)]

    def node(self, rank, *options, nnodes=3, program=None, **kwargs):
        return self.begin(support.binary(), *two_nodes(self.port, rank, nproc=1), "--nnodes", nnodes,
                          *options, *SH, program or f'>"{self.ready}/$RANK"', **kwargs)

    def refused(self, run, pattern):
        finished = run.wait(STRANGER_LIMIT_S)
        self.assertEqual(finished.code, 1, finished)
        self.assertRegex(finished.err.splitlines()[-1], pattern)

    def later_of_two_with_rank_1(self):
        """Which of two gets there first is nobody's to say."""
        twins = [self.runs[1], self.node(1)]
        later = support.wait_until(
            lambda: next((run for run in twins if run.process.poll() is not None), None),
            STRANGER_LIMIT_S, "one of two agents of one node rank is refused")
        twins.remove(later)
        self.runs[1:] = twins
        return later

    def connected(self):
        def connect():
            try:
                return socket.create_connection(("127.0.0.1", self.port), 10)
            except ConnectionRefusedError:
                return None
        return support.wait_until(connect, 10, "the root listens")

    def test_the_port_does_not_tell_the_job_s_name(self):
        """A secret that is made of the name would follow from it."""
        for run in self.runs:
            run.kill_all()
        self.port = support.free_port()
        self.runs = [self.node(0, "--rdzv-id", "hard-to-guess", *JOIN)]
        for line in (b"toprun/1 9.9.9 probe x " + b"0" * 16 + b" " + b"0" * 64 + b" none\n",
                     b"toprun/1 9.9.9 member hard " + b"0" * 16 + b" " + b"0" * 64 + b" derived\n"):
            with self.connected() as connection:
                connection.sendall(line)
                answer = connection.makefile("rb").readline().decode()
                self.assertRegex(answer, r"^toprun/1 refused job \d+\.\d+\.\d+\n$")

    def test_without_a_secret_a_line_says_who_may_join(self):
        for run in self.runs:
            run.kill_all()
        for secret, told in (({}, True), ({"TOPRUN_SECRET": "between us"}, False)):
            with self.subTest(secret):
                self.port = support.free_port()
                ends = [run.wait(60) for run in [self.node(rank, env=secret) for rank in range(3)]]
                lines = [end.err.count(f"every process that reaches port {self.port} of this host may join the "
                                       "job; to keep other processes out, set TOPRUN_SECRET") for end in ends]
                self.assertEqual(lines, [int(told), 0, 0])

    def test_strangers_to_the_job_do_not_disturb_it(self):
        at = rf"127\.0\.0\.1:{self.port}"
        self.refused(self.later_of_two_with_rank_1(), rf"refused by .*{at}: node rank 1 is taken by \S+ \(pid \d+\)")
        self.refused(self.node(2, env={"TOPRUN_SECRET": "x"}), rf"cannot join .*{at}: .*secret.*TOPRUN_SECRET")
        self.refused(self.node(1, nnodes=4), rf"refused by .*{at}: .*started for 4 nodes.* for 3")
        self.refused(self.node(2, "--rdzv-id", "other", *JOIN),
                     rf"cannot join .*{at}.*: an agent of another job answers; .*--rdzv-id")
        for end in [run.wait(60) for run in [*self.runs, self.node(2)]]:
            self.assert_ok(end)
        self.assertEqual(support.wait_for_files(self.ready, 3), ["0", "1", "2"])

    def test_idle_connections_keep_nobody_out(self):
        """More of them than files may be open, silent or half through their handshake."""
        for run in self.runs:
            run.kill_all()
        self.port = support.free_port()
        limited = f"ulimit -n {FEW_FILES}; exec \"$@\""
        root = self.begin("sh", "-c", limited, "-", support.binary(),
                          *two_nodes(self.port, 0, nproc=1), "--nnodes", 3, *SH, ":")
        job = hashlib.blake2b(b"job none", digest_size=16).hexdigest()
        half = f"toprun/1 0.1.0 member {job} {'0' * 16} {'0' * 64} derived\n".encode()
        says = [b""] * 4 * FEW_FILES + [b"toprun/1 ", half] * FEW_FILES
        self.connected().close()
        held = [socket.create_connection(("127.0.0.1", self.port), 10) for _ in says]
        self.addCleanup(lambda: [connection.close() for connection in held])
        for connection, line in zip(held, says):
            try:
                connection.sendall(line)
            except OSError:
                pass  # it was the oldest
        for end in [run.wait(60) for run in [root, self.node(1), self.node(2)]]:
            self.assert_ok(end)

    def test_one_agent_more_than_nodes(self):
        program = f'>"{self.ready}/$RANK"; while [ ! -e "{self.ready}/end" ]; do sleep 0.1; done'
        for run in self.runs:
            run.kill_all()
        self.port = support.free_port()
        endpoint = ["--rdzv-endpoint", f"localhost:{self.port}", "--rdzv-backend", "c10d"]
        def node():
            return self.begin(support.binary(), "--nnodes", 2, "--nproc-per-node", 1, *endpoint, *SH,
                              program)
        runs = [node(), node()]
        support.wait_for_files(self.ready, 2)
        self.refused(node(), r"refused by .*: all 2 nodes of the job have joined already")
        (self.ready / "end").touch()
        for run in runs:
            self.assert_ok(run.wait(30))


class HostileBytes(support.TestCase):
    """On the job's port while it runs: the workers' store is behind it."""

    CASES = [
        b"", b"\0", b"\xff" * 4096, b"GET / HTTP/1.1\r\nHost: x\r\n\r\n", b"toprun/", b"toprun/1 \n",
        b"toprun/1 " + b"A" * 5000, b"toprun/1 0.1.0 member none\n", b"\x16\x03\x01\x02\x00\x01\x00",
        b"\x00\xce\xf7\x85\x3c" + b"\x0b" + struct.pack("<q", 2**62),      # MULTI_SET of 2^62 keys
        b"\x00\xce\xf7\x85\x3c" + b"\x01" + struct.pack("<Q", 2**63),      # a key of 2^63 bytes
        b"\x00\xce\xf7\x85\x3c" + b"\xee" * 100,                           # no such request
    ]

    def test_the_job_goes_on(self):
        port, ready = support.free_port(), self.folder()
        run = self.begin(support.binary(), "--master-port", port, "--nproc-per-node", 2, *SH,
                         f'>"{ready}/$RANK"; while [ ! -e "{ready}/end" ]; do sleep 0.1; done')
        support.wait_for_files(ready, 2)
        agent = run.agent()
        connections = []
        for data in self.CASES * 10:
            connection = socket.create_connection(("127.0.0.1", port), 10)
            self.addCleanup(connection.close)
            connections.append(connection)
            try:
                connection.sendall(data)
            except OSError:
                pass  # closed by toprun at the first bytes
        with socket.create_connection(("127.0.0.1", port), 10) as healthy:
            healthy.sendall(b"\x00\xce\xf7\x85\x3c" b"\x0d" b"ping")
            self.assertEqual(healthy.makefile("rb").read(4), b"ping")
        resident = int(re.search(r"VmRSS:\s+(\d+) kB",
                                 pathlib.Path(f"/proc/{agent}/status").read_text())[1])
        self.assertLess(resident, 64 * 1024)
        (ready / "end").touch()
        self.assert_ok(run.wait(30))


if __name__ == "__main__":
    unittest.main()
