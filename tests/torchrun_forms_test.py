# ctest: TIMEOUT 240 LABELS torch
"""Each form of torchrun_forms.py under PyTorch's torchrun and under toprun called torchrun: the same
ranks with the same arguments, environment, output, files and exit code, but for what docs/reference/torchrun.md
lists."""

import contextlib
import functools
import json
import os
import re
import shlex
import socket
import subprocess
import sys
import unittest

import support
from torchrun_forms import FORMS

PAGE = support.REPOSITORY / "docs/reference/torchrun.md"
UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
SECTION = "## Command lines that differ"
LIMIT_S = 30
# All forms in one Python, which is forked for each: importing torch takes as long as ten of them.
THEIRS_LIMIT_S = 150
AS_PROCESSES = ["--standalone --nproc_per_node=2 -m package.show -- --depth=20", "exit3.py",
                "--log_dir logs --tee 3 --nproc_per_node 2 show.py"]

# What a rank tells of itself.
COMPARED = [
    "RANK", "LOCAL_RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE", "GROUP_RANK", "GROUP_WORLD_SIZE",
    "ROLE_NAME", "ROLE_RANK", "ROLE_WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT", "OMP_NUM_THREADS",
    "CUDA_VISIBLE_DEVICES", "TORCH_NCCL_ASYNC_ERROR_HANDLING", "TORCHELASTIC_RESTART_COUNT",
    "TORCHELASTIC_MAX_RESTARTS", "TORCHELASTIC_RUN_ID", "TORCHELASTIC_USE_AGENT_STORE",
    "TORCHELASTIC_SIGNALS_TO_HANDLE"]
SHOW = f"""
import json, os, sys
seen = {{name: os.environ.get(name) for name in {COMPARED}}}
told = {{"argv": sys.argv, "path": sys.path[0], "unbuffered": sys.stdout.write_through, "env": seen}}
with open(os.environ["TOLD"] + "/" + os.environ["RANK"], "w") as file:
    json.dump(told, file)
for descriptor, name in ((1, "out"), (2, "err")):  # in one write: torchrun would tear them
    os.write(descriptor, f"{{name}} of {{os.environ['RANK']}}\\n".encode())
"""
SHOW_SH = """#!/bin/sh
python3 - "$0" "$@" <<'END'
import os, sys
sys.argv.pop(0)
sys.path[0] = ""
exec(open(os.environ["SHOW"]).read())
END
"""
FAIL_ONCE = """
import os, sys
if os.environ["TORCHELASTIC_RESTART_COUNT"] == "0":
    sys.exit(1)
exec(open(os.environ["SHOW"]).read())
"""

# Runs torch.distributed.run.main() for each [folder, environment, [argv of an agent, …]] of the list on
# standard input, each agent in a fork with its output in files of its folder.
THEIRS = """
import json, os, sys, time, traceback
from torch.distributed import run

def become(folder, environment, argv, number):
    os.setsid()
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    for descriptor, name in ((1, "out"), (2, "err")):
        os.dup2(os.open(f"{folder}/agent{number}.{name}", os.O_WRONLY | os.O_CREAT, 0o644), descriptor)
    sys.argv = ["torchrun", *argv]
    code = 0
    try:
        run.main(argv)
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else int(end.code is not None)
    except BaseException:
        traceback.print_exc()
        code = 1
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)

def code_of(pid, deadline):
    while time.monotonic() < deadline:
        ended, status = os.waitpid(pid, os.WNOHANG)
        if ended:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.01)
    os.killpg(pid, 9)
    os.waitpid(pid, 0)
    return "not done"

codes = []
for folder, environment, agents, limit in json.load(sys.stdin):
    pids = []
    for number, argv in enumerate(agents):
        pid = os.fork()
        if pid == 0:
            become(folder, environment, argv, number)
        pids.append(pid)
    deadline = time.monotonic() + limit
    codes.append([code_of(pid, deadline) for pid in pids])
print(json.dumps(codes))
"""


class Stage:
    """A folder in which one form is run by one launcher, and what it left."""

    def __init__(self, folder, form):
        self.folder = folder
        for name in ("told", "package"):
            (folder / name).mkdir(parents=True)
        files = {"show.py": SHOW, "package/show.py": SHOW, "show.sh": SHOW_SH,
                 "fail_once.py": FAIL_ONCE, "exit3.py": "raise SystemExit(3)"}
        for name, text in files.items():
            (folder / name).write_text(text)
        (folder / "show.sh").chmod(0o755)
        port = str(support.free_port())
        self.agents = [shlex.split(words.replace("PORT", port))
                       for words in (form.words, form.second) if words]
        kept = {name: os.environ[name] for name in ("PATH", "HOME", "LANG") if name in os.environ}
        given = {name: value.replace("PORT", port) for name, value in form.env.items()}
        self.environment = {**kept, "PYTHON_EXEC": sys.executable, "TMPDIR": str(folder),
                            "TOLD": str(folder / "told"), "SHOW": str(folder / "show.py"), **given}
        self.codes = None
        self.port = port
        self.c10d = "c10d" in form.words

    def read(self, agent, stream):
        path = self.folder / f"agent{agent}.{stream}"
        return path.read_text(errors="replace") if path.exists() else ""

    def outcome(self):
        """All that is compared, by name; what both make anew each time is left out."""
        result = {"exit codes": self.codes}
        for path in sorted((self.folder / "told").iterdir()):
            told = json.loads(path.read_text())
            for name, value in told.pop("env").items():
                told[name] = self.settled(name, value)
            told["path"] = told["path"].replace(str(self.folder), "HERE")
            told["argv"] = [word.replace(str(self.folder), "HERE") for word in told["argv"]]
            for name, value in told.items():
                result[f"rank {path.name}: {name}"] = value
        for number in range(len(self.agents)):
            for stream in ("out", "err"):
                lines = re.findall(rf"^.*{stream} of \d+$", self.read(number, stream), re.M)
                result[f"agent {number}'s std{stream}"] = sorted(lines)
        for path in sorted(self.folder.glob("logs/*/attempt_*/*/std*.log")):
            result[f"file {'/'.join(path.parts[-3:])}"] = path.read_text()
        return result

    def settled(self, name, value):
        if value is None:
            return None
        if name == "TORCHELASTIC_RUN_ID" and UUID.fullmatch(value):
            return "a uuid"
        # With c10d torchrun's is another port than the endpoint's, and its address the host's own name.
        if name == "MASTER_PORT":
            return "the port given" if value == self.port and not self.c10d else "some port"
        if name == "MASTER_ADDR":
            return "this host" if is_own(value) else value
        return value


@functools.cache
def is_own(host):
    with contextlib.suppress(OSError), socket.create_server((host, 0)):
        return True
    return host in (socket.gethostname(), socket.getfqdn())


def is_taken(port):
    with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port)):
        return True
    return False


def run_theirs(stages):
    jobs = [[str(stage.folder), stage.environment, stage.agents, LIMIT_S] for stage in stages]
    done = subprocess.run([support.python(), "-c", THEIRS], input=json.dumps(jobs), text=True,
                          check=True, timeout=THEIRS_LIMIT_S, stdout=subprocess.PIPE)
    for stage, codes in zip(stages, json.loads(done.stdout)):
        stage.codes = codes


class Forms(support.TestCase):
    def run_processes(self, command, stage):
        runs = []
        for number, words in enumerate(stage.agents):
            run = self.begin("env", "-i", *(f"{name}={value}" for name, value in stage.environment.items()),
                             *command, *words, cwd=stage.folder)
            runs.append(run)
            if stage.c10d and len(stage.agents) > 1:  # who comes first is node 0
                support.wait_until(lambda: run.process.poll() is not None or is_taken(stage.port), LIMIT_S,
                                   "the first agent")
        ended = [run.wait(LIMIT_S) for run in runs]
        stage.codes = [finished.code for finished in ended]
        for number, finished in enumerate(ended):
            (stage.folder / f"agent{number}.out").write_text(finished.out)
            (stage.folder / f"agent{number}.err").write_text(finished.err)

    def test_each_does_the_same_under_both_but_for_what_is_said(self):
        root = self.folder()
        theirs = [Stage(root / f"theirs{i}", form) for i, form in enumerate(FORMS)]
        run_theirs(theirs)
        (root / "torchrun").symlink_to(support.binary())
        for i, (form, expected) in enumerate(zip(FORMS, theirs)):
            with self.subTest(form.words, env=form.env):
                ours = Stage(root / f"ours{i}", form)
                self.run_processes([root / "torchrun"], ours)
                self.compare(expected, ours, form.differs)

    def compare(self, expected, ours, differs):
        wanted, found = expected.outcome(), ours.outcome()
        names = [name for name in {**wanted, **found} if wanted.get(name) != found.get(name)]
        shown = "\n".join(f"{name}: {wanted.get(name)!r} with torchrun, {found.get(name)!r} here"
                          for name in names)
        said = f"{shown}\n{expected.read(0, 'err')[-2000:]}\n{ours.read(0, 'err')}"
        self.assertEqual({name.rpartition(": ")[2] for name in names}, set(differs.split(", ")) - {""}, said)

    def test_real_processes_do_as_the_forks(self):
        root = self.folder()
        forms = [form for form in FORMS if form.words in AS_PROCESSES]
        self.assertEqual(len(forms), len(AS_PROCESSES))
        forked = [Stage(root / f"fork{i}", form) for i, form in enumerate(forms)]
        run_theirs(forked)
        for i, form in enumerate(forms):
            with self.subTest(form.words):
                process = Stage(root / f"process{i}", form)
                self.run_processes(support.torchrun(), process)
                self.compare(forked[i], process, "")

    def test_the_page_lists_every_difference(self):
        def shown(form):
            variables = "".join(f"{name}={value} " for name, value in form.env.items())
            return variables + form.words
        section = PAGE.read_text().partition(SECTION)[2]
        self.assertIn(f" run {len(FORMS)} usual command lines with", section)
        rows = re.findall(r"^\| `(.+)` \| (.+) \| (.+) \|$", section, re.M)
        self.assertEqual(rows, [(shown(form), form.differs, form.because) for form in FORMS if form.differs])
        self.assertGreaterEqual(len(FORMS), 60)
        self.assertEqual(len({(form.words, str(form.env)) for form in FORMS}), len(FORMS), "none twice")


if __name__ == "__main__":
    unittest.main()
