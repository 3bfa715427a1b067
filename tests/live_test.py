# ctest: TIMEOUT 300 LABELS cluster
"""The picture of a running job, asked at its root's socket: what its ranks do and use, what happened, its metrics."""

import json
import os
import re
import signal
import socket
import subprocess
import threading
import time
import unittest

import cluster
import live_socket
import support

TOPRUN = support.TOPRUN
PORT = "29541"
VALIDATE = b"\x00\xce\xf7\x85\x3c"  # how a client of PyTorch's store begins
# Rank 0 computes, rank 1 holds 200 MiB, rank 2 prints; rank 3 ends or fails when the others have begun.
DIFFERENT = """\
import os, pathlib, sys, time
rank = int(os.environ["RANK"])
ready = [pathlib.Path(f"{os.environ['READY']}{i}.{os.environ['TOPRUN_ATTEMPT']}") for i in range(4)]
ready[rank].touch()
if rank == 3:
    while not all(one.exists() for one in ready):
        time.sleep(0.01)
    sys.exit(int(os.environ.get("CODE", 0)) if os.environ["TOPRUN_ATTEMPT"] == "0" else 0)
held = bytearray(200 << 20) if rank == 1 else None
while True:
    if rank != 0:
        time.sleep(0.2)
    if rank == 2:
        print("a word", flush=True)
"""
# Rank 0 says nothing, 1 a step, 2 draws a bar; 3 fails with a secret when the folder has a file "go".
TALKS = """\
import os, pathlib, sys, time
rank = int(os.environ["RANK"])
if rank == 1:
    print("\\x1b[32mstep 230\\x1b[0m loss 0.5", flush=True)
if rank == 2:
    print("\\r 10%|#  |\\r 20%|## |", end="", flush=True)
while not (pathlib.Path(__file__).parent / "go").exists() or rank != 3:
    time.sleep(0.05)
raise ValueError("no hf_abcdefghijklmnopqrstuvwxyz012345")
"""



class Picture(support.TestCase):
    def running(self, *options, ranks=4, env=()):
        folder = self.folder()
        program = folder / "different.py"
        program.write_text(DIFFERENT)
        run = self.begin(TOPRUN, "--nproc-per-node", ranks, *options, program,
                         env={**support.without_torch(), "READY": str(folder / "ready"),
                              "XDG_RUNTIME_DIR": str(folder), **dict(env)})
        for rank in range(ranks):
            support.wait_until((folder / f"ready{rank}.0").exists, 60, "the ranks run")
        return folder, run

    def until(self, folder, condition, what):
        return support.wait_until(lambda: condition(found := live_socket.picture(folder)) and found, 60, what)

    def ends(self, run, code):
        run.signal(signal.SIGINT)
        self.assertEqual(run.wait(60).code, code)

    def test_what_each_rank_uses(self):
        folder, run = self.running()
        figures = self.until(
            folder, lambda picture: (ranks := picture["figures"]["ranks"])["state"] == "rrrd" and
            None not in ranks["cpu"][:3] and ranks["cpu"][0] > 0.05 and ranks["cpu"][1] < ranks["cpu"][0] and
            ranks["memory"][1] > 200 and ranks["output_age"][2] is not None,
            "rank 0 computes, 1 holds memory, 2 prints, 3 has ended")["figures"]
        ranks = figures["ranks"]
        self.assertLess(ranks["memory"][2], 200)
        self.assertEqual([ranks["output_age"][0], ranks["output_age"][1]], [None, None])
        self.assertLess(ranks["output_age"][2], 30)
        self.assertEqual([ranks[name][3] for name in ("cpu", "memory", "output_age")], [None] * 3)
        self.assertEqual(figures["nodes"]["cpus"], [os.cpu_count()])
        self.assertGreater(figures["nodes"]["cpu"][0], 0)
        self.ends(run, 130)

    def test_what_each_rank_said_last(self):
        folder = self.folder()
        (folder / "talks.py").write_text(TALKS)
        env = {**support.without_torch(), "XDG_RUNTIME_DIR": str(folder)}
        run = self.begin(TOPRUN, "--nproc-per-node", 4, folder / "talks.py", env=env)
        support.wait_until((folder / "toprun").exists, 60, "the job's socket")
        root, = (folder / "toprun").iterdir()
        top = self.begin(TOPRUN, "top", "--json", root.stem, env=env)  # other tests' jobs run on this host too
        lines = self.until(folder, lambda picture: (picture["figures"]["ranks"]["line"] + [None])[1:3] ==
                           ["step 230 loss 0.5", " 20%|## |"], "two lines")["figures"]["ranks"]["line"]
        self.assertEqual([lines[0], lines[3]], [None, None], "who says nothing has no line")
        metrics = live_socket.ask(folder, "/metrics")[2]
        self.assertIn("\ntoprun_step 230\n", metrics)
        self.assertNotIn("loss", metrics, "metrics have no text of ranks")
        top.prints("step 230 loss 0.5")
        (folder / "go").touch()
        run.wait(60)
        last = json.loads(top.wait(60).out.splitlines()[-1])["figures"]["ranks"]
        self.assertEqual((last["state"][3], last["line"][3]), ("f", "ValueError: no <secret>"))
        self.assertEqual(last["line"][1], "step 230 loss 0.5", "of what has ended it stays")

    def test_status_by_the_report_has_the_newest_line(self):
        folder = self.folder()
        (folder / "talks.py").write_text(TALKS)
        env = {**support.without_torch(), "XDG_RUNTIME_DIR": str(folder)}
        report = folder / "report.json"
        run = self.begin(TOPRUN, "--nproc-per-node", 2, "--report", report, folder / "talks.py", env=env)

        def told():
            status = self.begin(TOPRUN, "status", report, env=env).wait(30)
            return re.search(r"(?m)^  last line  step 230 loss 0\.5$", status.out)

        support.wait_until(lambda: report.exists() and told(), 60, "the last line")
        self.ends(run, 130)

    def test_what_the_job_is(self):
        folder, run = self.running("--max-restarts", "3", "--rdzv-id", "my job")
        picture = live_socket.picture(folder)
        job = picture["job"]
        self.assertEqual((picture["schema"], job["name"], job["stage"], job["world"], job["nnodes"], job["max_restarts"]),
                         ("toprun.live/1", "my job", "running", 4, [1, 1], 3))
        self.assertEqual(job["program"], str(folder / "different.py"))
        self.assertIsNone(job["exit_code"])
        self.assertEqual(picture["nodes"]["nproc"], [4])
        self.ends(run, 130)

    def test_a_failure_and_the_next_attempt(self):
        folder, run = self.running("--max-restarts", "1", env={"CODE": "7"})
        picture = self.until(folder, lambda picture: picture["job"]["attempt"] == 1 and
                             picture["figures"]["ranks"]["state"] == "rrrd", "the second attempt")
        first, second = picture["job"]["attempts"]
        self.assertRegex(first["what"], r"rank 3 on \S+ ended with exit code 7")
        self.assertEqual((first["cause"]["rank"], first["cause"]["exit_code"], second["what"]), (3, 7, None))
        self.assertEqual(picture["job"]["restarts"], 1)
        self.assertRegex("\n".join(one["text"] for one in picture["job"]["messages"]), "exit code 7")
        self.ends(run, 130)

    def test_nobody_is_asked_while_nobody_looks(self):
        """By what the agent reads of its ranks: /proc/PID/stat."""
        folder, run = self.running(ranks=1)
        agent = run.agent()

        def reads(seconds):
            trace = subprocess.run(["timeout", str(seconds), "strace", "-f", "-e", "trace=openat", "-p", str(agent)],
                                   capture_output=True, text=True)
            return len(re.findall(r'"/proc/\d+/stat"', trace.stderr))

        support.needs_program("strace")
        self.assertEqual(reads(2), 0)
        live_socket.picture(folder)
        self.assertGreater(reads(4), 0)
        self.ends(run, 130)

    def test_metrics_as_prometheus_reads_them(self):
        """By Debian's python3-prometheus-client, which the tests' own Python need not have."""
        folder, run = self.running("--rdzv-id", 'a "job"\\')
        self.until(folder, lambda picture: (ranks := picture["figures"]["ranks"])["state"] == "rrrd" and
                   (ranks["memory"][1] or 0) > 200, "rank 3 has ended, rank 1 holds memory")
        status, kind, text = live_socket.ask(folder, "/metrics", Accept="application/openmetrics-text; version=1.0.0, text/plain;q=0.5")
        self.assertEqual((status, kind.split(";")[0]), (200, "application/openmetrics-text"))
        parse = ("import sys\nfrom prometheus_client.openmetrics.parser import text_string_to_metric_families as parse\n"
                 "for family in parse(sys.stdin.read()):\n"
                 "    for one in family.samples: print(one.name, sorted(one.labels.items()), one.value)\n")
        if subprocess.run(["/usr/bin/python3", "-c", "import prometheus_client"], capture_output=True).returncode != 0:
            self.skipTest("python3-prometheus-client is not installed")
        parsed = subprocess.run(["/usr/bin/python3", "-c", parse], input=text, capture_output=True, text=True)
        self.assertEqual(parsed.returncode, 0, parsed.stderr)
        self.assertRegex(parsed.stdout, r"(?m)^toprun_ranks \[\('state', 'running'\)\] 3(\.0)?$")
        self.assertRegex(parsed.stdout, r"(?m)^toprun_stage \[\('toprun_stage', 'running'\)\] 1(\.0)?$")
        self.assertIn("""('name', 'a "job"\\\\')""", parsed.stdout)
        memory = re.search(r"toprun_rank_memory_bytes \[\('node', '\S+'\), \('rank', '1'\)\] (\S+)", parsed.stdout)
        self.assertGreater(float(memory[1]), 200 << 20)
        self.ends(run, 130)


class OnHosts(cluster.TestCase):
    UP = ("--hosts", "2")

    def test_a_node_that_is_lost(self):
        folder = self.folder()
        program = folder / "different.py"
        program.write_text("import os, pathlib, time\n"
                           "pathlib.Path(os.environ['READY'] + os.environ['RANK']).touch()\ntime.sleep(600)\n")
        words = [TOPRUN, "--nnodes", "1:2", "--nproc-per-node", "2", "--max-restarts", "1", "--rdzv-backend", "c10d",
                 "--rdzv-endpoint", f"n0:{PORT}", "--rdzv-conf", "last_call_timeout=2,join_timeout=60", program]
        runs = []
        for host in ("n0", "n1"):
            (folder / host).mkdir()
            runs.append(self.start(host, *words, env={**support.without_torch(), "READY": str(folder / "ready"),
                                                      "XDG_RUNTIME_DIR": str(folder / host)}))
        root, other = runs
        for rank in range(4):
            support.wait_until((folder / f"ready{rank}").exists, 60, "the ranks run")
        picture = support.wait_until(
            lambda: (found := live_socket.picture(folder / "n0")) and None not in found["figures"]["nodes"]["age"] and
            found, 30, "both nodes have answered")
        self.assertEqual((picture["nodes"]["name"], picture["figures"]["ranks"]["state"]), (["n0", "n1"], "rrrr"))
        other.kill_all()
        picture = support.wait_until(
            lambda: (found := live_socket.picture(folder / "n0")) and found["job"]["attempt"] == 1 and found, 60,
            "the job goes on without n1")
        self.assertRegex(picture["job"]["attempts"][0]["what"], "n1")
        root.signal(signal.SIGINT)
        root.wait(60)


class Socket(support.TestCase):
    def test_jobs_of_one_process_id_share_a_folder(self):
        """As in two containers with one runtime folder: each has PID namespaces of its own."""
        support.needs_root()
        support.needs_program("unshare")
        folder = self.folder()
        folder.chmod(0o700)

        def job(name):
            run = self.begin("unshare", "--pid", "--fork", "--mount-proc", TOPRUN, "--rdzv-id", name, "--no-python", "sh", "-c",
                             f"touch {folder}/{name}; exec sleep 600", env={"XDG_RUNTIME_DIR": str(folder)})
            support.wait_until((folder / name).exists, 60, f"{name} runs")
            return run

        def names():
            """The jobs that answer, by their sockets."""
            found = {}
            for path in sorted((folder / "toprun").iterdir()):
                connection = live_socket.Connection(path)
                connection.request("GET", "/job")
                found[path.name] = json.loads(connection.getresponse().read())["job"]
            return found

        first = job("first")
        own, = names()
        job("second")
        self.assertEqual(names(), {own: "first", own.replace(".sock", "-2.sock"): "second"})
        asked = self.run_to_end(TOPRUN, "stacks", "second", env={"XDG_RUNTIME_DIR": str(folder)})
        self.assertIn("rank 0", asked.out)
        first.kill_all()
        support.wait_until(lambda: not first.processes(), 30, "the first is gone")
        asked = self.run_to_end(TOPRUN, "stacks", "first", env={"XDG_RUNTIME_DIR": str(folder)})
        self.assertNotEqual(asked.code, 0)
        self.assertEqual(names(), {own.replace(".sock", "-2.sock"): "second"}, "a killed job's socket is taken away")

    def test_a_moment_without_descriptors(self):
        """Clients of the store take them all while somebody asks; when they have gone, the job answers again."""
        folder = self.folder()
        folder.chmod(0o700)
        port = support.free_port()
        run = self.begin("prlimit", "--nofile=80:80", TOPRUN, "--master-port", port, "--no-python", "sh", "-c",
                         f"touch {folder}/runs; exec sleep 600", env={"XDG_RUNTIME_DIR": str(folder)})
        support.wait_until((folder / "runs").exists, 60, "the rank runs")
        self.assertEqual(live_socket.ask(folder, "/job")[0], 200)
        agent = run.agent()
        clients = []
        for _ in range(200):
            clients.append(socket.create_connection(("127.0.0.1", port), timeout=30))
            clients[-1].sendall(VALIDATE)
        support.wait_until(lambda: len(os.listdir(f"/proc/{agent}/fd")) == 80, 60, "all are taken")
        path, = (folder / "toprun").iterdir()
        meanwhile = live_socket.Connection(path)
        meanwhile.request("GET", "/job")
        time.sleep(1)  # for the agent to try: nothing tells that it did
        for client in clients:
            client.close()
        self.assertEqual(meanwhile.getresponse().status, 200)
        self.assertEqual(live_socket.ask(folder, "/job")[0], 200)
        run.signal(signal.SIGTERM)
        run.wait(60)

    def test_a_job_that_closes_at_once_is_not_asked_all_the_time(self):
        folder = self.folder()
        folder.chmod(0o700)
        (folder / "toprun").mkdir(mode=0o700)
        listener = socket.socket(socket.AF_UNIX)
        self.addCleanup(listener.close)
        listener.bind(str(folder / "toprun" / "4711.sock"))
        listener.listen(64)
        asked = []

        def answer():
            while True:
                try:
                    visitor, _ = listener.accept()
                except OSError:
                    return
                with visitor:
                    asked.append(visitor.recv(4096).split(b" ")[1])
                    body = b'{"job": "odd", "id": "", "program": "", "started": ""}' if asked[-1] == b"/job" else b""
                    visitor.sendall(b"HTTP/1.1 200 OK\r\nConnection: close\r\n" +
                                    (f"Content-Length: {len(body)}\r\n".encode() if body else b"") + b"\r\n" + body)

        threading.Thread(target=answer, daemon=True).start()
        top = self.begin(TOPRUN, "top", "--json", "odd", env={"XDG_RUNTIME_DIR": str(folder)})
        support.wait_until(lambda: asked.count(b"/pictures") > 3, 60, "it asks again")
        begun, before = time.monotonic(), len(asked)
        time.sleep(1)
        self.assertLess((len(asked) - before) / (time.monotonic() - begun), 10, "questions in a second")
        top.signal(signal.SIGTERM)
        top.wait(60)


if __name__ == "__main__":
    unittest.main()
