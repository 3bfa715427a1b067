# ctest: TIMEOUT 300
"""Each option of the table that a job's script, salloc's line or a set-up hands on, and each variable: from the
list that the help gives, so that one more needs a row here."""

import functools
import json
import pathlib
import shutil
import sys
import tempfile
import unittest

import command_lines
import support

# What an option is given here; a switch gets nothing, all others 1.
VALUES = {
    "--order": "name", "--topology": "name:a(.)", "--fabric": "off", "--fabric-proof": "off", "--parallel": "tp=2",
    "--model": "7B", "--traffic": "tp=1G", "--link": "rack=400", "--numa-binding": "node", "--via": "mpirun",
    "--launcher": "mpirun", "--rdzv-backend": "c10d", "--rdzv-conf": "a=b", "--env": "A=b", "--venv": "env",
    "--conda": "envs/c", "--environment": "./e.toml", "--container-runtime": "podman", "--container-workdir": "/w",
    "--container-env": "A", "--grow": "now", "--signals-to-handle": "SIGTERM", "--hang-timeout": "60",
    "--on-hang": "abort", "--start-method": "spawn", "--event-log-handler": "null", "--chdir": "below",
    "--slurm-arg": "--nice=7", "--requirement": "needs.txt", "--horovod": "gloo", "--nccl-home": "below",
    "--from": "docker://a", "--bind": "/a:/b:ro", "--signal": "B:USR1@60", "--nodes": "3", "--nnodes": "3", "--exclusive": "user", "--requeue": "expedite",
    "--switches": "1@5", "--segment": "2"}
OF_A_VERB = {("setup", "--venv"): "new"}
# What it goes along with.
BESIDE = {"--model": ["--parallel=tp=2"], "--traffic": ["--parallel=tp=2"], "--link": ["--parallel=tp=2"],
          "--ranks-per-node": ["--launcher=mpirun"], "--nccl-home": ["--horovod=nccl"], "--from": ["--container=a.sif"],
          "--segment": ["--nnodes=4"], "--nproc-per-node": ["--nnodes=2"], "--bind": ["--container=docker://a"],
          "--container-workdir": ["--container=docker://a"], "--container-env": ["--container=docker://a"],
          "--container-name": ["--container=docker://a"], "--container-root": ["--container=docker://a"],
          "--container-runtime": ["--container=docker://a"], "--writable": ["--container=docker://a"], "--no-gpu": ["--container=docker://a"]}
OF_PODS = (
    "--operator", "--namespace", "--queue", "--scheduler", "--priority-class", "--node-pool", "--node-selector",
    "--toleration", "--required-topology-key", "--preferred-topology-key", "--pvc", "--annotation", "--project",
    "--runai-cli", "--extended-resource", "--shm", "--host-network", "--ipc-lock", "--toprun-image", "--runtime")
# Where the words that are handed on are others: HERE is the folder.
HANDED = {("shell", "--chdir"): "--chdir=below", "--slurm-arg": "--nice=7", "--log-dir": "HERE/1/", "--chdir": "--chdir=HERE/below",
          ("shell", "--venv"): "--venv=HERE/env", ("shell", "--conda"): "--conda=HERE/envs/c",
          ("setup", "--venv"): "--venv=new"}
# Told instead of done, in words that name it.
REFUSED = {
    "submit": {"--hosts": "it names hosts for ssh", "--hostfile": "it names hosts for ssh",
               "--node-rank": "the same line runs on every node", "--interactive": "a job of Slurm's is a shell's",
               "--logs-specs": "names Python code"}}
ESSENTIAL = ("--from",)  # what they go along with is no call without them
# Not handed on, and told.
LEFT_OUT = {("shell", "--segment"): "Slurm knows it with topology/block only"}
# Which other file tries them: they do something else than to hand on a word.
ELSEWHERE = {"--after": "after", "--attach": "shell", "--wait": "submit", "--follow": "submit", "--on": "submit",
             "--profile": "config", "--config-file": "config", "--no-config": "config", "--verbose": "shell"}
OF_THEMSELVES = ("--dry-run", "--help", "-h", "--no-python", "--module")


class EveryOption(support.TestCase):
    @classmethod
    def setUpClass(cls):
        links = pathlib.Path(tempfile.mkdtemp(prefix="toprun-test-"))
        cls.addClassCleanup(shutil.rmtree, links)
        for name in ("toprun", "torchrun"):
            (links / name).symlink_to(pathlib.Path(support.binary()).resolve())
        cls.table = command_lines.table_of(links / "toprun")

    def setUp(self):
        self.here = self.folder()
        (self.here / "train.py").write_text("print(1)\n")
        (self.here / "e.toml").write_text('image = "docker://a"\n')
        (self.here / "needs.txt").write_text("numpy\n")
        (self.here / "below").mkdir()
        for environment in ("env", "envs/c"):
            (self.here / environment / "bin").mkdir(parents=True)
            (self.here / environment / "bin/python").symlink_to(sys.executable)
        (self.here / "envs/c/conda-meta").mkdir()
        (self.here / "envs/c/conda-meta/history").touch()

    def call(self, *words, **env):
        return self.run_to_end(support.binary(), *words, cwd=self.here,
                               env={"XDG_CONFIG_HOME": str(self.here), "CONDA_ENVS_PATH": str(self.here / "envs"), **env})

    def value(self, verb, option):
        return "1" if option.value == "no" else OF_A_VERB.get((verb, option.name), VALUES.get(option.name, "1"))

    def word(self, verb, option):
        return option.name if option.value == "no" else f"{option.name}={self.value(verb, option)}"

    def beside(self, verb, option):
        words = BESIDE.get(option.name, [])
        return [word for word in words if word.split("=")[0] in {known.name for known in self.table.known[verb]}]

    def options(self, verb):
        return [option for option in self.table.known[verb]
                if option.name not in (*ELSEWHERE, *OF_THEMSELVES)]


class Variables(EveryOption):
    def beside_by_variables(self, verb, option):
        given = dict(word.split("=", 1) for word in self.beside(verb, option))
        return {known.variables[0]: given[known.name] for known in self.table.known[verb] if known.name in given}

    def check(self, verb):
        for option in self.options(verb):
            for variable in option.variables:
                with self.subTest(verb, variable=variable):
                    value = self.value(verb, option)
                    shown = self.call("config", "show", verb, "--json",
                                      **self.beside_by_variables(verb, option), **{variable: value})
                    if (why := REFUSED.get(verb, {}).get(option.name)) and shown.code:
                        self.assertEqual(shown.code, 2)
                        self.assert_one_line(shown, f"{variable}.*{why}.*")
                        continue
                    self.assert_ok(shown)
                    found = [(row["kind"], row["source"], row["values"]) for row in json.loads(shown.out)["options"]
                             if f"--{row['name']}" == option.name]
                    self.assertEqual(len(found), 1)
                    self.assertEqual(found[0][:2], ("variable", variable))
                    self.assertIn(found[0][2], (value.split(","), [value], ["true"]))

    def test_of_run(self):
        self.check("run")

    def test_of_submit(self):
        self.check("submit")

    def test_of_shell(self):
        self.check("shell")

    def test_of_setup(self):
        self.check("setup")


class HandedOn(EveryOption):
    def handed(self, verb, words, code=0):
        line = {"submit": ["--on=slurm", *words, self.here / "train.py"], "shell": words,
                "setup": ["--on=slurm", *words]}[verb]
        if verb == "setup" and not any(word.startswith("--container=a") for word in words):
            line += [*([] if any(word.startswith("--venv=") for word in words) else ["--venv=v"]), "numpy"]
        done = self.call(verb, "--dry-run", *line)
        self.assertEqual(done.code, code, done)
        return done

    @functools.cache
    def lines_without(self, verb, *beside):
        return self.handed(verb, beside).out.splitlines()

    def check(self, verb):
        options = self.options(verb)
        self.assertGreater(len(options), 20)
        for option in options:
            word, beside = self.word(verb, option), self.beside(verb, option)
            with self.subTest(verb, option=word):
                if why := "is for pods alone" if option.name in OF_PODS else REFUSED.get(verb, {}).get(option.name):
                    done = self.handed(verb, [*beside, word], code=2)
                    self.assertRegex(done.err, f"{option.name}.* {why}")
                elif why := LEFT_OUT.get((verb, option.name)):
                    self.assertRegex(self.handed(verb, [*beside, word]).err, f"{option.name}.* {why}")
                else:
                    with_it = self.handed(verb, [*beside, word]).out.splitlines()
                    without = [] if option.name in ESSENTIAL else self.lines_without(verb, *beside)
                    new = " ".join(line for line in with_it if line not in without).replace("'", "")
                    wanted = HANDED.get((verb, option.name)) or HANDED.get(option.name) or word
                    self.assertIn(wanted.replace("HERE", str(self.here)), new)

    def test_by_submit_to_slurm(self):
        self.check("submit")

    def test_by_shell(self):
        self.check("shell")

    def test_by_setup(self):
        self.check("setup")


if __name__ == "__main__":
    unittest.main()
