# ctest: TIMEOUT 180
"""`toprun --web`: the page of a real run."""

import http.client
import pathlib
import re
import signal
import socket
import unittest

import support
import web_cases


class Run(web_cases.Windows):
    """`toprun --web` with real ranks."""

    def job(self, script, *options, **environment):
        folder = self.folder()
        (folder / "job.py").write_text(script)
        go = folder / "go"
        return self.begin(support.binary(), "--nproc-per-node", 2, *options, folder / "job.py",
                          env={**support.without_torch(), "GO": str(go), **environment}), go

    @staticmethod
    def address(run):
        run.says(r"the job's page on \S+: http://\S+\s")
        return re.search(r"the job's page on \S+: (http://\S+)", run.seen[run.process.stderr].decode())[1]

    WAITS = "import os, sys, time\nwhile not os.path.exists(os.environ['GO']): time.sleep(0.02)\n"

    def test_shows_a_run_until_its_end(self):
        run, go = self.job(self.WAITS + "sys.exit(7 if os.environ['RANK'] == '1' else 0)", "--web")
        page = self.browser.page()
        page.open(self.address(run))
        page.until("document.getElementById('legend')?.textContent === '2 running'")
        self.assertEqual(page.text("stage"), "running")
        self.assertIn("2 ranks on 1 node", page.text("facts"))
        page.until("model.figureOf('memory', 1) > 0 && model.nodeFigure('cpus', 0) > 0")
        go.touch()
        page.until("document.getElementById('link').textContent === 'the job has ended'")
        self.assertEqual(page.text("stage"), "ended with exit code 7")
        self.assertIn("rank 1 on ", page.text("alert-title"))
        page.until("document.getElementById('legend').textContent.includes('1 failed')")
        self.assertEqual(run.wait(30).code, 7)
        self.assertEqual(page.complaints(), [])
        self.assert_nothing_left(run)

    def test_a_relative_folder_of_output(self):
        folder = self.folder()
        run = self.begin(support.binary(), "--nproc-per-node", 2, "--web", "--node-log", "nl", "--no-python", "sh", "-c",
                         "until [ -e go ]; do sleep 0.05; done; exit 7", cwd=folder, env=support.without_torch())
        page = self.browser.page()
        page.open(self.address(run))
        page.until("document.getElementById('legend')?.textContent === '2 running'")
        (folder / "go").touch()
        page.until("document.getElementById('link').textContent === 'the job has ended'")
        self.assertRegex(page.text("alert-next"), rf"(?m)^Output: {folder}/nl/\S+\.out$")
        run.wait(30)

    def test_a_hung_job_that_its_user_ends_looks_as_its_report_does(self):
        python, folder = support.python(), self.folder()
        if not support.has_module(python, "torch"):
            self.skipTest("no PyTorch here")
        report = folder / "report.json"
        (folder / "hang.py").write_text("import time, torch, torch.distributed as dist\ndist.init_process_group('gloo')\n"
                                        "dist.all_reduce(torch.ones(1))\nif dist.get_rank() == 1:\n    time.sleep(600)\n"
                                        "dist.all_reduce(torch.ones(1))\n")
        run = self.begin(support.binary(), "--nproc-per-node", 2, "--web", "--hang-timeout", 2, "--report", report,
                         folder / "hang.py", env={"PYTHON_EXEC": str(python)})
        page = self.browser.page()
        page.open(self.address(run))
        page.until("document.getElementById('stage')?.textContent === 'running, hangs'", limit=60)
        look = "[$('stage').dataset.kind, $('alert').dataset.kind, $('alert-title').textContent, $('legend').textContent]"
        run.signal(signal.SIGTERM)
        page.until("document.getElementById('link').textContent === 'the job has ended'")
        page.until("!picture.isAsked")
        self.assertEqual(run.wait(30).code, 128 + signal.SIGTERM)
        self.assert_ok(self.toprun("report", report, "--html", "-o", f"{report}.html"))
        of_report = self.browser.page()
        of_report.open(pathlib.Path(f"{report}.html").as_uri())
        of_report.until("typeof picture !== 'undefined' && picture.drawMs > 0")
        self.assertEqual(page.run(look), of_report.run(look))
        self.assertEqual(page.run(look)[:2], ["stopped", "stopped"])

    def test_a_restart(self):
        run, go = self.job(self.WAITS + "if os.environ['TORCHELASTIC_RESTART_COUNT'] == '0': sys.exit(3)\n"
                       "while not os.path.exists(os.environ['GO'] + '2'): time.sleep(0.02)\n", "--web", "--max-restarts", 1)
        page = self.browser.page()
        page.open(self.address(run))
        page.until("document.getElementById('legend')?.textContent === '2 running'")
        go.touch()
        page.until("document.getElementById('facts').textContent.includes('1 restart of at most 1')")
        page.until("document.getElementById('legend').textContent === '2 running'")
        self.assertIn("Attempt 0: rank ", page.text("alert-title"))
        self.assertEqual(page.run("[$('alert').dataset.kind, $('alert-text').textContent, $('alert-output').hidden, $('alert-next').hidden]"),
                         ["past", "", True, True], "a line while the next attempt runs")
        self.assertEqual(page.run("document.querySelectorAll('#attempts-list > li').length"), 2)
        go.with_name("go2").touch()
        page.until("document.getElementById('link').textContent === 'the job has ended'")
        page.until("document.getElementById('legend').textContent === '2 done'")
        self.assert_ok(run.wait(30))
        self.assertEqual(page.complaints(), [])

    def test_a_token_of_ones_own(self):
        token = "0123456789abcdefghij-_"
        run, go = self.job(self.WAITS, "--web", TOPRUN_WEB_TOKEN=token)
        address = self.address(run)
        self.assertNotIn(token, run.seen[run.process.stderr].decode())
        port = int(address.rstrip("/").rpartition(":")[2])

        def metrics(accept, kind):
            connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
            connection.request("GET", "/metrics", headers={"Authorization": f"Bearer {token}", "Accept": accept})
            answer = connection.getresponse()
            self.assertEqual(answer.status, 200)
            self.assertEqual(answer.headers["Content-Type"].split(";")[0], kind)
            return answer.read().decode()
        support.wait_until(lambda: 'toprun_ranks{state="running"} 2' in metrics("*/*", "text/plain"), 30, "both ranks run")
        self.assertTrue(metrics("application/openmetrics-text;version=1.0.0", "application/openmetrics-text").endswith("# EOF\n"))
        go.touch()
        self.assert_ok(run.wait(30))

    def test_the_job_goes_on_without_its_page(self):
        with socket.create_server(("127.0.0.1", 0)) as taken:
            finished = self.job("", f"--web={taken.getsockname()[1]}")[0].wait(30)
        self.assert_ok(finished)
        self.assertRegex(finished.err, r"cannot serve the job's page at 127.0.0.1 port \d+: .* listens there; .*; the job goes on "
                                       "without it")
        finished = self.job("", "--web", TOPRUN_WEB_TOKEN="short")[0].wait(30)
        self.assert_ok(finished)
        self.assertIn("TOPRUN_WEB_TOKEN is not a token", finished.err)
        self.assertNotIn("short", finished.err)


if __name__ == "__main__":
    unittest.main()
