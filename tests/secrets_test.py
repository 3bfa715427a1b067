# ctest: TIMEOUT 300
"""Secrets of an environment in what toprun writes: none is found in a manifest, a job script, the words of another
program, a file, or what is printed, whatever the engine. Stand-ins record what they are given."""

import base64
import json
import os
import random
import re
import shlex
import string
import unittest

import support

COUNT = 200
BATCH = 20
IMAGE = ("--gpus-per-node", "0", "--container", "docker://registry.example/image:1")
OPERATORS = ("pytorchjob", "trainjob", "jobset")
NAMES = ["HF_TOKEN", "{}_TOKEN", "{}_PASSWORD", "{}_SECRET", "{}_SECRET_KEY", "{}_API_KEY", "AWS_{}", "{}_KEY", "{}_PASS",
         "{}_PASSPHRASE", "SECRET_{}_VALUE", "{}_ACCESS_KEY_ID", "{}_PWD", "{}_PAT", "{}_CREDENTIALS", "lower_{}_token",
         "{}TOKEN", "{}PASSWORD"]
PLAIN = ["RUN_{}", "PLAIN_{}", "{}_SETTING"]
# A stand-in of each program: it keeps its words, and its standard input apart, because secrets may go that way.
STAND_IN = """#!/usr/bin/python3
import json, os, pathlib, sys
folder = pathlib.Path({folder!r})
name, words = pathlib.Path(sys.argv[0]).name, sys.argv[1:]
number = len(list(folder.glob("*.argv")))
(folder / f"{{number:04}}.{{name}}.argv").write_text("\\0".join(words))
text = "" if sys.stdin.isatty() or name in ("ssh", "mpirun") else sys.stdin.read()
if text:
    (folder / f"{{number:04}}.{{name}}.stdin").write_text(text)
if name == "sbatch":
    print(17)
if name == "kubectl" and words[0] == "api-resources":
    print("pytorchjobs.kubeflow.org\\ntrainjobs.trainer.kubeflow.org\\njobsets.jobset.x-k8s.io")
if name == "kubectl" and words[0] == "create":
    item = json.loads(text)
    kind, told = item["kind"], item["metadata"].get("name", "train-x7k2p")
    if "json" in words:
        item["metadata"].update(name=told, uid="1234")
        print(json.dumps(item))
    else:
        print(f"{{kind.lower()}}/{{told}}")
if name == "runai" and words == ["version"]:
    print(os.environ.get("RUNAI_VERSION", ""))
if name == "mpirun" and words == ["--version"]:
    print("mpirun (Open MPI) 4.1.6")
if name in ("ssh", "mpirun"):
    sys.exit(1)
"""


def letters(chance, count, alphabet=string.ascii_letters + string.digits):
    return "".join(chance.choices(alphabet, k=count))


def with_form(chance):
    """A value that shows by its form what it is."""
    return chance.choice([
        lambda: "hf_" + letters(chance, 34, string.ascii_letters),
        lambda: "ghp_" + letters(chance, 36),
        lambda: "github_pat_" + letters(chance, 60),
        lambda: "AKIA" + letters(chance, 16, string.ascii_uppercase + "234567"),
        lambda: "glpat-" + letters(chance, 20),
        lambda: "sk-" + letters(chance, 24) + "7a",
        lambda: "xoxb-" + letters(chance, 12, string.digits) + "-" + letters(chance, 24),
        lambda: ".".join(base64.urlsafe_b64encode(part).decode().rstrip("=") for part in (
            b'{"alg":"HS256"}', json.dumps({"sub": letters(chance, 20)}).encode(), chance.randbytes(32))),
        lambda: "-----BEGIN PRIVATE KEY-----\n" + letters(chance, 64) + "\n-----END PRIVATE KEY-----\n",
        lambda: f"https://ada:{letters(chance, 12)}@proxy.example:3128",
        lambda: f"ada:{letters(chance, 12)}@proxy.example",
        lambda: "https://hooks.slack.com/services/" + letters(chance, 24),
        lambda: chance.randbytes(20).hex(),
        lambda: base64.b64encode(chance.randbytes(33)).decode(),
        lambda: letters(chance, 40)])()


def secrets(chance):
    """Names and values: a secret by its name has any value, another has one of these forms."""
    found = {}
    while len(found) < COUNT:
        by_name = chance.random() < 0.5
        name = chance.choice(NAMES if by_name else PLAIN).format(letters(chance, 5, string.ascii_uppercase))
        value = "zq" + letters(chance, chance.randrange(6, 20)) if by_name else with_form(chance)
        found[name] = value
    return found


def batches(found):
    items = list(found.items())
    return [dict(items[i:i + BATCH]) for i in range(0, len(items), BATCH)]


def parts(value):
    """What must not be found: of a long value a piece will do, of base64 and JSON no form of it either."""
    pieces = [line for line in value.splitlines() if "-----" not in line]
    found = [piece for piece in pieces if piece]
    found += [base64.b64encode(value.encode()).decode(), json.dumps(value)[1:-1], shlex.quote(value)]
    return found


class Secrets(support.TestCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.seed = int(os.environ.get("TOPRUN_SEED") or 39)  # the same each day: random text may look like a name
        cls.found = secrets(random.Random(cls.seed))

    def setUp(self):
        super().setUp()
        self.bin = self.folder()
        self.seen = self.folder()
        for name in ("sbatch", "sinfo", "scontrol", "kubectl", "runai", "ssh", "mpirun"):
            program = self.bin / name
            program.write_text(STAND_IN.format(folder=str(self.seen)))
            program.chmod(0o755)
        self.work = self.folder()
        (self.work / "train.py").write_text("pass\n")

    def call(self, *words, env=None, **variables):
        return self.toprun(*words, cwd=self.work, env={
            "PATH": f"{self.bin}:{os.environ['PATH']}", "HOME": str(self.work), "TOPRUN_SSH": str(self.bin / "ssh"),
            **(env or {}), **variables})

    def assert_unseen(self, values, finished, told=()):
        """No value in what was printed, in the recorded words and inputs, or in files. Of the inputs Secrets are left
        out, and of the files those in `told`, which the user has written."""
        texts = {"stdout": finished.out, "stderr": finished.err}
        for path in self.seen.iterdir():
            text = path.read_text()
            if path.suffix == ".stdin" and path.name.endswith("kubectl.stdin") and '"kind":"Secret"' in text.replace(" ", ""):
                continue
            texts[path.name] = text
        for path in self.work.rglob("*"):
            if path.is_file() and path.name not in told:
                texts[str(path)] = path.read_text(errors="replace")
        for where, text in texts.items():
            for name, value in values.items():
                for part in parts(value):
                    self.assertNotIn(part, text, f"{name} of TOPRUN_SEED={self.seed} in {where}")

    def forget(self):
        for path in self.seen.iterdir():
            path.unlink()

    def names(self, batch):
        return [word for name in batch for word in ("-e", name)]

    def pairs(self, batch):
        return [word for name, value in batch.items() for word in ("-e", f"{name}={value}")]

    def test_slurm(self):
        for batch in batches(self.found):
            for words, env in ((self.names(batch), batch), (self.pairs(batch), {}),
                               ([word for name in batch for word in ("--secret-env", name)], batch)):
                for more in ((), ("--dry-run",)):
                    finished = self.call("submit", *more, *words, "train.py", env=env)
                    self.assert_ok(finished)
                    self.assert_unseen(batch, finished)
                    self.assertEqual("before `sbatch FILE`, set the variable" in finished.err, bool(more), finished)
            script = next(self.seen.glob("*.sbatch.stdin")).read_text()
            for name in batch:
                self.assertIn(f"--env={name}", script)
            self.forget()

    def test_by_e_on_pods_each_is_refused_by_its_name(self):
        for batch in batches(self.found):
            for engine, more in (("kubernetes", ("--operator", "jobset")), ("kubernetes", ()), ("runai", ())):
                for words, env in ((self.names(batch), batch), (self.pairs(batch), {})):
                    finished = self.call("submit", "--on", engine, *more, *IMAGE, *words, "train.py", env=env)
                    self.assertEqual(finished.code, 2, finished)
                    self.assert_one_line(finished, " ".join(f"-e {name}" for name in batch) + ": everyone .*--secret-env .*")
                    self.assert_unseen(batch, finished)
        self.assertEqual(list(self.seen.glob("*.stdin")), [])

    def test_one_by_one(self):
        """None hides behind another."""
        for name, value in self.found.items():
            finished = self.call("submit", "--on", "kubernetes", "--dry-run", *IMAGE, "-e", name, "train.py", env={name: value})
            self.assertEqual(finished.code, 2, (name, value, self.seed))

    def test_by_secret_env_kubernetes(self):
        for i, batch in enumerate(batches(self.found)):
            operator = OPERATORS[i % len(OPERATORS)]
            words = [word for name in batch for word in ("--secret-env", name)]
            for more in (("--dry-run",), ("--dry-run=json",), ("--dry-run=server",), ()):
                finished = self.call("submit", "--on", "kubernetes", "--operator", operator, *more, *IMAGE, *words, "train.py",
                                     env=batch)
                self.assert_ok(finished)
                self.assert_unseen(batch, finished)
            items = [json.loads(path.read_text()) for path in sorted(self.seen.glob("*.kubectl.stdin"))]
            job, secret = items[-2:]
            self.assertEqual(secret["kind"], "Secret")
            self.assertEqual({name: base64.b64decode(value).decode() for name, value in secret["data"].items()}, batch)
            self.assertEqual([one["uid"] for one in secret["metadata"]["ownerReferences"]], ["1234"])
            references = re.findall(r'"secretKeyRef": ?\{"name": ?"([^"]*)", ?"key": ?"([^"]*)"', json.dumps(job))
            self.assertEqual(set(references), {(secret["metadata"]["name"], name) for name in batch})
            self.forget()

    def test_by_secret_env_runai(self):
        for batch in batches(self.found)[:3]:
            finished = self.call("submit", "--on", "runai", *IMAGE, "train.py", env=batch,
                                 *[word for name in batch for word in ("--secret-env", f"{name}=tokens:{name}")])
            self.assertEqual(finished.code, 2, finished)  # words behind the script are its own
            self.forget()
            finished = self.call("submit", "--on", "runai", *IMAGE,
                                 *[word for name in batch for word in ("--secret-env", f"{name}=tokens:{name}")], "train.py",
                                 env=batch)
            self.assert_ok(finished)
            self.assert_unseen(batch, finished)
            words = next(text for path in sorted(self.seen.glob("*.runai.argv")) if "--image" in (text := path.read_text()))
            for name in batch:
                self.assertIn(f"--env-secret\0{name}=tokens,key={name}", words)
            self.forget()

    def test_over_ssh_and_mpirun(self):
        for batch in batches(self.found):
            for words, env in ((self.names(batch), batch), (self.pairs(batch), {})):
                for way in (("--hosts", "n0,n1"), ("--hosts", "n0,n1", "--via", "mpirun")):
                    for more in (("--dry-run",), ("-v",)):
                        finished = self.call(*more, *way, *words, "train.py", env={**env, "PYTHON_EXEC": "python3"})
                        self.assert_unseen(batch, finished)
            self.assertTrue(list(self.seen.glob("*.ssh.argv")))
            self.assertTrue(list(self.seen.glob("*.mpirun.argv")))
            self.forget()

    def test_files_and_config_show(self):
        for batch in batches(self.found):
            lines = ", ".join(f"{name} = {json.dumps(value)}" for name, value in batch.items())
            (self.work / "toprun.toml").write_text(f"env = {{ {lines} }}\n")
            for words in (("config", "show"), ("config", "show", "--json"), ("submit", "-v", "train.py"),
                          ("submit", "--dry-run", "train.py"), ("-v", "--dry-run", "train.py"),
                          ("submit", "--on", "kubernetes", "--operator", "jobset", *IMAGE, "train.py"),
                          ("shell", "--dry-run"), ("-v", "--hosts", "n0,n1", "--dry-run", "train.py")):
                finished = self.call(*words, env={"PYTHON_EXEC": "python3"})
                self.assert_unseen(batch, finished, told=("toprun.toml",))
            self.forget()

    def test_a_run_here(self):
        """Its report, its logs and what it says of a rank that fails."""
        for batch in batches(self.found)[:2]:
            for words, env in ((self.names(batch), batch), (self.pairs(batch), {})):
                finished = self.call("-v", "--nproc-per-node", "2", "--report", "r.json", "--node-log", "logs", "--log-dir", "ranks",
                                     *words, "--no-python", "sh", "-c", "[ $RANK = 0 ] || exit 3", env=env)
                self.assertEqual(finished.code, 3, finished)
                self.assert_unseen(batch, finished)

    def test_the_address_of_a_webhook(self):
        url = "https://hooks.example/zqhush12"
        for words in (("submit", "--notify", url), ("submit", "--dry-run", f"--notify={url}"),
                      ("--hosts", "n0,n1", "--via", "mpirun", "--dry-run", "--notify", url),
                      ("--hosts", "n0,n1", "--dry-run", "--notify", url), ("submit", "--on", "kubernetes", *IMAGE, "--notify", url)):
            with self.subTest(words):
                finished = self.call(*words, "train.py", PYTHON_EXEC="python3")
                self.assert_unseen({"url": url}, finished)
                if "kubernetes" in words:
                    self.assert_one_line(finished, "-e TOPRUN_NOTIFY: everyone .*--secret-env TOPRUN_NOTIFY.*")
        (self.work / "toprun.toml").write_text(f"notify = '{url}'\n")
        for words in (("submit", "--dry-run", "train.py"), ("submit", "train.py"), ("-v", "--nproc-per-node", "1", "--no-python", "true")):
            self.assert_unseen({"url": url}, self.call(*words), told=("toprun.toml",))

    def test_words_of_the_script(self):
        """A secret in a word of the script's reaches no object and no script."""
        token = "hf_" + letters(random.Random(1), 34, string.ascii_letters)
        for words in (("--hf-token", token), (f"--hf-token={token}",), ("--password", "zqhush12"), ("--api-key=zqhush12",)):
            values = {"token": token, "password": "zqhush12"}
            for way in ((), ("--on", "kubernetes", "--operator", "jobset", *IMAGE), ("--on", "runai", *IMAGE),
                        ("--dry-run",), ("--on", "kubernetes", "--dry-run", *IMAGE)):
                finished = self.call("submit", *way, "train.py", *words)
                self.assertEqual(finished.code, 2, finished)
                self.assert_unseen(values, finished)
            for way in (("--dry-run",), ("--dry-run", "--hosts", "n0,n1"), ("-v", "--hosts", "n0,n1", "--via", "mpirun", "--dry-run")):
                self.assert_unseen(values, self.call(*way, "train.py", *words, PYTHON_EXEC="python3"))

    def test_options_that_carry_one(self):
        token = "hf_" + letters(random.Random(1), 34, string.ascii_letters)
        patch = self.work / "patch.yaml"
        patch.write_text("metadata: {annotations: {note: " + token + "}}\n")
        pods = ("--on", "kubernetes", "--operator", "jobset", *IMAGE)
        for words in ((*pods, "--annotation", f"note={token}"), (*pods, "--patch", "patch.yaml"),
                      (*pods, "--secret-env", f"HF_TOKEN={token}"), ("--slurm-arg", f"--export=ALL,HF_TOKEN={token}"),
                      ("--slurm-arg", f"--comment={token}"), ("--before", f"export HF_TOKEN={token}")):
            with self.subTest(words):
                finished = self.call("submit", *words, "train.py")
                self.assertEqual(finished.code, 2, finished)
                self.assert_unseen({"token": token}, finished, told=("patch.yaml",))

    def test_what_is_none_passes(self):
        plain = {"TOKENIZERS_PARALLELISM": "false", "MAX_TOKENS": "512", "AWS_REGION": "eu-west-1", "NCCL_DEBUG": "INFO",
                 "PYTHONPATH": "/work/src:/opt/lib", "WANDB_PROJECT": "bert", "GIT_COMMIT": "4f9a1c0e7b2d48569e3fa1b2c3d4e5f60718293a",
                 "MODEL": "meta-llama/Llama-3.1-70B-Instruct", "RUN_ID": "0f8fad5b-d9cb-469f-a165-70867728950e",
                 "PYTORCH_CUDA_ALLOC_CONF": "expandable_segments:True"}
        finished = self.call("submit", "--on", "kubernetes", "--operator", "jobset", "--dry-run=json", *IMAGE, *self.names(plain),
                             "train.py", "--pad-token", "[PAD]", "--tokenizer", "meta-llama/Llama-3.1-8B", env=plain)
        self.assert_ok(finished)
        for value in plain.values():
            self.assertIn(json.dumps(value), finished.out)
        self.assertIn("[PAD]", finished.out)


if __name__ == "__main__":
    unittest.main()
