# ctest: TIMEOUT 900
"""--warm: ranks as forks of one Python that has imported their modules."""

import os
import pathlib
import re
import shutil
import signal
import sys
import time
import unittest

import support
import warm_scripts

LIMIT_S = 120
# The Python of scripts that need no torch: another version can be named.
PLAIN_PYTHON = os.environ.get("PLAIN_PYTHON", sys.executable)


def without_what_varies(text):
    text = re.sub(r"0x[0-9a-f]+", "0x", text)
    return re.sub(r"(\bpid |Thread |ident=|thread |started )\d+", r"\1N", text)


class Warm(support.TestCase):
    def setUp(self):
        self.path = self.folder()

    def write(self, name, text):
        path = self.path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path

    def launch(self, *words, nproc=2, env=None, python=PLAIN_PYTHON, **options):
        return self.toprun("--nproc-per-node", nproc, *words, limit=LIMIT_S, cwd=self.path,
                           env={"PYTHON_EXEC": python, "OMP_NUM_THREADS": "1", **(env or {})}, **options)


class Semantics(Warm):
    """What a script sees and does is the same, but for what docs/guides/start-up.md lists."""

    def seen(self, script, logs, nproc, *options):
        """What each rank printed and how the run ended."""
        finished = self.launch("--log-dir", logs, "--redirects", "3", *options,
                               *(script.command or ("script.py", "an argument", "--flag", "")),
                               nproc=nproc, env=script.env,
                               python=support.python() if script.torch else PLAIN_PYTHON)
        self.assertEqual("--warm is left out" in finished.err, bool(options) and script.refused, finished)
        printed = {path.relative_to(logs).parts[-2:]: without_what_varies(path.read_text(errors="backslashreplace"))
                   for path in sorted(logs.rglob("std*.log"))}
        return finished.code, printed

    def test_every_script(self):
        for name, script in warm_scripts.SCRIPTS.items():
            with self.subTest(name):
                self.path = self.folder()
                self.write("script.py", script.text)
                for file, text in script.files.items():
                    self.write(file, text)
                modules = "torch" if script.torch else "fractions"
                nproc = 1 if script.torch else 2  # each rank imports it
                cold = self.seen(script, self.path / "cold", nproc)
                if cold[0] != 0:  # whoever fails first may have the other stopped before it prints
                    nproc = 1
                    cold = self.seen(script, self.path / "alone", nproc)
                warm = self.seen(script, self.path / "warm", nproc, f"--warm={modules}")
                self.assertEqual(warm, cold)
                self.assertTrue(any(cold[1].values()) or cold[0], "a script that shows nothing")

    def test_that_it_can_fail(self):
        """A script that does see the difference."""
        self.write("script.py", "import sys; print('fractions' in sys.modules)")
        script = warm_scripts.Script("")
        self.assertNotEqual(self.seen(script, self.path / "cold", 1),
                            self.seen(script, self.path / "warm", 1, "--warm=fractions"))

    def test_ranks_draw_numbers_of_their_own(self):
        # The seed of the hashes is what forks of one parent have in common.
        self.write("script.py", "import random, numpy, torch\n"
                                "print(hash('text'), random.random(), numpy.random.random(), torch.rand(1).item(), torch.initial_seed())")
        finished = self.launch("--warm", "script.py", nproc=3, python=support.python())
        self.assert_ok(finished)
        self.assertNotIn("left out", finished.err)
        seeds, *drawn = zip(*(line.split() for line in finished.out.splitlines()), strict=True)
        self.assertEqual((len(seeds), len(set(seeds))), (3, 1), finished)
        self.assertEqual([len(set(column)) for column in drawn], [3] * 4, finished)


# Each attempt's ranks print the seed of their hashes, which forks of one parent have in common.
FAILS_ONCE = """
import os, sys, time
print('attempt', os.environ['TOPRUN_ATTEMPT'], 'rank', os.environ['RANK'], 'seed', hash('text'), flush=True)
if os.environ['TOPRUN_ATTEMPT'] == '0' and os.environ['RANK'] == '1':
    time.sleep(float(os.environ.get('SLEEP', '0.2')))
    sys.exit(7)
time.sleep(60 if os.environ['TOPRUN_ATTEMPT'] == '0' else 0)
"""


class Restarts(Warm):
    def seeds(self, text):
        return {attempt: set(re.findall(rf"attempt {attempt} .* seed (-?\d+)", text)) for attempt in "01"}

    def parents(self, run):
        """The warm parent, which has the lowest number, and the ranks, its forks; all of them sleep."""
        def belongs(pid):
            try:
                return (b"TOPRUN_WARM_CHANNEL=" in pathlib.Path(f"/proc/{pid}/environ").read_bytes()
                        and pid == os.getsid(pid) and support.state_of(pid) == "S")
            except OSError:
                return False  # it ended meanwhile
        return list(filter(belongs, run.processes()))

    def test_ranks_of_the_next_attempt_are_forks_of_the_same_parent(self):
        self.write("script.py", FAILS_ONCE)
        finished = self.launch("--warm=fractions", "--max-restarts", "1", "script.py")
        self.assert_ok(finished)
        seeds = self.seeds(finished.out)
        self.assertEqual(len(seeds["0"] | seeds["1"]), 1, finished)
        cold = self.seeds(self.launch("--max-restarts", "1", "script.py").out)
        self.assertGreater(len(cold["0"] | cold["1"]), 1)

    def test_a_parent_that_died_is_replaced(self):
        self.write("script.py", FAILS_ONCE)
        run = self.begin(support.binary(), "--nproc-per-node", 2, "--warm=fractions", "--max-restarts", "1",
                         "script.py", cwd=self.path,
                         env={"PYTHON_EXEC": PLAIN_PYTHON, "OMP_NUM_THREADS": "1", "SLEEP": "3"})
        ranks = support.wait_until(lambda: len(found := self.parents(run)) == 3 and found, 30, "a parent and two ranks")
        os.kill(min(ranks), signal.SIGKILL)
        finished = run.wait(LIMIT_S)
        self.assert_ok(finished)
        seeds = self.seeds(finished.out)
        self.assertEqual([len(seeds["0"]), len(seeds["1"]), len(seeds["0"] | seeds["1"])], [1, 1, 2], finished)
        self.assert_nothing_left(run)

    def test_nothing_is_left_when_the_agent_is_killed(self):
        self.write("script.py", "import time; time.sleep(99)")
        for victim in "parent", "agent", "keeper":
            with self.subTest(victim):
                run = self.begin(support.binary(), "--nproc-per-node", 2, "--warm=fractions", "script.py",
                                 cwd=self.path, env={"PYTHON_EXEC": PLAIN_PYTHON, "OMP_NUM_THREADS": "1"})
                found = support.wait_until(lambda: len(found := self.parents(run)) == 3 and found, 30, "all")
                pid = {"parent": min(found), "agent": run.agent(), "keeper": run.process.pid}[victim]
                os.kill(pid, signal.SIGKILL)
                if victim == "parent":  # ranks do not need it any more
                    time.sleep(0.5)
                    self.assertIsNone(run.process.poll())
                    run.signal(signal.SIGTERM)
                run.wait(LIMIT_S)
                self.assert_nothing_left(run)


REFUSALS = {
    "does not import": ("raise RuntimeError('broken')", "import odd: RuntimeError: broken"),
    "calls exit": ("import sys; sys.exit(5)", "import odd: exit was called"),
    "ends": ("import os; os._exit(5)", "its process ended"),
    "crashes": ("import ctypes; ctypes.string_at(0)", "its process ended"),
    "starts threads": ("import threading, time; threading.Thread(target=time.sleep, args=(99,), daemon=True, "
                       "name='worker').start()", r"its imports started threads \(.*worker\), which a fork would lose"),
    "forks": ("import os, time\nif os.fork() == 0: time.sleep(99)", "its imports started another process"),
    "opens a device": ("file = open('/dev/dri/none', 'w') if False else None\nimport socket; kept = socket.socket()",
                       r"its imports opened socket:\[\d+\], which ranks must not share"),
    "reads the rank": ("import os; rank = os.environ.get('RANK', '0')",
                       "what it imports looked up RANK, which is another for each rank"),
    "leaves no memory for a fork": ("import errno, os\ndef fork(): raise OSError(errno.ENOMEM, 'Cannot allocate memory')\n"
                                    "os.fork = fork", "fork: Cannot allocate memory"),
}


class Refusals(Warm):
    """Whatever stands against a fork is one line, and the ranks start as without --warm."""

    def assert_cold(self, finished, why):
        self.assert_ok(finished)
        self.assertEqual(sorted(finished.out.splitlines()), ["rank 0", "rank 1"], finished)
        line, _, rest = finished.err.partition("\n")
        self.assertRegex(line, rf"\Atoprun: --warm is left out on \S+: {why}.*; its ranks start without a fork\Z")
        self.assertNotIn("--warm", rest)

    def test_modules(self):
        self.write("script.py", "import os; print('rank', os.environ['RANK'])")
        for name, (text, why) in REFUSALS.items():
            with self.subTest(name):
                path = self.folder()
                (path / "odd.py").write_text(text)
                self.assert_cold(self.launch("--warm=odd", "script.py", env={"PYTHONPATH": str(path)}), why)

    def test_scripts_and_programs(self):
        self.write("script.py", "import os; print('rank', os.environ['RANK'])")
        self.write("sets.py", "import os\nos.environ['OMP_NUM_THREADS'] = '2'\nimport fractions\n"
                              "print('rank', os.environ['RANK'])")
        self.write("helper.py", "import os\nos.environ['OMP_NUM_THREADS'] = '2'\n")
        self.write("helped.py", "import os\nimport helper\nimport fractions\nprint('rank', os.environ['RANK'])")
        self.write("late.py", "import os\ndef main():\n  os.environ['OMP_NUM_THREADS'] = '2'\n  import fractions\n"
                              "  print('rank', os.environ['RANK'])\nmain()")
        wrapper = self.write("python-without-path", f"#!/bin/sh\nexec {PLAIN_PYTHON} -E \"$@\"\n")
        wrapper.chmod(0o755)
        for words, env, why in [
                (("--warm=no_such_module", "script.py"), {}, "import no_such_module: ModuleNotFoundError"),
                (("--warm=fractions", "sets.py"), {}, "the script may set OMP_NUM_THREADS before it imports fractions"),
                (("--warm=fractions", "helped.py"), {}, "the script may set OMP_NUM_THREADS before it imports fractions"),
                (("--warm=fractions", "late.py"), {}, "the script may set OMP_NUM_THREADS before it imports fractions"),
                (("--warm=fractions", "--no-python", "sh", "-c", 'echo "rank $RANK"'), {}, "--no-python starts a program"),
                (("--warm=fractions", "script.py", "${local_rank}"), {}, "the ranks cannot be forked from one process, because their command lines differ"),
                (("--warm=fractions", "script.py"), {"PYTHON_EXEC": str(wrapper)},
                 "this Python does not import from PYTHONPATH")]:
            with self.subTest(words, env=env):
                self.assert_cold(self.launch(*words, env=env), why)

    def test_python_without_torch(self):
        self.write("script.py", "import os; print('rank', os.environ['RANK'])")
        path = self.folder()
        (path / "torch.py").write_text("raise ModuleNotFoundError(\"No module named 'torch'\", name='torch')")
        self.assert_cold(self.launch("--warm", "script.py", env={"PYTHONPATH": str(path)}),
                         "import torch: ModuleNotFoundError: No module named 'torch'")

    def test_devices_that_are_initialised(self):
        self.write("script.py", "import os; print('rank', os.environ['RANK'])")
        path = self.folder()
        (path / "odd.py").write_text("import torch\ntorch.cuda._initialized = True")
        self.assert_cold(self.launch("--warm=odd", "script.py", env={"PYTHONPATH": str(path)}, python=support.python()),
                         "its imports initialised torch.cuda, whose context no fork can use")

    def test_a_driver_that_is_open(self):
        """The stand-in for libcuda opens the driver's device, as the real one does; it exists in a /dev of its own."""
        support.needs_root()
        support.needs_program("unshare")
        library = pathlib.Path(support.binary()).resolve().parent / "fake_gpu/libcuda.so.1"
        if not library.exists():
            self.skipTest(f"no {library}")
        self.write("script.py", "import os; print('rank', os.environ['RANK'])")
        path, devices = self.folder(), self.folder()
        (path / "odd.py").write_text(f"import ctypes\nassert ctypes.CDLL({str(library)!r}).cuInit(0) == 0")
        own_dev = ('mount -t tmpfs none "$0"; mkdir "$0/shm"; mount --bind /dev/shm "$0/shm"; touch "$0/nvidiactl"; '
                   'for node in null zero random urandom tty; do touch "$0/$node"; mount --bind "/dev/$node" "$0/$node"; done; '
                   'mount --rbind "$0" /dev; exec "$@"')
        self.assert_cold(self.run_to_end(
            "unshare", "--mount", "sh", "-ec", own_dev, devices, support.binary(), "--nproc-per-node", 2, "--warm=odd",
            "script.py", cwd=self.path, limit=LIMIT_S,
            env={"PYTHON_EXEC": PLAIN_PYTHON, "OMP_NUM_THREADS": "1", "PYTHONPATH": str(path)}),
            "its imports opened /dev/nvidiactl, which ranks must not share")

    def test_processes_that_the_kernel_refuses(self):
        """Not a stand-in: the parent's own limit makes fork(2) fail, and only root is above it."""
        support.needs_root()
        support.needs_program("setpriv")
        python, nobody = shutil.which("python3", path="/usr/bin"), ["setpriv", "--reuid", "4711", "--regid", "4711", "--clear-groups"]
        program = self.path / "toprun"
        shutil.copy(support.binary(), program)
        self.write("script.py", "import os; print('rank', os.environ['RANK'])")
        self.write("modules/odd.py", "import resource\nresource.setrlimit(resource.RLIMIT_NPROC, (1, 1))")
        if not python or self.run_to_end(*nobody, python, "-c", "").code != 0:
            self.skipTest("no Python that another user can run")
        self.path.chmod(0o755)
        finished = self.run_to_end(*nobody, program, "--nproc-per-node", 2, "--warm=odd", "script.py", cwd=self.path, limit=LIMIT_S,
                                   env={"PYTHON_EXEC": python, "OMP_NUM_THREADS": "1", "HOME": "/nonexistent",
                                        "PYTHONPATH": str(self.path / "modules")})
        self.assert_cold(finished, "fork: Resource temporarily unavailable")

    def test_processes_that_run_out_between_two_ranks(self):
        """The parent is in a group with room for itself, the process that forks, and one rank: that one is killed, too,
        before it runs the script, and both start without the parent."""
        support.needs_root()
        group = next((path for path in (pathlib.Path("/sys/fs/cgroup/pids"), pathlib.Path("/sys/fs/cgroup"))
                      if (path / "cgroup.procs").exists()), pathlib.Path("/none")) / f"toprun-test-{os.getpid()}"
        try:
            group.mkdir()
        except OSError as error:
            self.skipTest(f"no cgroup of our own: {error}")
        self.addCleanup(group.rmdir)
        if not (group / "pids.max").exists():
            self.skipTest("no controller of processes")
        (group / "pids.max").write_text("3")
        self.write("script.py", "import os; print('rank', os.environ['RANK'])")
        path = self.folder()
        (path / "odd.py").write_text(f"import os\nwith open({str(group / 'cgroup.procs')!r}, 'w') as file: file.write(str(os.getpid()))")
        self.assert_cold(self.launch("--warm=odd", "script.py", env={"PYTHONPATH": str(path)}),
                         "fork: Resource temporarily unavailable")
        self.assertGreater(int(re.search(r"max (\d+)", (group / "pids.events").read_text())[1]), 0)

    def test_modules_without_the_equals_sign(self):
        self.write("script.py", "")
        finished = self.launch("--warm", "fractions", "script.py")
        self.assertEqual(finished.code, 2)
        self.assert_one_line(finished, "script fractions in .*: No such file or directory; if --warm is to import it, write "
                                       "--warm=fractions")

    def test_another_python_on_another_node(self):
        """Each node's parent is a Python of that node's own; the ranks of both meet in one job."""
        versions = {}
        beside = pathlib.Path(sys.base_prefix).resolve().parent.glob("*/bin/python3")
        of_pyenv = pathlib.Path(os.environ.get("PYENV_ROOT", pathlib.Path.home() / ".pyenv")).glob("versions/*/bin/python3")
        for python in map(str, [PLAIN_PYTHON, "/usr/bin/python3", *(f"python3.{minor}" for minor in range(9, 16)),
                                *beside, *of_pyenv]):
            told = shutil.which(python) and self.run_to_end(
                python, "-c", "import sys; print(sys.version_info[:2]); print(sys.executable)")
            if told and told.code == 0:
                versions.setdefault(*told.out.splitlines())
        if len(versions) < 2:
            self.skipTest("one version of Python")
        self.write("script.py", "import os, sys; print('rank', os.environ['RANK'], sys.version_info[:2], 'fractions' in sys.modules)")
        port = support.free_port()
        runs = [self.begin(support.binary(), *support.two_nodes(port, rank), "--warm=fractions", "script.py",
                           cwd=self.path, env={"PYTHON_EXEC": python, "OMP_NUM_THREADS": "1"})
                for rank, python in enumerate(list(versions.values())[:2])]
        for node, (run, version) in enumerate(zip(runs, versions)):
            finished = run.wait(LIMIT_S)
            self.assert_ok(finished)
            self.assertNotIn("left out", finished.err)
            self.assertEqual(sorted(finished.out.splitlines()),
                             [f"rank {2 * node + local} {version} True" for local in (0, 1)], finished)

    def test_imports_that_take_long_are_waited_for(self):
        self.write("script.py", "import os; print('rank', os.environ['RANK'])")
        path = self.folder()
        (path / "odd.py").write_text("import time; time.sleep(3)")
        finished = self.launch("-v", "--warm=odd", "script.py", env={"PYTHONPATH": str(path)})
        self.assert_ok(finished)
        self.assertRegex(finished.err, r"the imports for --warm took [3-9]\.\d s")
        self.assertNotIn("left out", finished.err)

    def test_a_signal_during_the_imports_ends_the_run(self):
        self.write("script.py", "")
        path = self.folder()
        (path / "odd.py").write_text(f"import pathlib, time; pathlib.Path({str(path / 'there')!r}).touch(); time.sleep(99)")
        run = self.begin(support.binary(), "--nproc-per-node", 2, "--warm=odd", "script.py", cwd=self.path,
                         env={"PYTHON_EXEC": PLAIN_PYTHON, "PYTHONPATH": str(path), "OMP_NUM_THREADS": "1"})
        support.wait_until((path / "there").exists, 30, "it imports")
        run.signal(signal.SIGINT)
        self.assertEqual(run.wait(LIMIT_S).code, 130)
        self.assert_nothing_left(run)

    def test_the_dry_run_says_what_it_is(self):
        self.write("script.py", "")
        finished = self.launch("--warm=torch,numpy", "--dry-run", "script.py")
        self.assert_ok(finished)
        self.assertRegex(finished.out, r"(?m)^warm start +each rank is a fork of one Python process per node, which "
                                       r"has imported torch, numpy and")

    def test_values(self):
        self.write("script.py", "")
        for value in "torch,,numpy", "-x", "a b", "../torch":
            with self.subTest(value):
                finished = self.launch(f"--warm={value}", "script.py")
                self.assertEqual(finished.code, 2)
                self.assert_one_line(finished, "--warm .*: must be off, or names of modules .*")
        self.assert_ok(self.launch("--warm=off", "script.py"))

    def test_watched_for_hangs(self):
        """Then each attempt's ranks are told where the pipes and dumps of their flight recorders are."""
        self.write("script.py", "import os, sys; print('fractions' in sys.modules, *sorted(os.environ))")
        finished = self.launch("--warm=fractions", "--hang-timeout", "60", "--log-dir", self.path / "logs", "script.py")
        self.assert_ok(finished)
        self.assertNotIn("left out", finished.err)
        lines = finished.out.splitlines()
        for name in "True", "TORCH_NCCL_DEBUG_INFO_PIPE_FILE", "TORCH_FR_DUMP_TEMP_FILE":
            self.assertEqual([name in line for line in lines], [True, True], finished)


class Nodes(Warm):
    def test_each_node_has_a_parent_of_its_own(self):
        """One of two agents on this host has a Python that cannot import the module: only it starts cold."""
        self.write("script.py", "import os, sys; print('rank', os.environ['RANK'], 'fractions' in sys.modules)")
        path = self.folder()
        (path / "fractions.py").write_text("raise ImportError('not here')")
        port = support.free_port()
        runs = [self.begin(support.binary(), *support.two_nodes(port, rank), "--warm=fractions", "script.py",
                           cwd=self.path, env={"PYTHON_EXEC": PLAIN_PYTHON, "OMP_NUM_THREADS": "1",
                                               **({"PYTHONPATH": str(path)} if rank else {})})
                for rank in (0, 1)]
        first, second = (run.wait(LIMIT_S) for run in runs)
        for finished in first, second:
            self.assert_ok(finished)
        self.assertEqual(sorted(first.out.splitlines()), ["rank 0 True", "rank 1 True"], first)
        self.assertEqual(sorted(second.out.splitlines()), ["rank 2 False", "rank 3 False"], second)
        self.assertNotIn("left out", first.err)
        self.assertIn("import fractions: ImportError: not here", second.err)


if __name__ == "__main__":
    unittest.main()
