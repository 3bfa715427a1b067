# ctest: TIMEOUT 300 LABELS cluster
"""Hosts in a cloud: their firmware names it, and each has a metadata server at 169.254.169.254 that
says where it is, or answers as a broken one does; on Azure their InfiniBand ports do."""

import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

import cluster
import support
from cluster import column, shown, shows

TOPRUN = support.TOPRUN
PORT = "29511"
BUDGET_S = 1.0  # for all that a node asks of its cloud
SLACK_S = 6.0   # a launch on two busy cores
VARIABLES = ("RANK", "TOPRUN_NODE_NAME", "TOPRUN_LOCATION")

# A /sys/class like the host's own, but for what the folder has of it: class/dmi is what the kernel
# shows of the firmware.
PRETEND = """
set -e
for kind in /sys/class/*; do
  test -e "$1/class/${kind##*/}" && continue
  mkdir "$1/class/${kind##*/}"
  mount --rbind "$kind" "$1/class/${kind##*/}"
done
mount --rbind "$1/class" /sys/class
"""

# Serves {"METHOD path": [header, its value, answer]}; an answer that is no text is a defect's name.
SERVER = """
import http.server, json, pathlib, sys, time

answers, log, ready = json.loads(sys.argv[1]), pathlib.Path(sys.argv[2]), pathlib.Path(sys.argv[3])

class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        with log.open("a") as file:
            file.write(self.requestline + "\\n")
        name, value, answer = answers.get(f"{self.command} {self.path}", ("", "", 404))
        if name and self.headers.get(name) != value:
            answer = 403
        if isinstance(answer, int):
            self.send_error(answer)
        elif isinstance(answer, str):
            self.send_response(200)
            self.send_header("Content-Length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer.encode())
        else:
            getattr(self, answer[0])()
        self.close_connection = True
    do_PUT = do_GET

    def silent(self):
        time.sleep(30)
    def huge(self):
        self.send_response(200)
        self.end_headers()
        try:
            for _ in range(1000):
                self.wfile.write(b"x" * 1000000)
        except OSError:
            pass
    def garbage(self):
        self.wfile.write(bytes(range(256)) * 10)
    def trickling(self):
        self.send_response(200)
        self.end_headers()
        try:
            while True:
                self.wfile.write(b"/")
                time.sleep(0.02)
        except OSError:
            pass
    def log_message(self, *words):
        pass

server = http.server.ThreadingHTTPServer(("169.254.169.254", 80), Handler)
ready.touch()
server.serve_forever()
"""


class Cloud(cluster.TestCase):
    """Cases on hosts whose firmware says DMI."""

    UP = ("--hosts", "4")
    DMI = {}

    @classmethod
    def setUpClass(cls):
        support.needs_root()
        super().setUpClass()
        for host in range(int(cls.UP[1])):
            cls.pretend(f"n{host}")

    @classmethod
    def kernel_says(cls, host):
        """{file below /sys/class: text}"""
        return {f"dmi/id/{name}": text for name, text in cls.DMI.items()}

    @classmethod
    def pretend(cls, host):
        folder = tempfile.mkdtemp(prefix="toprun-test-")
        cls.addClassCleanup(shutil.rmtree, folder, ignore_errors=True)
        for name, text in cls.kernel_says(host).items():
            path = pathlib.Path(folder) / "class" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text + "\n")
        for command in (["sh", "-c", PRETEND, "sh", folder],
                        ["ip", "address", "add", "169.254.169.254/32", "dev", "lo"]):
            subprocess.run(cls.cluster.on(host, *command), check=True,
                                   timeout=cluster.UP_LIMIT_S)

    def setUp(self):
        self.servers = {}

    def serve(self, host, answers):
        """A metadata server on the host, in place of an earlier one; returns the file of the
        requests that it gets."""
        self.end_server(host)
        folder = self.folder()
        self.servers[host] = self.start(host, sys.executable, "-c", SERVER, json.dumps(answers),
                                        folder / "log", folder / "ready")
        cluster.wait_for((folder / "ready").exists, "the metadata server listens")
        return folder / "log"

    def end_server(self, host):
        if host in self.servers:
            server = self.servers.pop(host)
            server.kill_all()
            server.process.wait()

    def launch(self, *options, hosts, env=None):
        """Runs it on n0 … to its end; returns the workers' rows and what the root agent said before
        its last line, the run's summary."""
        words = [TOPRUN, "--nnodes", hosts, "--rdzv-backend", "c10d", "--rdzv-endpoint",
                 f"n0:{PORT}", *options, *shows(*VARIABLES)]
        env = {"TOPRUN_SECRET": "of this test"} | (env or {})
        runs = [self.start(f"n{host}", *words, env=env) for host in range(hosts)]
        finished = [run.wait(60) for run in runs]
        for run, one in zip(runs, finished):
            self.assertEqual(one.code, 0, finished[0])
            self.assert_nothing_left(run)
        self.took = max(one.seconds for one in finished)
        said = finished[0].err.splitlines(keepends=True)
        return shown("".join(one.out for one in finished)), "".join(said[:-1])


def google(answer):
    return {"GET /computeMetadata/v1/instance/attributes/physical_host":
            ["Metadata-Flavor", "Google", answer]}


class Google(Cloud):
    DMI = {"product_name": "Google Compute Engine", "sys_vendor": "Google", "bios_vendor": "Google"}
    PLACES = ["/c/b/0", "/c/a/1", "/c/b/2", "/c/a/3"]

    def test_ranks_follow_the_racks(self):
        for host, place in enumerate(self.PLACES):
            self.serve(f"n{host}", google(place))
        for topology in ("auto", "gcp"):
            with self.subTest(topology):
                rows, said = self.launch("-v", "--topology", topology, hosts=4)
                self.assertEqual(column(rows, "TOPRUN_NODE_NAME"), ["n1", "n3", "n0", "n2"])
                self.assertEqual(column(rows, "TOPRUN_LOCATION"),
                                 [self.PLACES[host] for host in (1, 3, 0, 2)])
                self.assertIn("order: topology (evidence from gcp)", said)

    def test_without_a_placement_policy(self):
        for host in range(3):
            self.serve(f"n{host}", google(""))
        rows, said = self.launch(hosts=3)
        self.assertEqual(column(rows, "TOPRUN_NODE_NAME"), ["n0", "n1", "n2"])
        self.assertRegex(said, r"\Atoprun: n\[0-2\]: Google does not report their place: .* without "
                               "a compact placement policy; verify with `gcloud compute instances "
                               "describe n0 [^\n]*\n\\Z")

    def test_one_server_is_broken(self):
        self.serve("n0", google(self.PLACES[0]))
        self.serve("n2", google(self.PLACES[2]))
        server = "metadata server 169.254.169.254: GET .*/physical_host: "
        for answer, expected in [
            (404, "the metadata server does not have physical_host"),
            (500, server + "it answered 500 Internal Server Error"),
            (["huge"], server + "the answer is longer than 64 KiB"),
            (["garbage"], server + "the server does not use HTTP"),
            (["silent"], server + "no answer within 1"),
            (["trickling"], server + "(no answer within 1|the answer is longer)"),
            ("nonsense", "physical_host of n1 is malformed and ignored: '/nonsense' does not name a domain"),
            (None, server + "connection refused"),
        ]:
            with self.subTest(answer):
                self.end_server("n1")
                if answer is not None:
                    self.serve("n1", google(answer))
                rows, said = self.launch(hosts=3)
                self.assertEqual(column(rows, "TOPRUN_NODE_NAME"), ["n0", "n2", "n1"])
                self.assertRegex(said, expected)
                self.assertLess(said.count("\n"), 3, said)
                self.assertLess(self.took, BUDGET_S + SLACK_S)

    def test_nobody_is_asked_in_vain(self):
        listed = self.folder() / "racks"
        listed.write_text("".join(f"n{host} {place}\n" for host, place in enumerate(self.PLACES)))
        log = self.serve("n0", google(self.PLACES[0]))
        rows, _ = self.launch("--topology", listed, hosts=2)
        self.assertEqual(column(rows, "TOPRUN_NODE_NAME"), ["n1", "n0"])
        self.launch(hosts=1)
        self.assertFalse(log.exists(), "a file's launch and a single node asked the cloud")


class Amazon(Cloud):
    UP = ("--hosts", "3")
    DMI = {"product_name": "p5en.48xlarge", "sys_vendor": "Amazon EC2", "bios_vendor": "Amazon EC2"}

    def test_instances_of_a_file(self):
        leaf = {"i-0a": "nn-2", "i-0b": "nn-1", "i-0c": "nn-2"}
        for host, instance in enumerate(leaf):
            self.serve(f"n{host}", {
                "PUT /latest/api/token": ["X-aws-ec2-metadata-token-ttl-seconds", "60", "AQAE=="],
                "GET /latest/meta-data/instance-id":
                    ["X-aws-ec2-metadata-token", "AQAE==", instance]})
        described = self.folder() / "topology.json"
        described.write_text(json.dumps({"Instances": [
            {"InstanceId": instance, "NetworkNodes": ["nn-0", node], "CapacityBlockId": None}
            for instance, node in leaf.items()]}))
        rows, said = self.launch("--topology", described, hosts=3)
        self.assertEqual(column(rows, "TOPRUN_NODE_NAME"), ["n1", "n0", "n2"])
        self.assertEqual(said, "")


class Oracle(Cloud):
    UP = ("--hosts", "3")
    DMI = {"product_name": "ORACLE SERVER X9-2c", "chassis_asset_tag": "OracleCloud.com"}

    def test_ranks_follow_the_blocks(self):
        for host, block in enumerate(["l2", "l1", "l2"]):
            self.serve(f"n{host}", {"GET /opc/v2/host/rdmaTopologyData": [
                "Authorization", "Bearer Oracle", json.dumps({
                    "customerHPCIslandId": "i", "customerNetworkBlock": "n",
                    "customerLocalBlock": block, "customerHostId": f"h{host}"})]})
        rows, said = self.launch(hosts=3)
        self.assertEqual(column(rows, "TOPRUN_NODE_NAME"), ["n1", "n0", "n2"])
        self.assertEqual(column(rows, "TOPRUN_LOCATION"), ["/i/n/l1/n1", "/i/n/l2/n0", "/i/n/l2/n2"])
        self.assertEqual(said, "")


# In place of NVIDIA's program, which needs a fabric.
SHARP = """\
#!/bin/sh
sort "$5" > "$0.asked"
cat > "$7" <<END
# made for a test
SwitchName=ibsw1 Nodes=0x155dfffd330000,0x155dfffd330002
SwitchName=ibsw2 Nodes=0x155dfffd330001,0x155dfffd330003
SwitchName=ibsw3 Switches=ibsw1,ibsw2
END
"""


class Azure(Cloud):
    """Nothing is asked of a server: each host has an InfiniBand port, n0 and n2 on one switch."""

    PORT = "0000:0000:0000:0015:5dff:fd33:000"
    EXPECTED = (["n0", "n2", "n1", "n3"], ["/ibsw3/ibsw1/n0", "/ibsw3/ibsw1/n2", "/ibsw3/ibsw2/n1",
                                           "/ibsw3/ibsw2/n3"])

    @classmethod
    def kernel_says(cls, host):
        return {"infiniband/mlx5_ib0/ports/1/link_layer": "InfiniBand",
                "infiniband/mlx5_ib0/ports/1/gids/0": f"fe80:{cls.PORT}{host[1:]}",
                "infiniband/mlx5_an0/ports/1/link_layer": "Ethernet",
                "infiniband/mlx5_an0/ports/1/gids/0": f"fe80:{cls.PORT}9"}

    def sharp(self):
        program = self.folder() / "sharp_cmd"
        program.write_text(SHARP)
        program.chmod(0o755)
        return program

    def test_sharp_is_asked_for_everybodys_ports(self):
        program = self.sharp()
        rows, said = self.launch("--topology", "azure", "-v", hosts=4,
                                 env={"PATH": f"{program.parent}:{os.environ['PATH']}"})
        self.assertEqual((column(rows, "TOPRUN_NODE_NAME"), column(rows, "TOPRUN_LOCATION")),
                         self.EXPECTED)
        self.assertIn("order: topology (evidence from azure)", said)
        self.assertEqual((program.parent / "sharp_cmd.asked").read_text(),
                         "".join(f"0x155dfffd33000{host}\n" for host in range(4)))

    def test_its_file_is_matched_by_ports(self):
        saved = self.folder() / "topology.txt"
        guids = self.folder() / "none"
        guids.touch()
        subprocess.run([self.sharp(), "topology", "--ib-dev", "mlx5_ib0:1", "--guids_file", guids,
                        "--topology_file", saved], check=True)
        rows, said = self.launch("--topology", saved, hosts=4)
        self.assertEqual((column(rows, "TOPRUN_NODE_NAME"), column(rows, "TOPRUN_LOCATION")),
                         self.EXPECTED)
        self.assertEqual(said, "")

    def test_without_sharp(self):
        words = [TOPRUN, "--nnodes", 2, "--rdzv-backend", "c10d", "--rdzv-endpoint", f"n0:{PORT}",
                 "--topology", "azure", *shows("RANK")]
        runs = [self.start(f"n{host}", *words) for host in range(2)]
        root = runs[0].wait(60)
        self.assertEqual(root.code, 1, root)
        self.assertRegex(root.err, r"--topology azure: sharp_cmd is not on this node: toprun looked for "
                                   r"the program in PATH, .*; load HPC-X, or ")
        runs[1].wait(60)


class OnPremises(Cloud):
    """A server answers at the clouds' address, but no cloud is named."""

    UP = ("--hosts", "2")
    DMI = {"product_name": "PowerEdge XE9680", "sys_vendor": "Dell Inc."}

    def test_nothing_is_sent(self):
        logs = [self.serve(f"n{host}", google("/c/b/0")) for host in range(2)]
        rows, _ = self.launch(hosts=2)
        self.assertEqual(len(rows), 2, "all ranks ran")
        self.assertEqual([log.exists() for log in logs], [False, False])


if __name__ == "__main__":
    unittest.main()
