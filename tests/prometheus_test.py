# ctest: TIMEOUT 300
"""The metrics of a job, scraped by a real Prometheus as docs/guides/metrics.md says; its alert rules and the dashboard's questions."""

import contextlib
import http.client
import json
import os
import re
import signal
import subprocess
import unittest
import urllib.parse

import live_socket
import support

DOCS = support.REPOSITORY / "docs/guides"
ALERTS = DOCS / "grafana/alerts.yml"
DASHBOARD = DOCS / "grafana/toprun.json"
LIMIT_S = 60
T_S = 2
TOKEN = "scraped-scraped-scraped"
DRIVER = "#!/bin/sh\necho GPU-a, 50, 1000, 81559\necho GPU-b, 75, 2000, 81559\n"
# What waits here is in a collective as toprun sees it: the folder is torch's.
COLLECTIVE = "def all_reduce(gate):\n    open(gate).close()\n"
# Rank 1 never comes to the collective, until its own gate opens.
RANK = """\
import os, pathlib, sys, time
here = pathlib.Path(__file__).parent
sys.path.insert(0, str(here / "torch/distributed"))
import collective
print("a line", flush=True)
if os.environ["RANK"] == "1":
    open(here / "gate1").close()
collective.all_reduce(here / "gate0")
while not (here / "end").exists():
    print("another line", flush=True)
    time.sleep(0.1)
"""


def needs_prometheus():
    for program in ("prometheus", "promtool"):
        support.needs_program(program)


def promtool(*words, text=None):
    return subprocess.run(["promtool", *map(str, words)], input=text, capture_output=True, text=True, timeout=LIMIT_S)


class Prometheus:
    """A server of its own, with the scrape configuration of the docs but for host, port and file."""

    def __init__(self, test, target, token):
        folder = test.folder()
        (folder / "token").write_text(token)
        block, = re.findall(r"```yaml\n(.*?)```", (DOCS / "metrics.md").read_text(), re.S)
        for place, ours in (("n0:9400", target), ("/etc/prometheus/toprun-token", str(folder / "token"))):
            test.assertIn(place, block)
            block = block.replace(place, ours)
        config = folder / "prometheus.yml"
        config.write_text("global: {scrape_interval: 1s, scrape_timeout: 1s, evaluation_interval: 1s}\n"
                          f"rule_files: [{ALERTS}]\n{block}")
        checked = promtool("check", "config", config)
        test.assertEqual(checked.returncode, 0, checked.stderr)
        self.port = support.free_port()
        test.begin("prometheus", f"--config.file={config}", f"--storage.tsdb.path={folder}/data",
                   f"--web.listen-address=127.0.0.1:{self.port}", "--log.level=warn")
        support.wait_until(self.is_ready, LIMIT_S, "Prometheus is ready")

    def is_ready(self):
        with contextlib.closing(http.client.HTTPConnection("127.0.0.1", self.port, timeout=LIMIT_S)) as connection:
            try:
                connection.request("GET", "/-/ready")
                return connection.getresponse().status == 200
            except OSError:
                return False

    def ask(self, path, **query):
        with contextlib.closing(http.client.HTTPConnection("127.0.0.1", self.port, timeout=LIMIT_S)) as connection:
            connection.request("GET", f"/api/v1/{path}?{urllib.parse.urlencode(query)}")
            answer = json.loads(connection.getresponse().read())
        if answer["status"] != "success":
            raise AssertionError(f"{path} {query}: {answer}")
        return answer["data"]

    def query(self, expression):
        return self.ask("query", query=expression)["result"]

    def value(self, expression):
        """Of the only series; None if there is none yet."""
        found = self.query(expression)
        return float(found[0]["value"][1]) if len(found) == 1 else None

    def until(self, expression, value):
        support.wait_until(lambda: self.value(expression) == value, LIMIT_S, f"{expression} is {value}")

    def alert(self, name):
        return [one["state"] for one in self.ask("alerts")["alerts"] if one["labels"]["alertname"] == name]


class Scraped(support.TestCase):
    def setUp(self):
        needs_prometheus()
        self.here = self.folder()
        (self.here / "torch/distributed").mkdir(parents=True)
        (self.here / "torch/distributed/collective.py").write_text(COLLECTIVE)
        (self.here / "rank.py").write_text(RANK)
        (self.here / "nvidia-smi").write_text(DRIVER)
        (self.here / "nvidia-smi").chmod(0o755)
        for gate in ("gate0", "gate1"):
            os.mkfifo(self.here / gate)

    def job(self):
        port = support.free_port()
        run = self.begin(support.binary(), "--nproc-per-node", 2, "--hang-timeout", T_S, f"--web=127.0.0.1:{port}",
                         "--rdzv-id", "my job", "--max-restarts", 3, self.here / "rank.py",
                         env={**support.without_torch(), "XDG_RUNTIME_DIR": str(self.here), "TOPRUN_WEB_TOKEN": TOKEN,
                              "PATH": f"{self.here}:{os.environ['PATH']}"})
        run.prints("a line")
        return run, f"127.0.0.1:{port}"

    def open_gates(self):
        """For good: who comes later passes, too."""
        for gate in ("gate0", "gate1"):
            self.addCleanup(os.close, os.open(self.here / gate, os.O_RDWR))

    def test_a_hang_begins_and_ends(self):
        run, target = self.job()
        server = Prometheus(self, target, TOKEN)
        server.until("toprun_hang", 1)
        support.wait_until(lambda: server.alert("JobHangs") == ["pending"], LIMIT_S, "the alert is pending")
        self.assertEqual(server.value('toprun_ranks{state="suspect"}'), 1)
        info, = server.query("toprun_job_info")
        self.assertEqual({name: info["metric"].get(name) for name in ("name", "program", "job", "instance")},
                         {"name": "my job", "program": str(self.here / "rank.py"), "job": "toprun", "instance": target})
        self.assert_the_dashboard_has_series(server)
        self.open_gates()
        server.until("toprun_hang", 0)
        support.wait_until(lambda: server.alert("JobHangs") == [], LIMIT_S, "the alert is over")
        (self.here / "end").touch()
        self.assert_ok(run.wait(LIMIT_S))
        server.until("up", 0)

    def assert_the_dashboard_has_series(self, server):
        """After two looks and more there are rates, too."""
        dashboard = json.loads(DASHBOARD.read_text())
        variables = {}
        for variable in dashboard["templating"]["list"]:
            if variable["type"] == "query":
                metric, label = re.fullmatch(r"label_values\((\w+), (\w+)\)", variable["query"]).groups()
                values = server.ask(f"label/{label}/values", **{"match[]": metric})
                self.assertEqual(len(values), 1, values)
                variables[variable["name"]] = "(" + "|".join(map(re.escape, values)) + ")"  # as Grafana writes "All"
        for panel in dashboard["panels"]:
            for target in panel["targets"]:
                expression = target["expr"]
                for name, value in variables.items():
                    expression = expression.replace(f"${name}", value.replace("\\", "\\\\"))
                self.assertNotIn("$", expression)
                if not target["expr"].startswith("toprun_nodes_missing"):
                    series = support.wait_until(lambda: server.query(expression), LIMIT_S, expression)
                    names = set(re.findall(r"{{(\w+)}}", target["legendFormat"]))
                    self.assertFalse(names - series[0]["metric"].keys(), expression)

    def test_another_token_gets_nothing(self):
        run, target = self.job()
        server = Prometheus(self, target, TOKEN + "not")
        server.until("up", 0)
        found, = server.ask("targets")["activeTargets"]
        self.assertIn("401", found["lastError"])
        run.signal(signal.SIGINT)
        run.wait(LIMIT_S)

    def test_names_and_units_by_the_linter(self):
        run, _ = self.job()
        support.wait_until(lambda: "toprun_rank_cpus_busy{" in live_socket.ask(self.here, "/metrics")[2], LIMIT_S, "rates")
        _, kind, text = live_socket.ask(self.here, "/metrics")
        self.assertEqual(kind, "text/plain; version=0.0.4; charset=utf-8")
        self.assertGreater(text.count("# TYPE"), 20)
        checked = promtool("check", "metrics", text=text)
        self.assertEqual((checked.returncode, checked.stdout, checked.stderr), (0, "", ""))
        run.signal(signal.SIGINT)
        run.wait(LIMIT_S)


# Alert, the series for which it fires, after so many minutes; one for which it does not.
CASES = [
    ("JobHangs", {"toprun_hang": "1x60"}, 2, {"toprun_hang": "0x60"}),
    ("JobRestarts", {"toprun_restarts_total": "0x5 1x60"}, 8, {"toprun_restarts_total": "1x60"}),
    ("RanksLost", {'toprun_ranks{state="lost"}': "8x60"}, 1, {'toprun_ranks{state="failed"}': "8x60"}),
    ("NodesDoNotCome", {"toprun_nodes_missing": "2x60", 'toprun_stage{toprun_stage="gathering"}': "1x60"}, 6,
     {"toprun_nodes_missing": "2x60", 'toprun_stage{toprun_stage="gathering"}': "0x60"}),
    ("RanksAreSilent",
     {'toprun_rank_silence_seconds{rank="0"}': "1900x60", 'toprun_rank_silence_seconds{rank="1"}': "1801x60"}, 1,
     {'toprun_rank_silence_seconds{rank="0"}': "1900x60", 'toprun_rank_silence_seconds{rank="1"}': "5x60"}),
]


def on_n0(series):
    name, _, labels = series.partition("{")
    return f'{name}{{instance="n0:9400",{labels or "}"}'


class Rules(support.TestCase):
    def setUp(self):
        needs_prometheus()

    def test_all_are_understood(self):
        checked = promtool("check", "rules", ALERTS)
        self.assertEqual(checked.returncode, 0, checked.stdout + checked.stderr)
        names = re.findall(r"- alert: (\w+)", ALERTS.read_text())
        self.assertEqual(names, [name for name, *_ in CASES])

    def fires(self, alert, series, minutes):
        test = {"rule_files": [str(ALERTS)], "evaluation_interval": "15s", "tests": [{
            "interval": "1m",
            "input_series": [{"series": on_n0(name), "values": values} for name, values in series.items()],
            "alert_rule_test": [{"eval_time": f"{minutes}m", "alertname": alert, "exp_alerts": []}]}]}
        file = self.folder() / "rules.json"  # which is YAML
        file.write_text(json.dumps(test))
        done = promtool("test", "rules", file)
        fired = "n0:9400" in done.stdout + done.stderr  # which was not expected
        self.assertEqual(done.returncode, 1 if fired else 0, done.stdout + done.stderr)
        return fired

    def test_each_fires_when_it_should_and_only_then(self):
        for alert, bad, minutes, good in CASES:
            with self.subTest(alert):
                self.assertTrue(self.fires(alert, bad, minutes))
                self.assertFalse(self.fires(alert, good, minutes))


class Dashboard(unittest.TestCase):
    """No Grafana can be installed here: the fields that its documentation of the dashboard's JSON names."""

    def test_its_fields(self):
        dashboard = json.loads(DASHBOARD.read_text())
        self.assertTrue(dashboard["title"] and dashboard["uid"] and dashboard["schemaVersion"] >= 16)
        self.assertLessEqual(len(dashboard["uid"]), 40)
        variables = [variable["name"] for variable in dashboard["templating"]["list"]]
        panels = dashboard["panels"]
        self.assertEqual(len({panel["id"] for panel in panels}), len(panels))
        taken = set()
        for panel in panels:
            with self.subTest(panel["title"]):
                self.assertIn(panel["type"], ("stat", "timeseries", "bargauge"))
                place = panel["gridPos"]
                self.assertLessEqual(place["x"] + place["w"], 24)
                cells = {(place["x"] + i, place["y"] + j) for i in range(place["w"]) for j in range(place["h"])}
                self.assertFalse(cells & taken, "panels overlap")
                taken |= cells
                self.assertEqual(panel["datasource"], {"type": "prometheus", "uid": "${source}"})
                self.assertEqual(len({target["refId"] for target in panel["targets"]}), len(panel["targets"]))
                for target in panel["targets"]:
                    self.assertIn(re.search(r"\$(\w+)", target["expr"])[1], variables)

    def test_its_metrics_are_those_of_the_docs(self):
        known = set(re.findall(r"`(toprun_\w+)`", (DOCS / "metrics.md").read_text()))
        for file in (DASHBOARD, ALERTS):
            used = set(re.findall(r"\b(toprun_\w+)\b", file.read_text()))
            self.assertFalse(used - known, file.name)


if __name__ == "__main__":
    unittest.main()
