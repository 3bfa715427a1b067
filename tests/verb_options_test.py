# ctest: TIMEOUT 180
"""Options of single verbs, each with what it changes."""

import re
import socket
import struct
import unittest

import support

HOSTS = "a[1-6]"  # two racks of three, in turn
PARALLEL = ["--parallel", "tp=2,pp=3"]
ASSUMED = "assumed the traffic of a model with 70B parameters"


class Topology(support.TestCase):
    def setUp(self):
        self.here = self.folder()
        (self.here / "f").write_text("".join(f"a{i} /c/r{2 - i % 2}/a{i}\n" for i in range(1, 7)))
        (self.here / "big").write_text("".join(f"n{i} /c/r{i % 20}/n{i}\n" for i in range(60)))
        (self.here / "earlier").write_text("a2\na1\na4\na3\n")
        (self.here / "all").write_text("a6\na1\na5\na2\na4\na3\n")

    def topo(self, *words):
        finished = self.run_to_end(support.binary(), "topo", *words, cwd=self.here)
        self.assert_ok(finished)
        return finished

    def order(self, *words):
        finished = self.topo("order", "--topology", "f", "--hosts", HOSTS, "--format", "hosts", *words)
        return finished.out.split(), finished.err

    def test_order(self):
        for words, expected in (
                ([], "a1 a3 a5 a2 a4 a6"),
                (["--nnodes", 4], "a1 a3 a5 a2"),
                (["--nnodes", 4, "--segment", 2], "a1 a3 a2 a4"),
                (["--stable", "earlier"], "a2 a1 a4 a3 a5 a6"),
                (PARALLEL, "a1 a3 a5 a2 a4 a6"),
                ([*PARALLEL, "--traffic", "tp=1,pp=8G"], "a1 a2 a3 a4 a5 a6")):
            with self.subTest(words):
                self.assertEqual(" ".join(self.order(*words)[0]), expected)

    def test_order_s_unknown_places(self):
        """As a launch does, so the answer is the launch's."""
        words = ["topo", "order", "--topology", "f", "--hosts", "a[1-8]"]
        required = "TOPRUN_TOPOLOGY_REQUIRED"
        for option, environment, fails in (([], {}, False), (["--topology-required"], {}, True),
                                           ([], {required: "1"}, True), ([], {required: "0"}, False)):
            with self.subTest(option, **environment):
                finished = self.run_to_end(support.binary(), *words, *option, cwd=self.here, env=environment)
                if not fails:
                    self.assert_ok(finished)
                    continue
                self.assertEqual((finished.code, finished.out), (1, ""), finished)
                self.assert_one_line(finished, r"(--topology-required|TOPRUN_TOPOLOGY_REQUIRED\S*): the places of these nodes in the network are "
                                               r"not known: a\[7-8\]; add the nodes to a file, and name the file with --topology FILE")

    def test_order_s_model(self):
        self.assertIn(ASSUMED, self.order(*PARALLEL)[1])
        self.assertNotIn(ASSUMED, self.order(*PARALLEL, "--model", "7B")[1])

    def test_order_s_explanation(self):
        explained = "toprun: a1 is 1st of 6 (rank 0): rack r1 of cluster c, by f:1"
        self.assertIn(explained, self.order("--explain")[1])
        self.assertNotIn(explained, self.order()[1])

    def score(self, *words):
        return self.topo("score", "--topology", "f", "--hosts", HOSTS, *words)

    def test_score(self):
        self.assertIn("\n64 MiB per node ", self.score().out)
        self.assertIn("\n1 MiB per node ", self.score("--size", "1M").out)
        self.assertRegex(self.score().out, r"(?m)^given +0 +6$")
        self.assertNotRegex(self.score().out, r"(?m)^file ")
        for order in "file:all", "all":
            self.assertRegex(self.score("--order", order).out, r"(?m)^file +0 +4$")
        self.assertTrue(self.score("--json").out.startswith('{"schema": "toprun.topo_score/1",'))
        self.assertIn("set speeds with --link host=GBPS,LEVEL=GBPS", self.score(*PARALLEL).err)
        self.assertNotIn("set speeds with --link host=GBPS,LEVEL=GBPS", self.score(*PARALLEL, "--link", "rack=100").err)

    def test_show_s_all(self):
        self.assertIn("rack r[0-19]  60 nodes  20 × 3\n", self.topo("show", "--topology", "big").out)
        self.assertRegex(self.topo("show", "--topology", "big", "--all").out, r"(?m)^  rack r7 +3 nodes +n\[7,27,47\]$")

    def test_draw_s_groups(self):
        groups = "the nodes whose ranks share pp groups"
        words = ["draw", "--topology", "f", "--hosts", HOSTS, *PARALLEL]
        self.assertNotIn(groups, self.topo(*words).out)
        self.assertIn(groups, self.topo(*words, "--groups", "pp").out)

    def test_convert_s_form(self):
        for form, begins in (("topology.yaml", "---\n- topology: "), ("topology.conf", "SwitchName=")):
            with self.subTest(form):
                self.assertRegex(self.topo("convert", "--topology", "f", "--to", form).out, f"(?m)^{begins}")

    def test_which_files_are_read(self):
        (self.here / "toprun.toml").write_text("topology = 'f'\n")
        (self.here / "other.toml").write_text("topology = 'big'\n")
        for words, nodes in (([], 6), (["--config-file", "other.toml"], 60), (["--no-config", "--topology", "big"], 60)):
            with self.subTest(words):
                self.assertIn(f" {nodes} nodes\n", self.topo("show", *words).out)
        (self.here / "toprun.toml").write_text("no such key = 1\n")
        self.topo("show", "--no-config", "--topology", "f")


class Submit(support.TestCase):
    def setUp(self):
        self.here = self.folder()
        (self.here / "toprun.toml").write_text("partition = 'here'\n")
        (self.here / "other.toml").write_text("partition = 'other'\n")
        (self.here / "train.py").touch()

    def submit(self, *words, **env):
        done = self.toprun("submit", "--on", "slurm", "--dry-run", *words, cwd=self.here,
                           env={"XDG_CONFIG_HOME": str(self.here), **env})
        self.assert_ok(done)
        return done.out

    def test_which_files_are_read(self):
        for words, env, partition in (
                ([], {}, "here"), (["--config-file", "other.toml"], {}, "other"), (["--no-config"], {}, None),
                ([], {"TOPRUN_CONFIG_FILE": "other.toml"}, "other"), ([], {"TOPRUN_NO_CONFIG": "1"}, None)):
            with self.subTest(words, env=env):
                found = re.findall(r"(?m)^#SBATCH --partition=(.*)$", self.submit(*words, "train.py", **env))
                self.assertEqual(found, [partition] if partition else [])

    def test_module(self):
        self.assertRegex(self.submit("--module", "package.train"), r"(?m)^exec .* --module package\.train$")
        self.assertNotIn("--module", self.submit("train.py"))


class Setup(support.TestCase):
    def test_on(self):
        for engine, begins in (("local", r"\S*python3? -m venv \S+\n"), ("slurm", "#!/bin/bash\n")):
            with self.subTest(engine):
                done = self.toprun("setup", "--on", engine, "--dry-run", "--venv", "v", "numpy", cwd=self.folder())
                self.assert_ok(done)
                self.assertRegex(done.out, f"^{begins}")


class Doctor(support.TestCase):
    def test_hostfile(self):
        here = self.folder()
        (here / "hosts").write_text("h1\nh2\n")
        (here / "ssh").write_text("#!/bin/sh\necho no route to that host >&2\nexit 255\n")
        (here / "ssh").chmod(0o755)
        done = self.toprun("doctor", "--hostfile", here / "hosts", env={"TOPRUN_SSH": str(here / "ssh")})
        self.assertEqual(done.code, 4, done)
        self.assertIn("no agent on h[1-2]: no route to that host", done.err)


class Words(support.TestCase):
    def test_version(self):
        plain, verbose, bill = (self.toprun("version", *words).out for words in ([], ["-v"], ["--sbom"]))
        self.assertRegex(plain, r"\Atoprun \d+\.\d+\.\d+\n\Z")
        self.assertRegex(verbose, r"\Atoprun .*\nbuild +\S+\ncompiler ")
        self.assertIn('"bomFormat": "CycloneDX"', bill)

    def test_net_env_for_a_shell(self):
        """… has nothing but what a shell may read."""
        for words in ([], ["--shell"]):
            with self.subTest(words):
                root = self.folder()
                (root / "sys").mkdir()
                done = self.toprun("net", "env", "--root", root, *words)
                self.assert_ok(done)
                others = [line for line in done.out.splitlines() if not re.match(r"export [A-Z_]+=", line)]
                self.assertEqual(bool(others), not words, done)


def text(word):
    return struct.pack("<Q", len(word)) + word


HELLO = struct.pack("<BI", 0, 0x3C85F7CE)  # the protocol of PyTorch's TCPStore


def setting(key, value):
    return b"\1" + text(key) + text(value)


def asking_for(count):
    """Whether these keys are there."""
    return b"\5" + struct.pack("<Q", count) + b"".join(text(bytes([65 + i])) for i in range(count))


class Store(support.TestCase):
    """A client within a limit is answered, one beyond it loses its connection."""

    def serves(self, *options, request, clients=1):
        run = self.begin(support.binary(), "store", "--port", 0, *options)
        run.says(r"listening on \S+:\d+\n", 20)
        port = int(re.search(rb":(\d+)\n", run.seen[run.process.stderr])[1])
        held = [socket.create_connection(("127.0.0.1", port), 20) for _ in range(clients)]
        try:
            for client in held:
                client.sendall(HELLO + request + b"\4" + text(b"n") + struct.pack("<q", 1))
            return all(self.answered(client) for client in held)
        finally:
            for client in held:
                client.close()

    def answered(self, client):
        try:
            return len(client.recv(8, socket.MSG_WAITALL)) == 8
        except ConnectionError:
            return False

    def test_limits(self):
        for options, request, clients in (
                (["--max-key", 10], setting(b"k" * 100, b"v"), 1),
                (["--max-value", 10], setting(b"k", b"v" * 100), 1),
                (["--max-request", 50], setting(b"k", b"v" * 100), 1),
                (["--max-keys-per-request", 2], asking_for(3), 1),
                (["--max-connections", 1], b"", 2)):
            with self.subTest(options):
                self.assertTrue(self.serves(request=request, clients=clients))
                self.assertFalse(self.serves(*options, request=request, clients=clients))


if __name__ == "__main__":
    unittest.main()
