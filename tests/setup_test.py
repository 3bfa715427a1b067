# ctest: TIMEOUT 500 LABELS cluster
"""`toprun setup`: environments built by real pip from wheels made here, by hand and as jobs of the
virtual cluster's real Slurm."""

import functools
import hashlib
import http.server
import json
import os
import pathlib
import shutil
import signal
import subprocess
import tempfile
import threading
import unittest

import support
from cluster import wait_for
from submitting import SubmitCase
from support import TOPRUN
from wheels import NO_INDEX, make_wheel

LIMIT_S = 120  # venv and pip start many Pythons; on a loaded machine
MODULES = pathlib.Path("/usr/share/modules")  # Environment Modules, as Debian has them


@functools.cache
def quick_python():
    """A folder with a python3 that copies a bare environment, made by the real one, where it is asked for a
    new one: its installation of pip is most of what a case here would take. The copy's files are links: ext4
    takes long to make a thousand files where as many were removed within the last seconds."""
    folder = pathlib.Path(tempfile.mkdtemp(prefix="toprun-test-"))
    unittest.addModuleCleanup(shutil.rmtree, folder)
    real = shutil.which("python3")
    subprocess.run([real, "-m", "venv", folder / "bare"], check=True)
    program = folder / "python3"
    program.write_text(f"""#!/bin/sh
if [ "$1 $2 $#" = "-m venv 3" ]; then mkdir -p "$3" && exec cp -al {folder}/bare/. "$3"; fi
exec {real} "$@"
""")
    program.chmod(0o755)
    return folder


def shelf(folder):
    """A folder of wheels, and the environment in which pip knows no other place."""
    wheels = folder / "wheels"
    wheels.mkdir()
    make_wheel(wheels, "demo", "1.2", {"demo.py": "__version__ = '1.2'\n"})
    make_wheel(wheels, "sick", "3.0", {"sick.py": "import no_such_library\n"})
    make_wheel(wheels, "dead", "1.0", {"dead.py": "import os; os.abort()\n"})
    make_wheel(wheels, "wants", "1.0", {"wants.py": ""}, requires=["absent>=2"])
    make_wheel(wheels, "slow", "1.0", {"slow.py": (
        "import os, pathlib, time\n"
        "pathlib.Path(os.environ['SLOW']).touch()\n"
        "time.sleep(300)\n")})
    return {**NO_INDEX, "PIP_FIND_LINKS": str(wheels), "SLOW": str(folder / "slow"),
            "PATH": f"{quick_python()}{os.pathsep}{os.environ['PATH']}"}


def record_of(folder):
    return json.loads((folder / "toprun-setup.json").read_text())


class Local(support.TestCase):
    def setUp(self):
        super().setUp()
        self.work = self.folder()
        self.env = shelf(self.work)

    def start(self, *words, env=None):
        return self.begin(support.binary(), "setup", "--on", "local", *words, cwd=self.work,
                          env={**self.env, **(env or {})})

    def setup(self, *words, env=None, limit=LIMIT_S):
        return self.start(*words, env=env).wait(limit)

    def assert_fails(self, finished, pattern, code=1):
        self.assertEqual(finished.code, code, finished)
        self.assertRegex(finished.err.splitlines()[-1], rf"\Atoprun: {pattern}\Z", finished)

    def test_builds_what_run_then_uses(self):
        del self.env["PATH"]
        (self.work / "requirements.txt").write_text("demo==1.2\n")
        finished = self.setup("--venv", "env", "-r", "requirements.txt")
        self.assert_ok(finished)
        self.assertRegex(finished.err, rf"toprun: built {self.work}/env: Python 3\.\S+, "
                                       r"imported demo 1\.2\n\Z")
        record = record_of(self.work / "env")
        self.assertEqual((record["schema"], record["state"], record["imports"]),
                         ("toprun.setup/1", "complete", {"demo": "1.2"}))
        (self.work / "use.py").write_text("import demo, sys; print(demo.__version__, sys.prefix)\n")
        used = self.run_to_end(support.binary(), "--venv", "env", "use.py", cwd=self.work)
        self.assert_ok(used)
        self.assertEqual(used.out, f"1.2 {self.work}/env\n")

        # What is there is not overwritten, unless that is asked for.
        mark = self.work / "env/mark"
        mark.touch()
        self.assert_fails(self.setup("--venv", "env"), rf"--venv {self.work}/env: it already exists, "
                          r"built on \S+ at \S+ \S+: its setup was also asked for demo==1\.2; --force "
                          "builds it again as this command line says", code=2)
        (self.work / "requirements.txt").write_text("# the same\n\ndemo==1.2  # and no more\n")
        again = self.setup("--venv", "env", "-r", "requirements.txt")
        self.assert_ok(again)
        self.assert_one_line(again, rf"{self.work}/env is up to date: nothing "
                             r"is built \(--force builds it again\)")
        (self.work / "requirements.txt").write_text("demo==1.3\n")
        self.assert_fails(self.setup("--venv", "env", "-r", "requirements.txt"),
                          ".*: its setup was asked for demo==1.2, and this command line asks for demo==1.3; .*", code=2)
        self.assertTrue(mark.exists())
        self.assert_ok(self.setup("--force", "--venv", "env"))
        self.assertFalse(mark.exists())

    def test_a_folder_of_others_is_left_alone(self):
        (self.work / "mine").mkdir()
        (self.work / "mine/thesis.tex").touch()
        for words in (["--venv", "mine"], ["--force", "--venv", "mine/"]):
            self.assert_fails(self.setup(*words), rf"--venv {self.work}/mine: it already exists, and "
                              "toprun setup has not built it; name another path, or remove this one", code=2)
        self.assertTrue((self.work / "mine/thesis.tex").exists())
        (self.work / "file").touch()
        self.assert_fails(self.setup("--venv", "file"), ".*it is not a folder; name another path", code=2)

    def test_what_pip_refuses_is_said_in_its_words(self):
        wheel = self.work / "wheels/demo-1.2-py3-none-any.whl"
        right = hashlib.sha256(wheel.read_bytes()).hexdigest()
        (self.work / "hashes.txt").write_text(f"demo==1.2 --hash=sha256:{'0' * 64}\n")
        for words, pattern in [
            (["absent==7"], r"pip install absent==7 on host \S+: .*No matching distribution found for "
                            r"absent==7"),
            (["wants"], r"pip install wants on host \S+: Could not find a version that satisfies the "
                        r"requirement absent>=2 \(from wants\).*"),
            (["-r", "hashes.txt"], rf"pip install -r .*: .*DO NOT MATCH THE HASHES.* demo==1\.2 from "
                                   rf".*Expected sha256 {'0' * 64} Got +{right}"),
            (["bad name"], r"pip install bad name on host \S+: .*Invalid requirement.*"),
        ]:
            with self.subTest(words):
                self.assert_fails(self.setup("--venv", "env", *words), pattern)
                record = record_of(self.work / "env")
                self.assertEqual(record["state"], "failed")
                used = self.run_to_end(support.binary(), "--venv", "env", "x.py", cwd=self.work)
                self.assertEqual(used.code, 1)
                self.assertIn(f"the environment is incomplete: its setup failed: {record['why'][:40]}", used.err)
        # The right hash goes, in the folder that the failures have left.
        (self.work / "hashes.txt").write_text(f"demo==1.2 --hash=sha256:{right}\n")
        self.assert_ok(self.setup("--venv", "env", "-r", "hashes.txt"))

    def test_an_index_that_does_not_answer(self):
        finished = self.setup("--venv", "env", "demo", env={
            "PIP_NO_INDEX": "0", "PIP_FIND_LINKS": "", "PIP_RETRIES": "0",
            "PIP_INDEX_URL": f"http://127.0.0.1:{support.free_port()}/simple"})
        self.assert_fails(finished, r"pip install demo on host \S+: .*No matching distribution found for "
                                    r"demo.*")

    def test_an_import_that_fails_is_named(self):
        self.assert_fails(self.setup("--venv", "env", "sick", "demo"),
                          r"importing in \S+ on host \S+: sick: ModuleNotFoundError: No module named "
                          r"'no_such_library'; load what the environment needs .*")
        self.assertEqual(record_of(self.work / "env")["state"], "failed")
        self.assert_fails(self.setup("--venv", "env", "dead"), r"importing in .*: Python ended with exit code "
                          r"134; its last line: .*")
        self.assert_fails(self.setup("--venv", "env", "--import", "json,nowhere", "sick"),
                          "importing in [^;]*: nowhere: ModuleNotFoundError: [^;]*; load what the environment needs .*")
        self.assert_ok(self.setup("--venv", "env", "--import", "json,demo", "sick", "demo"))
        self.assertEqual(record_of(self.work / "env")["imports"]["demo"], "1.2")

    def test_one_that_was_killed_is_incomplete(self):
        run = self.start("--venv", "env", "slow")
        wait_for(lambda: (self.work / "slow").exists(), "the import test", LIMIT_S)
        self.assert_fails(self.setup("--venv", "env", "demo"), ".*: another toprun setup is building in this folder now; wait until it ends", code=2)
        run.signal(signal.SIGKILL)
        run.process.wait()
        self.assert_fails(self.setup("--venv", "env", "demo"), ".*: another toprun setup is building .*", code=2)
        left = run.processes()
        run.kill_all()
        wait_for(lambda: not any(map(support.is_running, left)), "the end of what was killed", LIMIT_S)
        used = self.run_to_end(support.binary(), "--venv", "env", "x.py", cwd=self.work)
        self.assertEqual(used.code, 1)
        self.assertRegex(used.err, r"toprun: --venv env on host \S+: the environment is incomplete: its setup on \S+ "
                                   r"since \S+ has not ended, or was ended in the middle; build the environment "
                                   r"again with `toprun setup`\n")
        self.assert_ok(self.setup("--venv", "env", "demo"))

    def test_one_whose_command_alone_was_told_to_end_is_incomplete_too(self):
        run = self.start("--venv", "env", "slow")
        wait_for(lambda: (self.work / "slow").exists(), "the import test", LIMIT_S)
        for child in support.children(run.process.pid):
            os.kill(child, signal.SIGTERM)
        self.assertEqual(run.wait(LIMIT_S).code, -signal.SIGTERM)
        self.assertEqual(record_of(self.work / "env")["state"], "building")

    def test_the_job_of_a_setup_is_known_by_its_record(self):
        folder = self.folder()
        for id, state, venv in ((24, "complete", "v"), (25, "failed", "a b"), (26, "complete", "later")):
            (folder / "logs" / str(id)).mkdir(parents=True)
            (folder / venv).mkdir()
            (folder / "logs" / str(id) / "job.sbatch").write_text(
                f"#!/bin/bash\n#SBATCH --chdir={folder}\nset -euo pipefail\n"
                f"exec /opt/toprun setup --on=local --no-config '--venv={venv}' numpy\n")
            (folder / "logs" / f"setup-v.{id}.out").write_text("\n")
            (folder / venv / "toprun-setup.json").write_text(json.dumps(
                {"schema": "toprun.setup/1", "state": state, "job": str(id if id != 26 else 27), "host": "n0", "why": "pip install x: no such package",
                 "begun": "2026-11-29T10:00:00Z", "ended": "2026-11-29T10:00:09Z"}))
        env = {"PATH": "/nowhere", "TZ": "UTC"}
        for id, said in ((24, r"ended with exit code 0 .*\n  times +started 2026-11-29 10:00:00, ended 2026-11-29 10:00:09, ran 0:09\n"),
                         (25, r"failed: pip install x: no such package .*\n  times +started 2026-11-29 10:00:00, ended 2026-11-29 10:00:09"),
                         (26, r"it is not known how it ended \(the later setup of job 27 has replaced its record")):
            finished = self.run_to_end(support.binary(), "status", str(id), cwd=folder, env=env)
            self.assertRegex(finished.out + finished.err, rf"job {id} \(setup-v\)\n  state +{said}")
        finished = self.run_to_end(support.binary(), "jobs", "--recent", cwd=folder, env=env)
        self.assertRegex(finished.out, r"(?s)25 +setup-v .*failed: pip install x.*24 +setup-v .* 0 +ended")

    def test_a_broken_record_is_one_line(self):
        (self.work / "env").mkdir()
        (self.work / "env/toprun-setup.json").write_text("{")
        for words in (["setup", "--on", "local", "--venv", "env"], ["--venv", "env", "x.py"]):
            finished = self.run_to_end(support.binary(), *words, cwd=self.work)
            self.assertEqual(finished.code, 1)
            self.assert_one_line(finished, rf"{self.work}/env/toprun-setup\.json: is not a record of .*; "
                                           "build the environment again: toprun setup --force")

    def test_pip_goes_through_the_proxy(self):
        asked = []
        wheels = self.work / "wheels"

        class Proxy(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                asked.append(self.path)
                name = self.path.rsplit("/", 1)[-1]
                body = ((wheels / name).read_bytes() if name else
                        b'<a href="http://index.invalid/w/demo-1.2-py3-none-any.whl">demo</a>')
                self.send_response(200)
                self.send_header("Content-Type", "text/html" if not name else "application/zip")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_):
                pass

        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Proxy)
        self.addCleanup(server.server_close)
        self.addCleanup(server.shutdown)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        finished = self.setup("--venv", "env", "demo", env={
            "PIP_NO_INDEX": "0", "PIP_FIND_LINKS": "", "PIP_TRUSTED_HOST": "index.invalid",
            "PIP_INDEX_URL": "http://index.invalid/simple", "no_proxy": "", "NO_PROXY": "",
            "http_proxy": f"http://127.0.0.1:{server.server_port}"})
        self.assert_ok(finished)
        self.assertEqual(asked[0], "http://index.invalid/simple/demo/")

    def test_usage(self):
        for words, pattern in [
            ([], "nothing to build: no --venv is given; .*"),
            (["--venv", "env", "demo", "--force"], "--force: comes after the packages; .*"),
            (["--venv", "env", "-r", "none.txt"], "--requirement none.txt: there is no such file; .*"),
            (["--venv", "env", "--import", "a,,b"], "--import a,,b: must be modules separated by commas.*"),
            (["--venv", "env", "--import", "a b"], "--import a b: must be modules separated by commas.*"),
            (["--venv", "env", "--nodes", "2"], "unknown option --nodes.*"),
            (["--on", "moon", "--venv", "env"], "--on moon: toprun builds on slurm or local; .*"),
        ]:
            with self.subTest(words):
                finished = self.setup(*words)
                self.assertEqual((finished.code, finished.out), (2, ""), finished)
                self.assert_one_line(finished, pattern)
        self.assertFalse((self.work / "env").exists())

    def test_images_that_cannot_be_built(self):
        (self.work / "there.sif").touch()
        for words, code, pattern in [
            (["--from", "docker://demo"], 2, "--from docker://demo: --container FILE is missing: it names the "
                                             "image to build; add the option, as in --container pytorch.sif"),
            (["--from", "docker://demo", "--container", "t.img"], 2,
             "--container t.img: must end in .sif or .sqsh; .*"),
            (["--from", "none.tar", "--container", "t.sif"], 2,
             rf"--from {self.work}/none.tar: there is no such file; check the path"),
            (["--from", "docker://demo", "--container", "t.sif", "demo"], 2,
             "--from docker://demo: packages can be added only to a virtual environment, not to an image; .*"),
            (["--from", "docker://demo", "--container", "there.sif"], 2,
             rf"--container {self.work}/there.sif: it already exists, and toprun setup has not .*"),
            (["--from", "docker://demo", "--container", "t.sif"], 1,
             rf"--container {self.work}/t.sif: there is no apptainer and no singularity in PATH; .*"),
            (["--from", "docker://demo", "--container", "t.sqsh"], 1,
             rf"--container {self.work}/t.sqsh: there is no enroot in PATH; .*"),
        ]:
            with self.subTest(words):
                finished = self.setup(*words, env={"PATH": "/nowhere"})
                self.assertEqual((finished.code, finished.out), (code, ""), finished)
                self.assert_one_line(finished, pattern)
        self.assertEqual(json.loads((self.work / "t.sif.toprun-setup.json").read_text())["state"], "failed")

    def test_horovod_without_a_torch(self):
        make_wheel(self.work / "wheels", "wheel", "1.0", {"wheel.py": ""})
        self.assert_fails(self.setup("--venv", "env", "--horovod", "--nccl-home", "/opt/nccl", "demo"),
                          r"the torch that Horovod is built for on host \S+: .*ModuleNotFoundError: No module "
                          r"named 'torch'")
        self.assert_fails(self.setup("--venv", "env", "--horovod=tcp"), "--horovod=tcp: must be nccl, gloo "
                          "or mpi", code=2)
        self.assert_fails(self.setup("--venv", "env", "--nccl-home", "/opt"),
                          "--nccl-home /opt: this option is for Horovod; add --horovod", code=2)

    def test_dry_run_prints_what_would_be_run(self):
        finished = self.setup("--dry-run", "--python", "python3", "--venv", "env", "demo")
        self.assert_ok(finished)
        self.assertEqual(finished.out, f"python3 -m venv {self.work}/env\n{self.work}/env/bin/python -m pip "
                                       "install --no-input --disable-pip-version-check --no-cache-dir "
                                       "demo\n")
        self.assertFalse((self.work / "env").exists())

    def test_slurm_without_a_cluster(self):
        """As on a laptop with Debian's slurm-client."""
        programs = self.folder()
        for name in ("sinfo", "scontrol", "sbatch"):
            (programs / name).write_text("#!/bin/sh\necho 'Could not establish a configuration source' >&2\nexit 1\n")
            (programs / name).chmod(0o755)
        env = {**self.env, "PATH": f"{programs}{os.pathsep}{self.env['PATH']}"}
        for verb, advice in ((["setup", "--venv", "env", "demo"], "; --on local builds on this host, without Slurm"),
                             (["submit", "--no-python", "true"], "")):
            with self.subTest(verb):
                finished = self.begin(support.binary(), *verb, cwd=self.work, env=env).wait(LIMIT_S)
                self.assertEqual(finished.code, 1, finished)
                self.assert_one_line(finished, "cannot ask Slurm: this host does not belong to a cluster; log in where jobs "
                                               "are submitted, or set SLURM_CONF to the cluster's slurm\\.conf" + advice)
        self.assertFalse((self.work / "env").exists())

    def test_dry_run_names_the_python_that_would_be_run(self):
        chosen = str(quick_python() / "python3")
        for words, env in ((["-e", f"PYTHON_EXEC={chosen}"], {}), ([], {"PYTHON_EXEC": chosen})):
            finished = self.setup("--dry-run", "--venv", "env", *words, "demo", env=env)
            self.assert_ok(finished)
            self.assertEqual(finished.out.splitlines()[0], f"{chosen} -m venv {self.work}/env")

    def test_the_project_file_says_what_to_build(self):
        (self.work / "toprun.toml").write_text('venv = "env"\nrequirement = ["r.txt"]\n'
                                               'import = ["demo"]\nnodes = 4\non = "local"\n')
        (self.work / "r.txt").write_text("demo\n")
        (self.work / "below").mkdir()
        finished = self.run_to_end(support.binary(), "setup", cwd=self.work / "below", env=self.env,
                                   limit=LIMIT_S)
        self.assert_ok(finished)
        self.assertEqual(record_of(self.work / "env")["imports"], {"demo": "1.2"})


class AsJob(SubmitCase):
    UP = ("--hosts", "2", "--racks", "1", "--slurm")

    def setUp(self):
        self.work = self.folder()
        self.env = shelf(self.work)

    def setup(self, *words, limit=LIMIT_S):
        return self.begin(*self.cluster.on("ctl", TOPRUN, "setup", *words), cwd=self.work,
                          env=self.env).wait(limit)

    def use(self, *words, **options):
        """A job that imports demo."""
        (self.work / "use.py").write_text("import demo, os\n"
                                          "print('used', demo.__version__, os.getenv('PINNED'))\n")
        return self.submit("--venv", "env", *words, "use.py", cwd=self.work, env=self.env, limit=LIMIT_S,
                           **options)

    def test_submit_waits_for_it(self):
        del self.env["PATH"]
        dry = self.setup("--dry-run", "--venv", "env", "demo")
        self.assert_ok(dry)
        self.assertFalse((self.work / "env").exists())
        finished = self.setup("--venv", "env", "demo")
        self.assert_ok(finished)
        id = finished.out.strip()
        self.assertEqual((self.work / f"logs/{id}/job.sbatch").read_text(), dry.out)
        self.assertIn("#SBATCH --job-name=setup-env\n", dry.out)
        self.assertIn("#SBATCH --nodes=1\n", dry.out)
        again = self.setup("--venv", "env", "demo")
        self.assertEqual(again.code, 2)
        self.assert_one_line(again, rf"--venv {self.work}/env: job {id} is about to build it; .*")
        used = self.use("--after", "setup", "--nodes", "2", "--follow")
        self.assert_ok(used)
        self.assertEqual(used.out.count("used 1.2 None\n"), 2, used)
        record = record_of(self.work / "env")
        self.assertEqual((record["state"], record["job"], record["imports"]),
                         ("complete", id, {"demo": "1.2"}))
        self.assertRegex(record["host"], r"\An[01]\Z")
        later = self.use("--after", "setup", "--dry-run")
        self.assert_ok(later)
        self.assertIn("--after setup: toprun setup has already finished", later.err)
        self.assertNotIn("--dependency", later.out)

    def test_names_that_a_shell_would_take_apart(self):
        name = "it's \"my\" $(touch injected) env; %j"
        finished = self.setup("--wait", "--venv", name, "--import", "demo", "-e", "A=$(touch injected) '",
                              str(self.work / "wheels/demo-1.2-py3-none-any.whl"))
        self.assert_ok(finished)
        self.assertEqual(record_of(self.work / name)["state"], "complete")
        self.assertEqual([path.name for path in self.work.rglob("injected")], [])

    def test_after_one_that_failed(self):
        finished = self.setup("--wait", "--venv", "env", "absent")
        self.assertEqual(finished.code, 1, finished)
        id = finished.out.strip()
        for words in (["--after", "setup"], []):
            used = self.use(*words)
            self.assertEqual((used.code, used.out), (1, ""), used)
            self.assert_one_line(used, rf".*: its setup, job {id}, failed: pip install absent on host n\d: "
                                       r".*No matching distribution found for absent.*")

    def test_after_one_that_was_cancelled(self):
        id = self.setup("--venv", "env", "slow").out.strip()
        wait_for(lambda: (self.work / "slow").exists(), "the import test", LIMIT_S)
        self.login("scancel", id)
        self.wait_for_state(id, "CANCELLED")
        used = self.use("--after", "setup")
        self.assertEqual(used.code, 1)
        self.assert_one_line(used, rf"--after setup: the environment is incomplete: its setup, job {id}, on "
                                   r"n\d since \S+ has not ended, or was ended in the middle; toprun logs "
                                   rf"{id} .*")
        self.assert_ok(self.setup("--wait", "--venv", "env", "demo"))
        self.assert_ok(self.use("--wait"))

    def test_after_none(self):
        for words, pattern in [(["--venv", "env"], "--after setup: toprun setup was never started for .*"),
                               ([], "--after setup: neither --venv nor --container is given; .*")]:
            finished = self.submit("--after", "setup", *words, "--no-python", "true", cwd=self.work)
            self.assertEqual(finished.code, 2, finished)
            self.assert_one_line(finished, pattern)

    @unittest.skipUnless(MODULES.exists(), "environment-modules is not installed")
    def test_it_runs_with_the_modules_of_its_build(self):
        for name in ("python/3.11.2", "python/3.12.1", "other"):
            path = self.work / "modules" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(f"#%Module\nsetenv PINNED {name}\n")
        self.env |= {"MODULEPATH": str(self.work / "modules"), "MODULESHOME": str(MODULES),
                     "LOADEDMODULES": ""}
        self.assert_ok(self.setup("--wait", "--venv", "env", "--modules", "python/3.11.2", "demo"))
        self.assertEqual(record_of(self.work / "env")["modules"], ["python/3.11.2"])
        used = self.use("--follow", "-v")
        self.assert_ok(used)
        self.assertIn("used 1.2 python/3.11.2\n", used.out)
        self.assertIn("modules python/3.11.2, because --venv was built with them", used.out)
        self.assertIn("used 1.2 python/3.11.2\n", self.use("--follow", "--modules", "python/3.11.2").out)
        other = self.use("--modules", "python/3.12.1,other")
        self.assertEqual(other.code, 2, other)
        self.assert_one_line(other, r"--venv env on host ctl: the environment was built with other modules; the "
                                    r"modules now are python/3\.12\.1 instead of python/3\.11\.2, other besides; .*")
        shell = self.login(TOPRUN, "shell", "--modules", "other", "--venv", "env", cwd=self.work,
                           env=self.env)
        self.assertEqual(shell.code, 2, shell)
        self.assert_one_line(shell, r"--venv \S+ on host ctl: the environment was built with other modules; the "
                                    r"modules now are without python/3\.11\.2, other besides; .*")


if __name__ == "__main__":
    unittest.main()
