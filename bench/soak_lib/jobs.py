"""The short jobs of a soak and the questions to its long one: each a method that returns what was wrong, or None."""

import contextlib
import os
import signal
import subprocess
import time

from soak_lib import samples

HOSTS = 8
LIMIT_S = 60
TOKEN = "soak-soak-soak-soak-soak-soak"
WEB = "127.0.0.1", 19400
LOOKS = f"""
import glob, os, socket, urllib.request as web
for path in "/", "/metrics":
    asked = web.Request("http://{WEB[0]}:{WEB[1]}" + path, headers={{"Authorization": "Bearer {TOKEN}"}})
    web.urlopen(asked, timeout=20).read()
socket.create_connection({WEB}).sendall(b"GET /metrics HTTP/1.1\\r\\nHo")
for path in glob.glob(os.environ["XDG_RUNTIME_DIR"] + "/toprun/*.sock"):
    live = socket.socket(socket.AF_UNIX)
    live.settimeout(20)
    live.connect(path)
    live.sendall(b"GET /picture HTTP/1.1\\r\\nHost: job\\r\\nConnection: close\\r\\n\\r\\n")
    assert b" 200 " in live.recv(65536)
"""
RANK = """
import time
for step in range(10**9):
    print("step", step, flush=True)
    time.sleep(2)
"""
HANG_S = 2
COLLECTIVE = "import os\ndef all_reduce():\n    os.read(os.pipe()[0], 1)\n"  # a stand-in for torch's
HANGS = """
import os, pathlib, sys, time
sys.path.insert(0, str(pathlib.Path(__file__).parent / "torch/distributed"))
import collective
if os.environ["RANK"] == "1":
    time.sleep(3600)
collective.all_reduce()
"""
INTERRUPTED = 128 + signal.SIGINT


class Jobs:
    def __init__(self, cluster, toprun, folder, chance):
        self.cluster, self.toprun, self.folder, self.chance = cluster, toprun, folder, chance
        self.last_port = 20_000
        below = folder / "torch/distributed"
        below.mkdir(parents=True)
        (below / "collective.py").write_text(COLLECTIVE)
        (folder / "hangs.py").write_text(HANGS)
        (folder / "rank.py").write_text(RANK)

    def start(self, host, *words, **variables):
        return subprocess.Popen(self.cluster.on(host, *map(str, words)), cwd=self.folder, stdin=subprocess.DEVNULL,
                               stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace",
                               start_new_session=True, env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1", **variables})

    def end(self, run, *codes, limit=LIMIT_S):
        """What was wrong with its end, or None."""
        try:
            output = run.communicate(timeout=limit)[0]
        except subprocess.TimeoutExpired:
            os.killpg(run.pid, signal.SIGKILL)
            return f"still runs after {limit} s: {run.communicate()[0][-600:]}"
        return None if run.returncode in codes else f"exit code {run.returncode}, not {codes}: {output[-600:]}"

    def agents(self, nnodes, count, *words, **variables):
        """`count` agents by hand, one on each of the first hosts."""
        self.last_port += 1
        return [self.start(f"n{number}", self.toprun, "--nnodes", nnodes, "--rdzv-backend", "c10d",
                           "--rdzv-endpoint", f"n0:{self.last_port}", *words, **variables) for number in range(count)]

    def end_all(self, runs, *codes):
        return "; ".join(filter(None, [self.end(run, *codes) for run in runs])) or None

    def ask(self, host, *words):
        return self.end(self.start(host, self.toprun, *words), 0)

    # Short jobs.

    def by_hand(self):
        count, code = self.chance.randint(1, HOSTS), self.chance.choice((0, 0, 3))
        script = f'[ "$RANK" != 0 ] || exit {code}'
        return self.end_all(self.agents(count, count, "--nproc-per-node", self.chance.randint(1, 4), "--no-python",
                                        "sh", "-c", script), code)

    def by_ssh(self):
        hosts = f"n[0-{self.chance.randint(1, HOSTS - 1)}]"
        return self.ask("n0", "--hosts", hosts, "--nproc-per-node", 1, "--no-python", "true")

    def by_srun(self):
        return self.end(self.start("ctl", "srun", f"-N{self.chance.randint(1, HOSTS)}", self.toprun,
                                   "--nproc-per-node", 2, "--no-python", "true"), 0)

    def restarted(self):
        marks = self.folder / "failed"
        script = f'mkdir "{marks}" 2>/dev/null && exit 5; exit 0'
        found = self.end_all(self.agents(2, 2, "--nproc-per-node", 2, "--max-restarts", 1, "--no-python",
                                         "sh", "-c", script), 0)
        marks.rmdir()
        return found

    def agent_killed(self):
        """The third of three nodes is lost; the other two go on. Its own exit code depends on how far it was."""
        go = self.folder / "go"
        script = f'while [ ! -e "{go}" ]; do sleep 0.2; done'
        runs = self.agents("2:3", 3, "--nproc-per-node", 1, "--max-restarts", 3, "--no-python", "sh", "-c", script)
        time.sleep(self.chance.uniform(0.5, 2))
        killed = self.kill_agents(runs[2])
        time.sleep(1)
        go.touch()
        found = self.end_all(runs[:2], 0) or (None if killed else "its agent was not found")
        self.end(runs[2])
        go.unlink()
        return found

    def kill_agents(self, run):
        """Its keeper stays, so that the keeper ends the ranks."""
        below = [pid for pid in samples.processes()
                 if samples.parent(pid) == run.pid and samples.words(pid)[:1] == [self.toprun]]
        for pid in below:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        return below

    def hangs(self):
        """Rank 1 sleeps, rank 0 waits for it."""
        return self.end_all(self.agents(2, 2, "--nproc-per-node", 1, "--hang-timeout", HANG_S, "--on-hang", "abort",
                                        self.folder / "hangs.py"), 1)

    def interrupted(self):
        run = self.start("n0", self.toprun, "--nproc-per-node", 2, "--no-python", "sleep", "1000")
        time.sleep(self.chance.uniform(0, 2))
        os.killpg(run.pid, signal.SIGINT)
        return self.end(run, INTERRUPTED, -signal.SIGINT)  # the latter: before toprun was there

    def with_files(self):
        logs = self.folder / "logs"
        found = self.end_all(self.agents(2, 2, "--nproc-per-node", 2, "--log-dir", logs, "--redirects", "3",
                                         "--gather-output", "--no-python", "echo", "said"), 0)
        subprocess.run(["rm", "-rf", logs], check=True)
        return found

    # Questions to the long job, by the file of its --report.

    def stacks(self):
        return self.ask("n0", "stacks", self.folder / "long.json")

    def top(self):
        return self.ask("n0", "top", self.folder / "long.json")

    def report(self):
        return self.ask("n0", "report", self.folder / "long.json")

    def jobs(self):
        return self.ask("ctl", "jobs", "--json")

    def web(self):
        """Its page and metrics, its socket's picture, and a client that leaves in the middle of its request."""
        return self.end(self.start("n0", "python3", "-c", LOOKS), 0)

    ALL = (by_hand, by_ssh, by_srun, restarted, agent_killed, hangs, interrupted, with_files, stacks, top, report,
           jobs, web)

    def start_long(self):
        return self.agents(HOSTS, HOSTS, "--nproc-per-node", 2, "--report", self.folder / "long.json",
                           f"--web={WEB[0]}:{WEB[1]}", self.folder / "rank.py", TOPRUN_WEB_TOKEN=TOKEN)
