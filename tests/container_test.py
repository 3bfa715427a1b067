# ctest: TIMEOUT 400 LABELS container
"""Ranks in containers of a real Podman."""

import os
import pathlib
import pty
import re
import shutil
import signal
import sys
import unittest

import containers
import support
from containers import IMAGE

REPOSITORY = support.REPOSITORY


class Ranks(containers.PodmanCase):
    def test_see_the_image_and_what_ranks_are_told(self):
        folder = self.folder()
        (folder / "here").touch()
        done = self.contained("--nproc-per-node", "2", "--no-python", "sh", "-c",
                              'echo "$RANK/$WORLD_SIZE $(pwd) $(cat /etc/passwd) '
                              '$(ls) $OWN"',
                              env={"OWN": "mine"}, cwd=folder)
        self.assert_ok(done)
        self.assertEqual(sorted(done.out.splitlines()),
                         [f"{rank}/2 {folder} root:x:0:0:root:/root:/bin/sh here mine"
                          for rank in (0, 1)])

    def test_all_ranks_of_a_node_share_one_container(self):
        done = self.contained("--nproc-per-node", "4", "--writable", "--no-python", "sh", "-c",
                              "echo $RANK >>/data/ranks; until test $(grep -c . /data/ranks) = 4; "
                              "do sleep 0.05; done; echo $RANK")
        self.assert_ok(done)
        self.assertEqual(sorted(done.out.split()), ["0", "1", "2", "3"])

    def test_files_of_the_host_are_there_only_if_bound(self):
        outside = self.folder() / "data"
        outside.write_text("of the host\n")
        see = ["--no-python", "sh", "-c", f"cat {outside.parent}/data 2>&1"]
        self.assertEqual(self.contained(*see).code, 1)
        bound = self.contained("--bind", outside.parent, *see)
        self.assertEqual((bound.code, bound.out), (0, "of the host\n"))
        moved = self.contained("--bind", f"{outside.parent}:/data:ro", "--no-python", "sh", "-c",
                               "cat /data/data; echo x 2>/dev/null >/data/new || echo read-only")
        self.assertEqual(moved.out, "of the host\nread-only\n")

    def test_exit_codes_signals_and_reports_are_as_without(self):
        code = self.contained("--nproc-per-node", "2", "--no-python", "sh", "-c",
                              'test $RANK = 0 && exec sleep 100; echo why >&2; exit 7')
        self.assertEqual(code.code, 7)
        self.assertIn("rank 1", code.err)
        self.assertIn("why", code.err)
        killed = self.contained("--no-python", "sh", "-c", "kill -SEGV $$")
        self.assertEqual(killed.code, 128 + signal.SIGSEGV)

    def test_restarts_use_the_same_container(self):
        done = self.contained("--max-restarts", "1", "--writable", "--no-python", "sh", "-c",
                              "if test -e /data/was; then echo again; else echo >/data/was; exit 3;"
                              " fi")
        self.assertEqual((done.code, done.out), (0, "again\n"))

    def test_standard_input_is_theirs(self):
        run = self.begin(support.binary(), "--container", IMAGE, "--no-python", "cat",
                         env=self.podman.env, stdin=-1)
        run.process.stdin.write(b"typed\n")
        run.process.stdin.close()
        run.process.stdin = None
        self.assertEqual(run.wait(60).out, "typed\n")

    def test_logs_and_error_files_are_written(self):
        folder = self.folder()
        done = self.contained("--log-dir", folder / "logs", "--redirects", "3", "--no-python", "sh",
                              "-c", 'echo shown; echo {} >$TORCHELASTIC_ERROR_FILE')
        self.assert_ok(done)
        logs = [path.read_text() for path in (folder / "logs").rglob("stdout.log")]
        self.assertEqual(logs, ["shown\n"])
        self.assertEqual(len(list((folder / "logs").rglob("error.json"))), 1)


class Ends(containers.PodmanCase):
    """However it ends, nothing is left."""

    def begin_waiting(self, *words):
        self.up = self.folder()
        run = self.begin(support.binary(), "--container", IMAGE, "--bind", self.up, *words,
                         "--no-python", "sh", "-c",
                         f"echo $$ >{self.up}/$RANK; {support.OBEDIENT}", env=self.podman.env)
        support.wait_for_files(self.up, 1)
        return run

    def test_by_a_signal(self):
        for number, code in ((signal.SIGINT, 130), (signal.SIGTERM, 143)):
            with self.subTest(number):
                run = self.begin_waiting()
                run.signal(number)
                self.assertEqual(run.wait(60).code, code)
                self.assert_nothing_left(run)

    def test_by_a_signal_while_it_is_being_started(self):
        folder = self.folder()
        (folder / "podman").write_text(f"#!/bin/sh\ntouch {folder}/called\nexec sleep 1000\n")
        (folder / "podman").chmod(0o755)
        run = self.begin(support.binary(), "--container", IMAGE, "--no-python", "true",
                         env={"PATH": f"{folder}:{os.environ['PATH']}"})
        support.wait_until(lambda: (folder / "called").exists(), 10, "the runtime")
        run.signal(signal.SIGTERM)
        done = run.wait(30)
        self.assertEqual(done.code, 143, done)
        self.assert_nothing_left(run)

    def test_by_a_signal_when_the_runtime_has_made_it_and_not_started_it(self):
        """Podman that a signal ends between the two leaves a container."""
        folder = self.folder()
        (folder / "podman").write_text(f"""#!/bin/sh
            if test "$1" != run; then exec {shutil.which("podman")} "$@"; fi
            shift
            {shutil.which("podman")} create "$@" && touch {folder}/made
            exec sleep 1000
            """)
        (folder / "podman").chmod(0o755)
        run = self.begin(support.binary(), "--container", IMAGE, "--no-python", "true",
                         env={**self.podman.env, "PATH": f"{folder}:{os.environ['PATH']}"})
        support.wait_until(lambda: (folder / "made").exists(), 20, "a container")
        self.assertEqual(len(self.podman.containers()), 1)
        run.signal(signal.SIGTERM)
        self.assertEqual(run.wait(30).code, 143)
        self.assert_nothing_left(run)  # tearDown looks for containers

    def test_by_sigkill_to_the_agent(self):
        run = self.begin_waiting()
        os.kill(run.agent(), signal.SIGKILL)
        self.assertEqual(run.wait(60).code, 1)
        self.assert_nothing_left(run)
        self.podman.run("rm", "--all", "--force", "--time", "0")

    def test_of_the_container_itself(self):
        run = self.begin_waiting()
        self.podman.run("kill", "--all")
        done = run.wait(60)
        self.assertEqual(done.code, 128 + signal.SIGKILL, done)
        self.assertIn("it ended, and its ranks with it", done.err)
        self.assert_nothing_left(run)


class Bench(containers.PodmanCase):
    """The ranks of `toprun bench` are toprun itself, which the image does not hold."""

    def test_ranks_in_a_container(self):
        done = self.toprun("bench", "all_reduce", "--nproc-per-node", "2", "-b", "64K", "-n", "2",
                           "--container", IMAGE, env=self.podman.env)
        self.assert_ok(done)
        self.assertRegex(done.out, r"64 KiB .* 0\n")

    def test_the_gpu_ranks_are_found_inside(self):
        done = self.toprun("bench", "all_reduce", "--nproc-per-node", "2", "-b", "64K", "--backend",
                           "nccl", "--container", IMAGE, env=self.podman.env)
        # The small image lacks even libm: that the program is there and begins is all it can show.
        self.assertRegex(done.err, r"/run/toprun/toprun-bench: error while loading|"
                                   r"libnccl\.so\.2 was not found")


class BadInput(containers.PodmanCase):
    def refused(self, words, pattern, **options):
        done = self.contained(*words, **options)
        self.assertIn(done.code, (1, 2), done)
        self.assertRegex(done.err, pattern, done)

    def test_a_script_that_is_outside_only(self):
        script = self.folder() / "train.py"
        script.touch()
        self.refused([script], rf"script {script}: there is no such path in the container on \S+; "
                               rf"the path is on the host: add --bind {script.parent}")

    def test_data_that_is_outside_only(self):
        folder = self.folder()
        for words in ([f"--data={folder}"], [folder]):
            self.refused(["--no-python", "true", *words],
                         rf"argument {folder}: .*the path is on the host: add --bind {folder}")

    def test_a_bind_without_a_source(self):
        self.refused(["--bind", "/no/such", "--no-python", "true"],
                     "--bind /no/such on .*no such file or folder")

    def test_no_python_inside(self):
        script = self.folder() / "train.py"
        script.touch()
        self.refused(["train.py"], "no Python on host \\S+ in the container: no python3 or python in PATH=", cwd=script.parent)

    def test_no_such_program_inside(self):
        self.refused(["--no-python", "nothing"],
                     "cannot run nothing on .* in the container: it is not found in PATH")

    def test_no_such_venv_inside(self):
        script = self.folder() / "train.py"
        script.touch()
        self.refused(["--venv", "/no/such", "train.py"],
                     "--venv /no/such: there is no such path in the container", cwd=script.parent)

    def test_a_venv_whose_python_stays_outside(self):
        here = self.folder()
        (here / "train.py").touch()
        (here / "env/bin").mkdir(parents=True)
        venv = ["--bind", str(here), "--venv", str(here / "env"), "train.py"]
        self.refused(venv, "there is no \\S+/env/bin/python in the container", cwd=here)
        (here / "env/bin/python").symlink_to(sys.executable)
        outside = re.escape(os.path.realpath(sys.executable))
        self.refused(venv, f"the environment's Python is the host's {outside}, which does not exist in the container on ", cwd=here)

    def test_no_such_image(self):
        done = self.toprun("--container", "localhost/none:latest", "--no-python", "true",
                           env=self.podman.env)
        self.assertEqual(done.code, 1, done)
        self.assertRegex(done.err, "localhost/none", done)

    def test_a_wrong_path_comes_before_a_runtime_that_is_missing(self):
        done = self.toprun("--container", "/nowhere/a.sif", "--no-python", "true", env={"PATH": "/nowhere"})
        self.assertEqual(done.code, 2, done)
        self.assertRegex(done.err, r"\Atoprun: container image /nowhere/a\.sif on \S+: No such file or directory;")

    def test_no_runtime_at_all(self):
        done = self.toprun("--container", IMAGE, "--no-python", "true", env={"PATH": "/nowhere"})
        self.assertNotEqual(done.code, 0)
        self.assertIn("podman", done.err)


class Shell(containers.PodmanCase):
    """`toprun shell --container`, from where its node's part begins."""

    def test_finds_toprun_inside_and_starts_ranks_there(self):
        here = self.folder()
        (here / "toprun.toml").write_text(f"container = '{IMAGE}'\n")
        keyboard, terminal = pty.openpty()
        self.addCleanup(os.close, keyboard)
        os.write(keyboard, b"toprun --nproc-per-node 2 --no-python sh -c 'test -e /data && echo in $RANK'; exit\n")
        done = self.run_to_end(support.binary(), "shell", "--container", IMAGE, cwd=here,
                               stdin=terminal, env={**self.podman.env, "TOPRUN_SHELL": "/bin/sh"})
        os.close(terminal)
        self.assert_ok(done)
        self.assertEqual(sorted(re.findall(r"(?m)^(?:# )?(in [01])$", done.out.replace("\r", ""))),
                         ["in 0", "in 1"], done)


class Python(containers.PodmanCase):
    PYTHON_INSIDE = True

    def setUp(self):
        self.here = self.folder()

    def test_of_the_image_runs_the_script(self):
        (self.here / "train.py").write_text("import os, sys\nprint(sys.argv[1:], os.environ['RANK'])\n")
        done = self.contained("-v", "train.py", "--epochs", "3", cwd=self.here)
        self.assertEqual((done.code, done.out), (0, "['--epochs', '3'] 0\n"), done)
        self.assertRegex(done.err, r"program in the container on \S+: /usr/bin/python3 \(PATH of the "
                                   r"image\)")

    def test_of_the_host_is_not_looked_for_inside(self):
        (self.here / "train.py").write_text("print('ran')\n")
        env = {"PYTHON_EXEC": "/opt/of/the/host/python"}
        done = self.contained("-v", "train.py", cwd=self.here, env=env)
        self.assertEqual((done.code, done.out), (0, "ran\n"), done)
        note = "PYTHON_EXEC=/opt/of/the/host/python is a path on the host and has no effect in the container"
        self.assertIn(note, done.err)
        self.assertIn(note, self.contained("--dry-run", "train.py", cwd=self.here, env=env).out)
        named = self.contained("-v", "-e", "PYTHON_EXEC=/usr/bin/python3", "train.py", cwd=self.here, env=env)
        self.assertEqual((named.code, named.out), (0, "ran\n"), named)
        self.assertIn("/usr/bin/python3 (PYTHON_EXEC of the image)", named.err)
        self.assertNotIn("stays outside", named.err)
        passed = self.contained("--container-env", "PYTHON_EXEC", "train.py", cwd=self.here, env=env)
        self.assertRegex(passed.err, "PYTHON_EXEC=/opt/of/the/host/python on host .*: this is not an executable program")

    def test_ranks_are_forks_of_one_that_is_warm(self):
        (self.here / "train.py").write_text(
            "import os, sys\nprint(os.environ['TOPRUN_ATTEMPT'], os.environ['RANK'], 'fractions' in sys.modules, hash('x'))\n"
            "sys.exit(3 if os.environ['TOPRUN_ATTEMPT'] == '0' and os.environ['RANK'] == '1' else 0)\n")
        done = self.contained("-v", "--warm=fractions", "--nproc-per-node", "2", "--max-restarts", "1", "train.py", cwd=self.here)
        self.assert_ok(done)
        self.assertRegex(done.err, r"the imports for --warm took \d\.\d s")
        self.assertEqual(len(set(re.findall(r"(?m)^. . True (-?\d+)$", done.out))), 1, done)
        self.assertRegex(done.out, r"(?m)^1 0 True .*\n(.*\n)*1 1 True|^1 1 True .*\n(.*\n)*1 0 True")
        cold = self.contained("--warm=no_such_module", "train.py", cwd=self.here)
        self.assertRegex(cold.err, r"--warm is left out on \S+( in the container)?: import no_such_module: ModuleNotFoundError")
        self.assertEqual(cold.code, 0, cold)

    def test_without_torch_is_told_what_to_do(self):
        (self.here / "train.py").write_text("import torch\n")
        done = self.contained("train.py", cwd=self.here)
        self.assertEqual(done.code, 1)
        self.assertIn("No module named 'torch'", done.err)
        self.assertIn("/usr/bin/python3 has no PyTorch: choose a Python that has PyTorch with --venv DIR", done.err)


class Training(containers.PodmanCase):
    PYTHON = True

    def test_with_the_hosts_torch_bound_in(self):
        folder = self.folder()
        done = self.contained(
            *containers.binds_for(self.python), "--bind", REPOSITORY / "examples",
            "--venv", pathlib.Path(self.python).parent.parent, "--nproc-per-node", "2",
            REPOSITORY / "examples/train_ddp.py", "--epochs", "1", "--output-dir", folder / "out",
            cwd=folder, limit=120)
        self.assert_ok(done)
        self.assertRegex(done.out, r"(?m)^held-out accuracy 0\.\d+$")


if __name__ == "__main__":
    unittest.main()
