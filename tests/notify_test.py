# ctest: TIMEOUT 120
"""--notify: a command and a URL are told when a job starts again and when it has ended."""

import http.server
import json
import os
import pathlib
import re
import threading
import unittest

import support

TOPRUN = support.TOPRUN
FAILS_ONCE = 'test "$TOPRUN_ATTEMPT" = 1 || exit 7'


class Receiver(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.received.append((self.headers["Content-Type"], json.loads(body)))
        self.send_response(self.server.status)
        self.end_headers()

    def log_message(self, *_):
        pass


class Notify(support.TestCase):
    def server(self, status=200):
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Receiver)
        server.received, server.status = [], status
        threading.Thread(target=server.serve_forever, daemon=True).start()
        self.addCleanup(server.server_close)
        self.addCleanup(server.shutdown)
        return server, f"http://127.0.0.1:{server.server_address[1]}/jobs"

    def job(self, *options, script=FAILS_ONCE):
        return self.run_to_end(TOPRUN, "--nproc-per-node", "2", "--rdzv-id", "nightly", *options, "--no-python",
                               "sh", "-c", script)

    def test_a_command_hears_of_a_restart_and_of_the_end(self):
        told = self.folder() / "told"
        finished = self.job("--max-restarts", "1", "--notify", f"cat >>'{told}'")
        self.assert_ok(finished)
        again, ended = map(json.loads, told.read_text().splitlines())
        self.assertEqual([again["event"], ended["event"]], ["restarts", "ended"])
        self.assertRegex(again["text"], r"^toprun: nightly starts again: rank \d on \S+ ended with exit code 7$")
        self.assertRegex(ended["text"], r"^toprun: nightly ended well after .* and 1 restart$")
        self.assertEqual((again["exit_code"], ended["exit_code"], ended["ranks"], ended["attempt"]), (None, 0, 2, 1))

    def test_a_url_hears_of_a_failure(self):
        support.needs_program("curl")
        server, url = self.server()
        finished = self.job("--notify", url)
        self.assertEqual(finished.code, 7, finished)
        (kind, notice), = server.received
        self.assertEqual((kind, notice["event"], notice["exit_code"]), ("application/json", "ended", 7))
        self.assertRegex(notice["what"], r"rank \d on \S+ ended with exit code 7")

    def test_what_goes_wrong_is_said_and_changes_nothing(self):
        support.needs_program("curl")
        _, url = self.server(status=500)
        finished = self.job("--notify", "echo no mail >&2; exit 3", "--notify", url, script="exit 0")
        self.assert_ok(finished)
        self.assertIn("toprun: --notify echo no mail >&2; exit 3: no mail (exit code 3)\n", finished.err)
        self.assertRegex(finished.err, rf"(?m)^toprun: --notify {url.removesuffix('jobs')}…: .*500.*\(exit code 22\)$")

    def test_a_url_is_a_secret(self):
        """It stands in no command line, which everybody on the host can read, and in no line of the log."""
        programs = self.folder()
        seen = programs / "seen"
        stand_in = programs / "curl"
        stand_in.write_text(f'#!/bin/sh\ntr "\\0" " " </proc/$$/cmdline >{seen}.argv\ncat >{seen}.in\n'
                            "echo 'curl: (22) The requested URL returned error: 404' >&2\nexit 22\n")
        stand_in.chmod(0o755)
        # What a shell or curl would take for more than an address.
        for url in ("https://user:SECRET@hooks.example.org:8443/services/SECRET?a=SECRET#SECRET", 'https://h.org/"SECRET\\',
                    "https://h.org?SECRET", "https://h.org/SECRET\noutput = /SECRET"):
            with self.subTest(url):
                finished = self.run_to_end(TOPRUN, "--no-python", "sh", "-c", "exit 0", env={
                    "TOPRUN_NOTIFY": url, "PATH": f"{programs}:{os.environ['PATH']}"})
                self.assert_ok(finished)
                self.assertNotIn("SECRET", finished.err)
                self.assertRegex(finished.err, r"(?m)^toprun: --notify https://(hooks\.example\.org:8443|h\.org)/…: .*404.*$")
                self.assertNotIn("SECRET", pathlib.Path(f"{seen}.argv").read_text())
                given, = re.findall(r'(?m)^url = "(.*)"$', pathlib.Path(f"{seen}.in").read_text())
                self.assertEqual(re.sub(r"\\(.)", lambda one: {"n": "\n"}.get(one[1], one[1]), given), url)

    def test_a_url_is_one_address(self):
        """Brackets and braces in it are no ranges."""
        support.needs_program("curl")
        server, url = self.server()
        self.assert_ok(self.job("--notify", f"{url}/[1-9]/{{a,b}}", script="exit 0"))
        self.assertEqual([notice["event"] for _, notice in server.received], ["ended"])

    def test_a_slow_command_is_named(self):
        finished = self.job("--notify", "true", "--notify", "sleep 20", script="exit 0")
        self.assert_ok(finished)
        self.assertIn("--notify sleep 20: the notification is not finished after 10 s", finished.err)

    def test_a_command_leaves_something_behind(self):
        """That holds its output open, and is not waited for."""
        told = self.folder() / "told"
        finished = self.job("--notify", f"cat >'{told}'; (setsid sleep 600 &); exit 0", script="exit 0")
        self.assert_ok(finished)
        self.assertNotIn("--notify", finished.err)
        self.assertEqual(json.loads(told.read_text())["event"], "ended")

    def test_a_command_prints_much(self):
        finished = self.job("--notify", "head -c 100000000 /dev/zero; exit 3", script="exit 0")
        self.assert_ok(finished)
        self.assertRegex(finished.err, r"(?m)^toprun: --notify head .*: exit code 3$")


if __name__ == "__main__":
    unittest.main()
