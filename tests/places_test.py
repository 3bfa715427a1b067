# ctest: TIMEOUT 300 LABELS cluster
"""Where nodes are, as Kubernetes and NVIDIA's driver tell it: a real kubectl that asks an API server,
and hosts that were given labels or have an nvidia-smi (a script that prints what NVIDIA documents,
for there is no such hardware here)."""

import http.server
import json
import pathlib
import re
import subprocess
import threading
import time
import unittest

import cluster
import support
from cluster import column, shown, shows

TOPRUN = support.TOPRUN
PORT = "29513"
BUDGET_S = 1.0  # of --topology auto
SLACK_S = 6.0   # a launch on two busy cores
TIER = "fabric.topograph.run/tier-"
UUID = "8b7b1c2d-0000-4a5b-9c8d-1234567890ab"


class Api(http.server.BaseHTTPRequestHandler):
    """As much of Kubernetes' API as `kubectl get nodes` asks for."""

    nodes = {}    # labels by name
    broken = None  # "slow" or "forbidden"

    def do_GET(self):
        path = self.path.split("?")[0]
        if path == "/api/v1/nodes":
            self.list_nodes()
        else:
            self.answer(200, {
                "/api": {"kind": "APIVersions", "versions": ["v1"]},
                "/apis": {"kind": "APIGroupList", "apiVersion": "v1", "groups": []},
                "/api/v1": {"kind": "APIResourceList", "groupVersion": "v1", "resources": [
                    {"name": "nodes", "singularName": "node", "namespaced": False, "kind": "Node",
                     "verbs": ["get", "list"], "shortNames": ["no"]}]},
            }.get(path, {}))

    def list_nodes(self):
        if self.broken == "slow":
            time.sleep(8)
        if self.broken == "forbidden":
            self.answer(403, {"kind": "Status", "apiVersion": "v1", "status": "Failure",
                              "reason": "Forbidden", "code": 403,
                              "message": "nodes is forbidden: User \"system:serviceaccount:a:b\" "
                                         "cannot list resource \"nodes\""})
            return
        self.answer(200, {"kind": "NodeList", "apiVersion": "v1", "items": [
            {"kind": "Node", "apiVersion": "v1", "metadata": {"name": name, "labels": labels}}
            for name, labels in self.nodes.items()]})

    def answer(self, code, value):
        text = json.dumps(value).encode()
        try:
            self.send_response(code)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(text)))
            self.end_headers()
            self.wfile.write(text)
        except OSError:
            pass  # whoever asked has given up

    def log_message(self, *words):
        pass


class Kubectl(support.TestCase):
    def setUp(self):
        support.needs_program("kubectl")
        api = type("ThisApi", (Api,), {"nodes": {
            f"n{i}": {f"{TIER}0": f"leaf{i % 2}", f"{TIER}1": "spine"} for i in range(4)}})
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), api)
        server.daemon_threads = True
        threading.Thread(target=server.serve_forever, daemon=True).start()
        self.addCleanup(server.server_close)
        self.addCleanup(server.shutdown)
        self.api = api
        home = self.folder()
        config = home / "kubeconfig"
        config.write_text(json.dumps({
            "apiVersion": "v1", "kind": "Config", "current-context": "c",
            "clusters": [{"name": "c", "cluster": {
                "server": f"http://127.0.0.1:{server.server_address[1]}"}}],
            "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
            "users": [{"name": "u", "user": {}}]}))
        self.env = {"KUBECONFIG": str(config), "HOME": str(home)}

    def order(self, *words, **env):
        return self.toprun("topo", "order", "--json", *words, env={**self.env, **env})

    def test_nodes_are_where_their_labels_say(self):
        finished = self.order("--topology", "k8s", "--hosts", "N0.example.org,n[1-3]")
        self.assert_ok(finished)
        found = json.loads(finished.out)
        self.assertEqual(found["source"], "k8s")
        self.assertEqual(found["levels"], ["spine", "leaf"])
        self.assertEqual(found["order"], ["N0.example.org", "n2", "n1", "n3"])

    def test_auto_asks_in_a_pod_only(self):
        finished = self.order("--hosts", "n[0-3]", KUBERNETES_SERVICE_HOST="10.0.0.1")
        self.assertEqual(json.loads(finished.out)["order"], ["n0", "n2", "n1", "n3"])
        finished = self.order("--hosts", "n[0-3]", KUBERNETES_SERVICE_HOST="")
        self.assertEqual(json.loads(finished.out)["source"], "")

    def test_one_that_may_not_list_nodes(self):
        self.api.broken = "forbidden"
        finished = self.order("--topology", "k8s", "--hosts", "n[0-3]")
        self.assertEqual(finished.code, 1)
        self.assert_one_line(finished, r"`kubectl get --raw /api/v1/nodes\?limit=500` failed: .*forbidden.*")

    def test_auto_says_nothing_of_what_is_usual_in_pods(self):
        """A service account that may not list nodes, and a kubectl without a server."""
        self.api.broken = "forbidden"
        pod = {"KUBERNETES_SERVICE_HOST": "10.0.0.1"}
        without_server = {**pod, "KUBECONFIG": "/nowhere"}
        for env, said in [(pod, r"\(Forbidden\): nodes is forbidden: .*"), (without_server, "The connection .* was refused.*")]:
            with self.subTest(said):
                finished = self.order("--hosts", "n[0-3]", **env)
                self.assert_ok(finished)
                self.assertEqual((json.loads(finished.out)["warnings"], finished.err), ([], ""))
                explained = self.toprun("topo", "order", "--explain=n0", "--hosts", "n[0-3]", env={**self.env, **env})
                told = re.findall(r"`kubectl get --raw /api/v1/nodes\?limit=500` failed: (.*)", explained.out)
                self.assertEqual(len(told), 1, explained)
                self.assertRegex(told[0], rf"\A{said}\Z")

    def test_auto_does_not_wait_for_a_slow_one(self):
        self.api.broken = "slow"
        finished = self.order("--hosts", "n[0-3]", KUBERNETES_SERVICE_HOST="10.0.0.1")
        self.assert_ok(finished)
        self.assertLess(finished.seconds, BUDGET_S + SLACK_S)
        self.assertRegex(json.loads(finished.out)["warnings"][0],
                         r"`kubectl get --raw /api/v1/nodes\?limit=500` failed: no answer within 1")

    def test_what_kubectl_printed_is_a_file_too(self):
        for form in ("json", "yaml"):
            with self.subTest(form):
                printed = self.run_to_end("kubectl", "get", "nodes", "-o", form, env=self.env)
                self.assert_ok(printed)
                file = self.folder() / f"nodes.{form}"
                file.write_text(printed.out)
                finished = self.order("--topology", file)
                self.assert_ok(finished)
                self.assertEqual(json.loads(finished.out)["order"], ["n0", "n2", "n1", "n3"])


SMI = """#!/bin/sh
[ "$*" = "--query-gpu=fabric.clusterUuid,fabric.cliqueId --format=csv,noheader" ] || exit 9
cat "${0%/*}/$HOSTNAME"
"""


class Hosts(cluster.TestCase):
    UP = ("--hosts", "4")

    def launch(self, *options, env):
        """Runs it on n0 … n3, each with its own environment; the workers' rows and what was said."""
        words = [TOPRUN, "-v", "--nnodes", "4", "--rdzv-backend", "c10d", "--rdzv-endpoint",
                 f"n0:{PORT}", *options, *shows("RANK", "TOPRUN_NODE_NAME", "TOPRUN_LOCATION")]
        runs = [self.begin(*self.cluster.on(
            f"n{i}", "env", *(f"{name}={value}" for name, value in env(i).items()), *words))
            for i in range(4)]
        finished = [run.wait(60) for run in runs]
        for run, one in zip(runs, finished):
            self.assertEqual(one.code, 0, finished[0])
            self.assert_nothing_left(run)
        self.took = max(one.seconds for one in finished)
        return shown("".join(one.out for one in finished)), finished[0].err

    def test_labels_that_were_injected(self):
        rows, said = self.launch(env=lambda i: {
            "TOPRUN_NODE_LABELS": f"{TIER}0=leaf{i % 2},kubernetes.io/os=linux"})
        self.assertEqual(column(rows, "TOPRUN_NODE_NAME"), ["n0", "n2", "n1", "n3"])
        self.assertEqual(rows[0]["TOPRUN_LOCATION"], "/leaf0/n0")
        self.assertIn("k8s gives leaf for 4 of 4 nodes", said)

    def test_labels_of_a_downward_api_volume(self):
        files = self.folder()
        for i in range(4):
            (files / f"n{i}").write_text(f'app="x"\n{TIER}0="leaf{i % 2}"\n')
        rows, _ = self.launch("--topology", "k8s", env=lambda i: {
            "TOPRUN_NODE_LABELS_FILE": files / f"n{i}"})
        self.assertEqual(column(rows, "TOPRUN_NODE_NAME"), ["n0", "n2", "n1", "n3"])

    def pretend_channels(self):
        """The driver has fabric channels on these hosts: one line more in /proc/devices."""
        devices = self.folder() / "devices"
        devices.write_text(pathlib.Path("/proc/devices").read_text() +
                           "\n234 nvidia-caps-imex-channels\n")
        for i in range(4):
            for undo, words in ((False, ("mount", "--bind", devices, "/proc/devices")),
                                (True, ("umount", "/proc/devices"))):
                command = self.cluster.on(f"n{i}", *map(str, words))
                if undo:
                    self.addCleanup(subprocess.run, command, timeout=cluster.UP_LIMIT_S)
                else:
                    subprocess.run(command, check=True, timeout=cluster.UP_LIMIT_S)

    def nvidia_smi(self, answers, script=SMI):
        tools = self.folder()
        (tools / "nvidia-smi").write_text(script)
        (tools / "nvidia-smi").chmod(0o755)
        for i, answer in enumerate(answers):
            (tools / f"n{i}").write_text(answer)
        return lambda i: {"PATH": f"{tools}:/usr/bin:/bin", "HOSTNAME": f"n{i}"}

    def test_nvlink_domains(self):
        self.pretend_channels()
        env = self.nvidia_smi([f"{UUID}, {i % 2}\n" * 4 for i in range(3)] + ["[N/A], [N/A]\n" * 4])
        rows, said = self.launch(env=env)
        self.assertEqual(column(rows, "TOPRUN_NODE_NAME"), ["n0", "n2", "n1", "n3"])
        self.assertEqual(rows[0]["TOPRUN_LOCATION"], f"/{UUID}.0/n0")
        self.assertIn("nvidia-smi gives nvlink for 3 of 4 nodes", said)

    def test_labels_and_nvlink_domains_are_one_tree(self):
        self.pretend_channels()
        smi = self.nvidia_smi([f"{UUID}, {i % 2}\n" * 4 for i in range(4)])
        rows, said = self.launch(env=lambda i: {
            **smi(i), "TOPRUN_NODE_LABELS": f"{TIER}0=leaf,{TIER}1=spine"})
        self.assertEqual(rows[0]["TOPRUN_LOCATION"], f"/spine/leaf/{UUID}.0/n0")
        self.assertIn("order: topology (evidence from k8s + nvidia-smi)", said)

    def test_nvidia_smi_that_hangs_or_fails(self):
        self.pretend_channels()
        for script, reason in (("sleep 30", "no answer within 1"), ("exit 6", "exit code 6")):
            with self.subTest(reason):
                rows, said = self.launch(env=self.nvidia_smi([], f"#!/bin/sh\n{script}\n"))
                self.assertEqual(len(rows), 4)
                self.assertRegex(said, r"n\[0-3\]: the NVLink domain is not known: `nvidia-smi .*"
                                       rf"failed: {reason}")
                self.assertLess(self.took, BUDGET_S + SLACK_S)

    def test_without_channels_nobody_is_asked(self):
        log = self.folder() / "log"
        env = self.nvidia_smi([], f"#!/bin/sh\necho >> {log}\n")
        rows, _ = self.launch(env=env)
        self.assertEqual(len(rows), 4, "all ranks ran")
        self.assertFalse(log.exists())


if __name__ == "__main__":
    unittest.main()
