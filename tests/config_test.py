# ctest: TIMEOUT 300 LABELS cluster
"""toprun.toml: which files count, and that what they say reaches every worker of every kind of run."""

import json
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest

import cluster
import sshd
import support
from cluster import column, shown, shows

TOPRUN = support.TOPRUN
SOMEBODY = 4321  # a user who is neither we nor root


class Local(support.TestCase):
    """On this machine, in a project below a home of its own."""

    def setUp(self):
        support.binary()
        self.home = self.folder()
        self.project = self.home / "project"
        self.below = self.project / "src/deep"
        self.below.mkdir(parents=True)

    def call(self, *words, cwd=None, env=None):
        nobody = {name: "" for name in os.environ if name.startswith(("TOPRUN_", "PET_"))}
        return self.run_to_end(TOPRUN, *words, cwd=cwd or self.below,
                               env={**nobody, "HOME": str(self.home), "XDG_CONFIG_HOME": "",
                                    **(env or {})})

    def write(self, path, text):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        path.chmod(0o644)
        return path

    def project_file(self, text):
        return self.write(self.project / "toprun.toml", text)

    def ranks(self, *words, **options):
        finished = self.call(*words, *shows("RANK", "A", "B"), **options)
        self.assert_ok(finished)
        return shown(finished.out)

    def options(self, *words, **options):
        """What `config show` says: {option: (values, source)}, defaults left out."""
        finished = self.call("config", "show", "--json", *words, **options)
        self.assert_ok(finished)
        picture = json.loads(finished.out)
        self.assertEqual(picture["schema"], "toprun.config/1")
        return {row["name"]: (row["values"], row["source"]) for row in picture["options"]
                if row["kind"] != "default"}

    def files(self, *words, **options):
        picture = json.loads(self.call("config", "show", "--json", *words, **options).out)
        return [(row["kind"], row["path"], row["state"]) for row in picture["files"]]

    def test_the_nearest_parent_counts(self):
        self.write(self.home / "toprun.toml", "nproc-per-node = 4\nrole = 'far'\n")
        self.assertEqual(len(self.ranks()), 4)
        self.project_file("nproc-per-node = 2\n")
        self.assertEqual(len(self.ranks()), 2)
        self.assertEqual(self.options(),
                         {"nproc-per-node": (["2"], f"{self.project}/toprun.toml:1")})

    def test_the_search_ends_at_the_top_of_the_file_system(self):
        support.needs_root()
        self.project_file("role = 'above'\n")
        finished = self.run_to_end(
            "unshare", "-m", "sh", "-c", 'mount -t tmpfs none "$0" && cd "$0" && exec "$@"',
            self.below, TOPRUN, "config", "show", "--json",
            env={"HOME": str(self.home), "XDG_CONFIG_HOME": ""})
        self.assert_ok(finished)
        self.assertEqual([file["path"] for file in json.loads(finished.out)["files"]][0], None)

    def test_a_working_directory_that_is_gone(self):
        finished = self.run_to_end("sh", "-c", 'mkdir gone && cd gone && rmdir ../gone && exec "$@"',
                                   "sh", TOPRUN, "config", "show", cwd=self.below,
                                   env={"HOME": str(self.home)})
        self.assert_ok(finished)
        self.assertRegex(finished.out, r"\Ano file and no variable sets an option\n\n"
                                       r"--all also shows the \d+ defaults of the other options\n")

    def test_only_what_is_set_is_shown_without_all(self):
        self.project_file("role = 'trainer'\n")
        finished = self.call("config", "show", env={"PET_MAX_RESTARTS": "2"})
        self.assert_ok(finished)
        self.assertRegex(finished.out, rf"\AOPTION +VALUE +FROM\nrole +trainer +{self.project}/toprun.toml:1\n"
                                       r"max-restarts +2 +PET_MAX_RESTARTS\n\n--all also shows the \d+ defaults")
        whole = self.call("config", "show", "--all", env={"PET_MAX_RESTARTS": "2"})
        self.assertRegex(whole.out, r"\AOPTION +VALUE +FROM\nnnodes ")
        self.assertNotIn("--all", whole.out)

    def test_all_wrong_keys_are_reported_at_once(self):
        path = self.project_file("fold = 1\nnodse = 2\ntime = true\n[profile.x]\nnod = 1\n")
        for words in (("--no-python", "true"), ("config", "show")):
            finished = self.call(*words)
            self.assertEqual((finished.code, finished.out), (2, ""))
            self.assertEqual([line.split(": ")[:2] for line in finished.err.splitlines()],
                             [["toprun", f"{path}:{place}"] for place in ("1:8", "2:1", "3:8", "5:1")])

    def test_a_flag_goes_before_a_variable_before_a_file(self):
        self.project_file("nproc-per-node = 2\nenv = { A = 'file', B = 'file' }\n")
        for words, env, count in [((), {}, 2), ((), {"PET_NPROC_PER_NODE": "3"}, 3),
                                  (("--nproc-per-node=1",), {"PET_NPROC_PER_NODE": "3"}, 1),
                                  (("--no-config", "--nproc-per-node=1"), {}, 1)]:
            with self.subTest(words=words, env=env):
                self.assertEqual(len(self.ranks(*words, env=env)), count)
        row = self.ranks("-e", "A=flag", env={"A": "environment", "B": "environment"})[0]
        self.assertEqual((row["A"], row["B"]), ("flag", "file"))

    def test_project_user_and_system_file(self):
        support.needs_root()
        self.project_file("role = 'project'\n")
        user = self.write(self.home / ".config/toprun/toprun.toml", "role = 'user'\ntee = 1\n")
        etc = self.folder()  # this case's own /etc, in a mount namespace of its own
        shutil.copytree("/etc", etc / "etc", symlinks=True)
        self.write(etc / "etc/toprun.toml", "role = 'system'\ntee = 2\nredirects = 1\n")
        finished = self.run_to_end(
            "unshare", "-m", "sh", "-c", 'mount --bind "$0" /etc && exec "$@"', etc / "etc",
            TOPRUN, "config", "show", "--json", cwd=self.project,
            env={"HOME": str(self.home), "XDG_CONFIG_HOME": ""})
        self.assert_ok(finished)
        rows = {row["name"]: (row["values"], row["source"])
                for row in json.loads(finished.out)["options"]}
        self.assertEqual([rows[name] for name in ("role", "tee", "redirects")],
                         [(["project"], "toprun.toml:1"), (["1"], f"{user}:2"),
                          (["1"], "/etc/toprun.toml:3")])

    def test_the_user_file_follows_xdg_config_home(self):
        user = self.write(self.home / "elsewhere/toprun/toprun.toml", "tee = 1\n")
        env = {"XDG_CONFIG_HOME": str(self.home / "elsewhere")}
        self.assertEqual(self.options(env=env), {"tee": (["1"], f"{user}:1")})

    def test_a_file_that_somebody_else_could_have_written(self):
        support.needs_root()
        path = self.project_file("nproc-per-node = 2\n")
        for owner, mode, why in [
                (SOMEBODY, 0o644, f"it belongs to user {SOMEBODY}, neither to you nor to root"),
                (0, 0o666, "every user may write to it"), (0, 0o664, None), (0, 0o600, None)]:
            with self.subTest(owner=owner, mode=oct(mode)):
                os.chown(path, owner, -1)
                path.chmod(mode)
                finished = self.call("--dry-run", "--no-python", "true")
                self.assert_ok(finished)
                line = (f"toprun: {path} is ignored: {why}; --config-file {path} reads it "
                        "anyway\n")
                self.assertEqual(line in finished.err, why is not None, finished.err)
                self.assertIn(("project", str(path), "read" if why is None else "ignored"),
                              self.files())
                self.assertEqual(len(self.ranks("--config-file", path)), 2)

    def test_what_lies_there_and_is_no_file(self):
        os.mkfifo(self.project / "toprun.toml")  # nobody may be kept waiting
        finished = self.call("--dry-run", "--no-python", "true")
        self.assert_ok(finished)
        self.assertIn("is ignored: it is not a regular file", finished.err)

    def test_what_cannot_be_read_stops_nobody(self):
        support.needs_root()
        path = self.project / "toprun.toml"
        own = self.write(self.project / "own.toml", "nproc-per-node = 2\n")
        for target, owner, why in [
                ("/no/such/file", 0, r"it cannot be read \(No such file or directory\)"),
                ("/no/such/file", SOMEBODY, rf"the link {path}: it belongs to user {SOMEBODY}, .*"),
                (own, SOMEBODY, rf"the link {path}: it belongs to user {SOMEBODY}, .*"),
                (own, 0, None)]:
            with self.subTest(target=target, owner=owner):
                path.unlink(missing_ok=True)
                path.symlink_to(target)
                os.lchown(path, owner, -1)
                finished = self.call("--dry-run", "--no-python", "true")
                self.assert_ok(finished)
                if why is None:
                    self.assertNotIn("ignored", finished.err)
                else:
                    self.assertRegex(finished.err, rf"(?m)^toprun: {path} is ignored: {why}; ")

    def test_relative_paths_begin_in_the_files_folder(self):
        subprocess.run(["python3", "-m", "venv", "--without-pip", self.project / "env"], check=True)
        self.project_file('venv = "env"\nlog-dir = "logs"\ntee = 1\n')
        finished = self.call("--no-python", "sh", "-c", "echo $VIRTUAL_ENV")
        self.assert_ok(finished)
        self.assertIn(f"{self.project}/env", finished.out)
        self.assertEqual(len(list((self.project / "logs").rglob("stdout.log"))), 1)

    def test_profiles(self):
        self.project_file("default-profile = 'two'\nnproc-per-node = 1\n[profile.two]\n"
                          "nproc-per-node = 2\n[profile.three]\nnproc-per-node = 3\n")
        self.assertEqual(len(self.ranks()), 2)
        self.assertEqual(len(self.ranks("--profile", "three")), 3)
        self.assertIn(f"profile two, chosen by {self.project}/toprun.toml:1; the files have three, two\n",
                      self.call("config", "show").out)
        self.assertEqual(len(self.ranks(env={"TOPRUN_PROFILE": "three"})), 3)
        finished = self.call("--profile", "tow", "--no-python", "true")
        self.assertEqual(finished.code, 2)
        self.assert_one_line(finished, r"--profile tow: \S+/toprun.toml has no profile tow; "
                                       r"did you mean two\?")

    def test_errors_are_one_line_with_the_place(self):
        for text, line in [
                ("nproc-per-nod = 2\n", "1:1: unknown key nproc-per-nod; did you mean nproc-per-node?"),
                ("\nfold = 'x'\n", "2:8: fold cannot be a string; write true or false"),
                ("tee = 9\n", "1: tee = 9: must be 0 (none), 1 (stdout)"),
                ("tee = \n", "1:7: expected a value after =;"),
                ("nodes = 1\nnodes = 2\n", "2:9: nodes is set twice;"),
                ("nodes: 1\n", "1:6: expected = after the key, as in key = value;"),
                ("modules = ['a' 'b']\n", "1:16: expected a comma or the ] that closes the list;"),
                ("[profile.a\n", "1:11: expected ] at the end of the table's name;"),
                ("nodes = 1\nvenv = \"env\n", "2:8: the string that begins here has no closing quote")]:
            with self.subTest(text):
                path = self.project_file(text)
                for words in (("--no-python", "true"), ("submit", "--dry-run", "a.py"),
                              ("config", "show")):
                    finished = self.call(*words)
                    self.assertEqual(finished.code, 2, finished)
                    self.assertTrue(finished.err.startswith(f"toprun: {path}:{line}"), finished)
                    self.assertEqual(finished.err.count("\n"), 1)

    def test_files_that_cannot_be_read(self):
        finished = self.call("--config-file", "none.toml", "--no-python", "true")
        self.assertEqual(finished.code, 2)
        self.assert_one_line(finished, "cannot read none.toml: No such file or directory; check the "
                                       "path")
        path = self.project_file("#" * (1 << 20) + "\n")
        finished = self.call("--no-python", "true")
        self.assertEqual(finished.code, 2)
        self.assert_one_line(finished, f"cannot read {path}: the file is larger than 1048576 bytes; "
                                       "--no-config ignores the file")

    def test_no_project_has_a_say_under_torchruns_name(self):
        self.project_file("no such key = 1")
        (self.home / "torchrun").symlink_to(TOPRUN)
        finished = self.run_to_end(self.home / "torchrun", "--no-python", "echo", "ran", cwd=self.project)
        self.assert_ok(finished)
        self.assertEqual(finished.out, "ran\n")

    def test_secrets_are_not_shown(self):
        self.project_file("env = { WANDB_API_KEY = 'abc', A = '1' }\n")
        for words in ((), ("--json",)):
            finished = self.call("config", "show", *words)
            self.assertIn("WANDB_API_KEY=<secret>", finished.out)
            self.assertIn("A=1", finished.out)

    def test_verbose_says_what_files_gave(self):
        self.project_file("role = 'r'\nenv = { HF_TOKEN = 'x', A = '1' }\nfold = true\n")
        finished = self.call("-v", "--no-python", "true")
        self.assert_ok(finished)
        for line in ("2: env = A=1", "2: env = HF_TOKEN=<secret>", "1: role = r", "3: fold = true"):
            self.assertIn(f"toprun: {self.project}/toprun.toml:{line}\n", finished.err)

    def test_the_manuals_example(self):
        text = (support.REPOSITORY / "docs/reference/config.md").read_text()
        self.project_file(re.search(r"```toml\n(.*?)```", text, re.S)[1])
        self.assertEqual(self.options("submit", "--profile", "debug")["nodes"][0], ["1"])
        self.assertEqual(self.options("run")["modules"][0], ["cuda/12", "gcc"])

    def test_init_without_an_engine(self):
        env = {"PATH": "/nowhere"}
        finished = self.call("config", "init", cwd=self.project, env=env)
        self.assert_ok(finished)
        self.assertRegex(finished.err, r"\Atoprun: warning: .*\ntoprun: wrote toprun\.toml, with examples to fill in, "
                                       r"because no cluster answered; toprun config show submit .*\n\Z")
        self.assertEqual(self.options(), {})
        text = (self.project / "toprun.toml").read_text()
        self.assertEqual(self.options("submit", "--profile", "debug")["nodes"][0], ["1"])
        again = self.call("config", "init", cwd=self.project, env=env)
        self.assertEqual(again.code, 2)
        self.assert_one_line(again, "toprun.toml: it already exists; --force replaces the file; -o - prints the new text instead")
        printed = self.call("config", "init", "--output", "-", cwd=self.project, env=env)
        self.assertEqual(printed.out, text)
        (self.project / "toprun.toml").write_text("")
        self.assert_ok(self.call("config", "init", "--force", cwd=self.project, env=env))
        self.assertEqual((self.project / "toprun.toml").read_text(), text)


    def test_init_for_an_engine_that_is_not_installed(self):
        for engine, program in (("runai", "runai"), ("kubernetes", "kubectl")):
            with self.subTest(engine):
                finished = self.call("config", "init", "--on", engine, "-o", "-", cwd=self.project,
                                     env={"PATH": "/nowhere"})
                self.assert_ok(finished)
                self.assertIn(f"toprun: warning: engine {engine}: {program} is not in PATH; ", finished.err)
                self.assertIn(f'\non = "{engine}"\n', finished.out)
                self.assertNotIn("partition", finished.out)


class Jobs(cluster.SlurmCase):
    """In a real Slurm and over a real sshd: what the front has read, its agents are told."""

    UP = ("--hosts", "2", "--racks", "2", "--slurm")
    HOSTS = ["n0", "n1"]

    @classmethod
    def setUpClass(cls):
        support.needs_root()
        support.needs_program("/usr/sbin/sshd")
        super().setUpClass()

    def setUp(self):
        self.project = self.folder()

    def project_file(self, text):
        (self.project / "toprun.toml").write_text(text)

    def at_login(self, *words, env=None):
        run = self.begin(*self.cluster.on("ctl", *words), cwd=self.project,
                         env={"PYTHON_EXEC": shutil.which("python3"), **(env or {})})
        finished = run.wait(60)
        self.assert_nothing_left(run)
        return finished

    def test_a_step_of_our_own(self):
        # Only the front has what a shell puts behind /dev/fd: an agent that read it would fail.
        self.project_file("nproc-per-node = 2\nenv = { A = 'two words' }\n")
        line = ('"$0" --config-file <(cat toprun.toml) --no-python sh -c '
                "'echo \"shown RANK=$RANK NODE=$TOPRUN_NODE_NAME A=[$A]\" | tr \" \" _; true'")
        finished = self.at_login("salloc", "-N2", "bash", "-c", line, TOPRUN)
        self.assert_ok(finished)
        self.assertEqual(sorted(finished.out.split()), [
            f"shown_RANK={rank}_NODE=n{rank // 2}_A=[two_words]" for rank in range(4)])

    def test_secrets_are_in_no_command_line_and_no_script(self):
        self.project_file("nodes = 2\nnnodes = 2\nenv = { HF_TOKEN = 'very secret', A = '1' }\n")
        works = shows("RANK", "A", then='echo "[$HF_TOKEN]"; tr "\\0" " " < /proc/$PPID/cmdline')
        finished = self.at_login("salloc", "-N2", TOPRUN, *works)
        self.assert_ok(finished)
        self.assertEqual(finished.out.count("[very secret]"), 2)
        self.assertEqual(finished.out.count(" --env=HF_TOKEN "), 2)
        self.assertEqual(finished.out.count("very secret"), 2)
        submitted = self.at_login(TOPRUN, "submit", "--wait", *works)
        self.assert_ok(submitted)
        id = submitted.out.strip()
        self.assertNotIn("very secret", (self.project / f"logs/{id}/job.sbatch").read_text())
        text = (self.project / f"logs/bash.{id}.out").read_text()
        self.assertEqual(text.count("[very secret]"), 2)
        self.assertEqual(text.count("very secret"), 2)

    def test_a_variable_keeps_its_rank_on_the_nodes(self):
        self.project_file("nproc-per-node = 3\n")
        finished = self.at_login("salloc", "-N2", TOPRUN, *shows("RANK"),
                                 env={"PET_NPROC_PER_NODE": "1"})
        self.assert_ok(finished)
        self.assertEqual(column(shown(finished.out), "RANK"), ["0", "1"])

    def test_fewer_nodes_than_the_job_has(self):
        for said, count in [("nnodes = 1", 1), ("nnodes = 2", 2), ("nnodes = '1:2'", 2)]:
            with self.subTest(said):
                self.project_file(said)
                finished = self.at_login("salloc", "-N2", TOPRUN, "--nproc-per-node=1",
                                         *shows("RANK", "WORLD_SIZE", "TOPRUN_STEP"))
                self.assert_ok(finished)
                rows = shown(finished.out)
                self.assertEqual(column(rows, "WORLD_SIZE"), [str(count)] * count)
                self.assertEqual(set(column(rows, "TOPRUN_STEP")), {"unset"})

    def test_hosts_over_ssh(self):
        keys = pathlib.Path(tempfile.mkdtemp(prefix="toprun-ssh-"))
        self.addCleanup(shutil.rmtree, keys, ignore_errors=True)
        daemons = sshd.Daemons(self.cluster, self.HOSTS, keys)
        self.addCleanup(daemons.stop_all)
        daemons.start_all()
        for host in self.HOSTS:  # an agent that looked for its user's file would fail
            (keys / f"home/{host}/.config/toprun").mkdir(parents=True)
            (keys / f"home/{host}/.config/toprun/toprun.toml").write_text("not toml")
        self.project_file("hosts = ['n0:2', 'n1']\nenv = { A = '1', MY_TOKEN = 'x' }\n")
        finished = self.at_login(TOPRUN, *shows("RANK", "ON_HOST", "A", "MY_TOKEN"),
                                 env={"TOPRUN_SSH": daemons.ssh()})
        self.assert_ok(finished)
        rows = shown(finished.out)
        self.assertEqual(column(rows, "ON_HOST"), ["n0", "n0", "n1"])
        self.assertEqual(column(rows, "A"), ["1"] * 3)
        self.assertEqual(column(rows, "MY_TOKEN"), ["x"] * 3)

    def test_a_submitted_job_is_what_the_files_said(self):
        self.project_file("nodes = 1\nnproc-per-node = 2\n[profile.big]\nnodes = 2\n"
                          "env = { A = 'x y' }\n")
        words = ["submit", "--profile", "big", *shows("RANK", then='echo "[$A]"')]
        dry = self.at_login(TOPRUN, *words[:1], "--dry-run", *words[1:])
        self.assert_ok(dry)
        self.assertIn("#SBATCH --nodes=2\n", dry.out)
        self.assertIn("toprun: --nodes 2: toprun.toml:4\n", dry.err)
        last = dry.out.splitlines()[-1]
        self.assertIn(" --no-config '--env=A=x y' --nproc-per-node=2 --no-python bash -c ", last)
        submitted = self.at_login(TOPRUN, *words[:1], "--wait", *words[1:])
        self.assert_ok(submitted)
        text = (self.project / f"logs/bash.{submitted.out.strip()}.out").read_text()
        self.assertEqual(column(shown(text), "RANK"), ["0", "1", "2", "3"])
        self.assertEqual(text.count("[x y]"), 4)

    def test_a_shell(self):
        self.project_file("nodes = 2\nqos = 'x'\nenv = { A = '1', MY_TOKEN = 'y' }\n")
        finished = self.at_login(TOPRUN, "shell", "--dry-run", "--qos", "z")
        self.assert_ok(finished)
        for word in ("--nodes=2", "--qos=z", "--env=A=1", "--env=MY_TOKEN"):
            self.assertIn(word, finished.out.split())

    def test_a_shells_beginning_on_its_node_reads_no_file(self):
        front = "nodes = 2\nenv = { A = '1', MY_TOKEN = 'y' }\n"
        (self.project / "front.toml").write_text(front)
        self.project_file("not toml")
        shell = self.project / "shell"
        shell.write_text('#!/bin/sh\necho "shell $A $MY_TOKEN $SLURM_NNODES"\n')
        shell.chmod(0o755)
        finished = self.at_login(TOPRUN, "shell", "--config-file", "front.toml",
                                 env={"SHELL": str(shell)})
        self.assert_ok(finished)
        self.assertIn("shell 1 y 2\n", finished.out)

    def test_init_knows_the_cluster(self):
        finished = self.at_login(TOPRUN, "config", "init")
        self.assert_ok(finished)
        text = (self.project / "toprun.toml").read_text()
        self.assertIn("#   main (default): 2 nodes with ", text)
        for verb in ("run", "submit", "shell"):
            checked = self.at_login(TOPRUN, "config", "show", verb)
            self.assert_ok(checked)
            self.assertEqual(checked.err, "")
            self.assertRegex(checked.out, rf"project +{self.project}/toprun.toml +read")
        opened = text.replace('# partition = "main"', 'partition = "main"')
        self.assertNotEqual(opened, text)
        self.project_file(opened)
        dry = self.at_login(TOPRUN, "submit", "--dry-run=server", "--no-python", "true")
        self.assert_ok(dry)
        self.assertIn("#SBATCH --partition=main\n", dry.out)


if __name__ == "__main__":
    unittest.main()
