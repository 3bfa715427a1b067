# ctest: TIMEOUT 240 LABELS cluster torch
"""`toprun submit --on runai` and the verbs about its jobs, with both versions of Run:AI's command line
(runai_stand_in.py takes what their documents have, and no more) and pods on virtual hosts."""

import json
import re
import shlex
import sys
import random
import unittest

import support
from cluster import column, shown, shows, wait_for
from pods_test import SUMS
from runai_cluster import UUID, RunaiCase

BLOCK = re.compile(r"^```\w*\n(.*?)^```$", re.M | re.S)
WITHOUT_GPUS = ("--gpus-per-node", "0")
VERSIONS = ("v1", "v2")
RELEASES = (*VERSIONS, "v3")  # the newest has v2's commands and more flags
ARGUMENTS = "import json, pathlib, sys; pathlib.Path(sys.argv[1]).write_text(json.dumps(sys.argv[2:]))"
# Lines that together have each option that becomes one of runai's.
LINES = [
    (),
    ("--nodes", "4", "--gpus-per-node", "8", "-c", "16", "--mem", "64G", "--project", "vision"),
    ("--nodes", "2-4", "--max-restarts", "3", "--pvc", "scratch:/scratch", "-e", "LR=0.1"),
    ("--node-pool", "h100", "--toleration", "gpu=yes:NoSchedule", "--toleration", "spot", "--node-selector",
     "run.ai/type=dgx", "--required-topology-key", "nvidia.com/gpu.clique", "--host-network", "--ipc-lock"),
    ("--preferred-topology-key", "topology.kubernetes.io/zone", "--chdir", "/work", "--annotation",
     "k8s.v1.cni.cncf.io/networks=kube-system/roce", "--extended-resource", "rdma/rdma=1"),
]


class Runs(RunaiCase):
    def test_training_in_two_pods(self):
        for version in VERSIONS:
            with self.subTest(version):
                self.use(version)
                claim = self.folder()
                (claim / "sums.py").write_text(SUMS)
                finished = self.submit("--nodes", "2", "--nproc-per-node", "2", "--pvc", f"scratch:{claim}", "--job-name",
                                       f"sums-{version}", "-e", f"PYTHON_EXEC={support.python()}", "-e", "TOPRUN_WARM=torch",
                                       "--follow",
                                       claim / "sums.py", limit=90)
                self.assert_ok(finished)
                self.assertNotIn(f"sums-{version}\n", finished.out)  # stdout is the job's
                self.assertIn(f"toprun: job sums-{version}: ", finished.err)
                self.assertEqual(finished.out.count("sum=6"), 2, finished)  # of the master's pod
                kept = self.kept(claim)
                self.assertEqual(sorted(kept), [f"sums-{version}-master-0.out", f"sums-{version}-worker-0.out"])
                self.assertEqual("".join(kept.values()).count("sum=6"), 4, kept)
                self.assertIn(f"{claim}/toprun/sums-{version}.%j, where %j stands for the job's JOB_UUID", finished.err)
                report = json.loads((claim / f"toprun/sums-{version}.{UUID}/report.json").read_text())
                self.assertEqual(report["exit_code"], 0)

    def test_four_pods_and_their_ranks(self):
        for version in VERSIONS:
            with self.subTest(version):
                self.use(version)
                claim = self.folder()
                finished = self.submit("--nodes", "4", "--nproc-per-node", "2", "--pvc", f"scratch:{claim}", "--wait",
                                       *shows("RANK", "LOCAL_RANK", "WORLD_SIZE", "TOPRUN_NODE_NAME"))
                self.assert_ok(finished)
                rows = shown("".join(self.kept(claim).values()))
                self.assertEqual(column(rows, "RANK"), [str(i) for i in range(8)])
                self.assertEqual(set(column(rows, "WORLD_SIZE")), {"8"})
                name = finished.out.strip()
                self.assertRegex(name, r"\A[a-z-]+-[a-z0-9]{5}\Z")
                self.assertEqual(rows[0]["TOPRUN_NODE_NAME"], f"{name}-master-0")

    def test_a_rank_that_fails(self):
        for version in VERSIONS:
            with self.subTest(version):
                self.use(version)
                claim = self.folder()
                finished = self.submit("--nodes", "2", "--pvc", f"scratch:{claim}", "--job-name", f"bad-{version}",
                                       "--follow", "--no-python", "sh", "-c", 'echo rank $RANK; [ $RANK = 0 ] || exit 3')
                self.assertEqual(finished.code, 1, finished)  # runai tells no exit codes
                report = json.loads((claim / f"toprun/bad-{version}.{UUID}/report.json").read_text())
                self.assertEqual(report["exit_code"], 3)
                job = self.jobs[f"bad-{version}"]
                # The master's pod alone has it: one failure counts once.
                self.assertEqual([run.process.returncode for run in job.runs], [3, 0])

    def test_hostile_words_arrive_byte_for_byte(self):
        chance = random.Random(18)
        letters = ["$", "(", ")", "A", '"', "'", "\\", "\n", " ", "é", "{", "`", "-", ",", "*"]
        words = ["".join(chance.choices(letters, k=chance.randrange(8))) for _ in range(1000)]
        for version in VERSIONS:
            with self.subTest(version):
                self.use(version)
                claim = self.folder()
                (claim / "arguments.py").write_text(ARGUMENTS)
                finished = self.submit("--pvc", f"scratch:{claim}", "-e", "A=a, \"b\" $(B)", "--wait",
                                       "-e", f"PYTHON_EXEC={support.python()}", claim / "arguments.py",
                                       claim / "out.json", *words)
                self.assert_ok(finished)
                self.assertEqual(json.loads((claim / "out.json").read_text()), words)


class Verbs(RunaiCase):
    def test_jobs_status_logs_and_cancel(self):
        for version in VERSIONS:
            with self.subTest(version):
                self.use(version)
                name = f"sleeper-{version}"
                self.assert_ok(self.submit("--nodes", "2", "--job-name", name, "--no-python", "sh", "-c",
                                           f"echo started; {support.OBEDIENT}"))
                wait_for(lambda: "started" in self.runai("logs", name).out, "the job's output")
                self.assertRegex(self.runai("jobs").out, rf"(?m)^{name} .* (RUNNING|Running) ")
                status = self.runai("status", name)
                self.assertRegex(status.out, "state +RUNNING|state +Running")
                self.assertRegex(status.out, r"nodes +2: n0,n1")
                self.assert_ok(self.runai("cancel", name))
                wait_for(lambda: name not in self.jobs, "the job's end")
                gone = self.runai("status", name)
                self.assertEqual(gone.code, 1)
                self.assert_one_line(gone, f"job {name} is unknown: Run:AI has no PyTorch job {name} in this project; .*")

    def test_why_a_job_waits(self):
        for version in VERSIONS:
            for image, why in [("absent", "ImagePullBackOff"), ("large", "Unschedulable")]:
                with self.subTest(version, image=image):
                    self.use(version)
                    name = f"{image}-{version}"
                    self.assert_ok(self.runai("submit", "--container", f"docker://registry/{image}:1", "--job-name", name,
                                              "train.py"))
                    wait_for(lambda: name in self.jobs, "the job")
                    self.assertIn(why, self.runai("status", name).out)
                    logs = self.runai("logs", name)
                    self.assertEqual(logs.code, 1)
                    self.assert_one_line(logs, f"job {name} has printed nothing yet: the job waits: .*{why}.*")


class Cluster(RunaiCase):
    """What the documents of both programs let them tell; v1 knows no pools here, v2 no GPUs in use."""

    def test_pools_and_projects(self):
        for version, pools in [("v1", [r"\(no pool\) +none +4 +1 +11/24 +1 node notready"]),
                               ("v2", [r"default +none +1 +\? +-", r"h100 +none +3 +\? +\?/24 NVIDIA-H100 +1 node notready"])]:
            with self.subTest(version):
                self.use(version)
                finished = self.runai("cluster", "--on", "runai", TOPRUN_ON="")
                self.assert_ok(finished)
                for pool in pools:
                    self.assertRegex(finished.out, rf"(?m)^{pool}")
                self.assertRegex(finished.out, r"(?m)^PROJECT +OF +GPU QUOTA\nmlo +(ic|-) +12\nvision +- +\?$")
                said = "" if version == "v1" else "toprun: `runai node list` does not list the GPUs in use\n"
                self.assertEqual(finished.err, said)
                told = json.loads(self.runai("cluster", "--json").out)
                self.assertEqual(told["engine"], "runai")
                self.assertEqual([(one["name"], one["gpus"], one["waiting"]) for one in told["queues"]],
                                 [("mlo", 12, None), ("vision", None, None)])

    def test_what_is_refused_is_said(self):
        for version in VERSIONS:
            with self.subTest(version):
                self.use(version)
                finished = self.runai("cluster", RUNAI_TROUBLE="no rights")
                self.assert_ok(finished)
                self.assert_one_line(finished, "runai (list nodes|node list --json): forbidden: .*")
                self.assertNotIn("POOL", finished.out)
                self.assertIn("mlo", finished.out)

    def test_config_init(self):
        for version in VERSIONS:
            with self.subTest(version):
                self.use(version)
                written = self.runai("config", "init", "--on", "runai", "--output", "-", TOPRUN_ON="")
                self.assert_ok(written)
                for line in ('on = "runai"', '# project = "mlo"  # yours: mlo, vision'):
                    self.assertIn(f"\n{line}\n", written.out)
                self.assertRegex(written.out, r"(?m)^#   (h100|in no pool): [34] nodes with [08 to]+ GPUs")


class Commands(RunaiCase):
    def test_every_option_is_one_of_runais(self):
        for version in RELEASES:
            for i, line in enumerate(LINES):
                with self.subTest(version, line=line):
                    self.use(version)
                    name = f"line-{i}-{version}"
                    finished = self.runai("submit", "--container", "docker://registry/absent:1", "--job-name", name, *line,
                                          "train.py")
                    self.assert_ok(finished)
                    request = json.loads((self.jobs_folder / name / "request.json").read_text())
                    self.assertEqual(request["image"], "docker.io/registry/absent:1")

    def options_of(self, version, *words):
        self.use(version)
        name = f"job-{len(list(self.jobs_folder.iterdir()))}"
        finished = self.runai("submit", "--container", "docker://registry/absent:1", "--job-name", name, *words, "train.py")
        self.assert_ok(finished)
        return json.loads((self.jobs_folder / name / "request.json").read_text())["options"]

    def test_a_master_has_what_its_workers_have(self):
        words = ("--nodes", "2", "--gpus-per-node", "8", "-c", "16", "--mem", "64G", "--extended-resource", "rdma/rdma=1")
        newest = self.options_of("v3", *words)
        for name in ("gpu-devices-request", "cpu-core-request", "cpu-memory-request", "extended-resource"):
            self.assertEqual(newest[f"--master-{name}"], newest[f"--{name}"])
        older = self.options_of("v2", *words)
        self.assertEqual(older["--master-gpu-devices-request"], ["8"])
        self.assertNotIn("--master-cpu-core-request", older)
        without = self.options_of("v3", *words[:-2])
        self.assertEqual([name for name in without if name.startswith("--master-")], ["--master-restart-policy"])

    def test_policies_are_said_where_they_can_be(self):
        newest = self.options_of("v3")
        self.assertEqual([newest[name] for name in ("--restart-policy", "--master-restart-policy", "--clean-pod-policy",
                                                    "--backoff-limit")], [["Never"], ["Never"], ["None"], ["0"]])
        self.assertNotIn("--gpu-devices-request", newest)
        self.assertEqual(self.options_of("v1")["--clean-pod-policy"], ["None"])
        self.assertNotIn("--clean-pod-policy", self.options_of("v2"))
        self.assertNotIn("--restart-policy", self.options_of("v3", "--max-restarts", "2"))

    def test_secrets(self):
        words = ("--secret-env", "HF_TOKEN=tokens:hf")
        self.assertEqual(self.options_of("v3", *words)["--env-secret"], ["HF_TOKEN=tokens,key=hf"])
        shown = self.runai("submit", "--dry-run", "--container", "docker://registry/absent:1", *words, "train.py").out
        self.assertIn(" --env-secret HF_TOKEN=tokens,key=hf ", shown)
        for version, more, said in [
                ("v1", words, "--secret-env HF_TOKEN: this version of runai does not have the flag --env-secret.*"),
                ("v2", words, "--secret-env HF_TOKEN: this version of runai does not have the flag --env-secret.*"),
                ("v3", ("--secret-env", "HF_TOKEN"), "--secret-env HF_TOKEN: Run:AI cannot create a Secret .*"),
                ("v3", ("-e", "HF_TOKEN"), "-e HF_TOKEN: everyone .*--secret-env HF_TOKEN=SECRET:KEY.*")]:
            with self.subTest(version, more=more):
                self.use(version)
                finished = self.runai("submit", *WITHOUT_GPUS, "--container", "docker://registry/absent:1", *more, "train.py", HF_TOKEN="hush")
                self.assertEqual(finished.code, 2, finished)
                self.assert_one_line(finished, said)

    def test_who_the_processes_are(self):
        options = self.options_of("v3", "--run-as", "1000:100", "--restricted")
        self.assertEqual([options[name] for name in ("--run-as-uid", "--run-as-gid", "--run-as-non-root", "--seccomp-profile")],
                         [["1000"], ["100"], [""], ["RuntimeDefault"]])

    def test_a_binary_on_a_claim(self):
        self.use("v3")
        finished = self.runai("submit", "--dry-run", "--container", "docker://nvcr.io/nvidia/pytorch:1", "--pvc", "s:/scratch",
                              "--toprun", "/scratch/bin/toprun", "--job-name", "a", "/scratch/train.py")
        self.assert_ok(finished)
        self.assertIn(" --command -- /scratch/bin/toprun ", finished.out)
        self.assertNotIn("does not contain toprun", finished.err)
        finished = self.runai("submit", "--dry-run", "--container", "docker://nvcr.io/nvidia/pytorch:1", "train.py")
        self.assertIn("toprun: image nvcr.io/nvidia/pytorch:1 does not contain toprun unless you have added it: "
                      "--toprun PATH names a toprun "
                      "on a claim\n", finished.err)

    def test_a_dry_run_prints_the_command(self):
        for version, words in [("v1", "runai submit-dist pytorch --name a "), ("v2", "runai training pytorch submit a ")]:
            self.use(version)
            finished = self.submit("--dry-run", *WITHOUT_GPUS, "--job-name", "a", "train.py", "a b")
            self.assert_ok(finished)
            self.assertTrue(finished.out.startswith(words), finished)
            self.assertEqual(finished.err, "toprun: in the pods: toprun --nproc-per-node=1 --no-config train.py 'a b'\n")
        self.assertEqual(list(self.jobs_folder.iterdir()), [])
        without = self.toprun("submit", "--on", "runai", "--dry-run", *WITHOUT_GPUS, "--container", "docker://r.example/a", "train.py",
                              env={"PATH": "/usr/bin:/bin"})
        self.assert_one_line(without, "runai is not in PATH, so toprun shows the command for runai v2; --runai-cli v1 .*")


class Recipe(RunaiCase):
    def test_the_pages_lines(self):
        page = (support.REPOSITORY / "docs/guides/recipes/runai.md").read_text()
        submits, measures, file = BLOCK.findall(page)
        for version in VERSIONS:
            with self.subTest(version):
                self.use(version)
                claim = self.folder()
                (claim / "app.py").write_text("import os; print('rank', os.environ['RANK'], os.environ['WORLD_SIZE'])")
                words = shlex.split(submits.replace("\\\n", "").replace("/mloscratch", str(claim)))
                self.assertEqual(words[0], "toprun")
                finished = self.runai("submit", "--wait", "-e", f"PYTHON_EXEC={sys.executable}", *words[2:])
                self.assert_ok(finished)
                lines = "".join(self.kept(claim).values()).splitlines()
                self.assertEqual(sorted(int(line.split()[1]) for line in lines if line.startswith("rank ")), list(range(40)))
        self.assertIn("toprun bench all_reduce ", measures)
        project = self.folder()
        (project / "toprun.toml").write_text(file)
        finished = self.runai("submit", "--dry-run", "--nodes", "2", "--gpus-per-node", "8", "/mloscratch/train.py",
                              cwd=project, TOPRUN_ON="")
        self.assert_ok(finished)
        for words in ("--workers 1", "--image registry.site/basic:latest", "rdma/rdma=1", "kube-system/roce"):
            self.assertIn(words, finished.out)


class Refusals(RunaiCase):
    def test_in_runais_words(self):
        for version in VERSIONS:
            self.use(version)
            self.assert_ok(self.submit("--job-name", f"twice-{version}", "--no-python", "true"))
            for words, said in [
                    (("submit", *WITHOUT_GPUS, "--container", "docker://registry/image:1", "--job-name", f"twice-{version}", "a.py"),
                     r"runai submit: job twice-v. already exists, .*; choose another --job-name.*"),
                    (("submit", *WITHOUT_GPUS, "--container", "docker://registry/image:1", "--project", "forbidden", "a.py"),
                     "runai submit: project forbidden does not exist, .*; runai list projects lists your projects.*"),
                    (("submit", *WITHOUT_GPUS, "--container", "docker://r.example/i", "--time", "10", "a.py"), "--time: Run:AI cannot limit .*"),
                    (("submit", "--container", "docker://r.example/i", "--time", "10", "a.py"), "--time: Run:AI cannot limit .*"),
                    (("submit", *WITHOUT_GPUS, "--container", "docker://r.example/i", "--queue", "q", "a.py"), "--queue: runai does not have an option .*"),
                    (("logs", "nobody"), "job nobody is unknown: Run:AI has no PyTorch job nobody .*")]:
                with self.subTest(version, words=words):
                    finished = self.runai(*words)
                    self.assertNotEqual(finished.code, 0)
                    self.assert_one_line(finished, said)

    def test_what_a_dry_run_refuses(self):
        image = (*WITHOUT_GPUS, "--container", "docker://r.example/i")
        in_a_file = "have the program read the secret from a file on a claim that --pvc mounts"
        for words, said in [
                (("--dry-run=json",), "--dry-run=json: runai creates the job's object itself, so there is no JSON to print; use --dry-run"),
                (("--dry-run", "--runai-cli", "v3"), "--runai-cli v3: must be v1 or v2"),
                (("--dry-run", "--runai-cli", "v1", "-e", "HF_TOKEN=hf_a"), f"-e HF_TOKEN: everyone .*; {in_a_file}"),
                (("--dry-run", "--runai-cli", "v2", "-e", "HF_TOKEN=hf_a"), "-e HF_TOKEN: everyone .*; use --secret-env HF_TOKEN=SECRET:KEY .*"),
                (("--dry-run", "--runai-cli", "v1", "--secret-env", "A=b:c"), f"--secret-env A: this version .*; install a newer runai, or {in_a_file}"),
                (("--dry-run", "--runai-cli", "v1", "--secret-env", "UNSET"), f"--secret-env UNSET: this version .*; install a newer runai, or {in_a_file}"),
                (("--dry-run", "--runai-cli", "v2", "--secret-env", "UNSET"), "--secret-env UNSET: Run:AI cannot create .*; create a Secret in Run:AI, .*"),
                (("--dry-run", "--annotation", "a=hf_" + 34 * "a"), "--annotation a: the value looks like a secret, .*")]:
            with self.subTest(words):
                finished = self.toprun("submit", "--on", "runai", *image, *words, "a.py", env={"PATH": "/nowhere"})
                self.assertEqual(finished.code, 2, finished)
                self.assert_one_line(finished, said)
        without = self.toprun("submit", "--on", "runai", *WITHOUT_GPUS, "--dry-run", "a.py", env={"PATH": "/nowhere"})
        self.assertEqual(without.code, 2, without)
        self.assert_one_line(without, "--on runai: a pod needs an image; use --container IMAGE")

    def test_a_runai_that_does_not_work(self):
        for version in VERSIONS:
            self.use(version)
            for trouble, limit_s, said in [
                    ("hangs", 1, "(cannot find out whether job a exists: )?cannot ask Run:AI: no answer within .*; set TOPRUN_ENGINE_TIMEOUT=.*"),
                    ("logged out", 30, "runai (list|describe): your session has expired, .*; log in: runai login"),
                    ("nonsense", 30, "cannot ask Run:AI: runai did not print (JSON|a table): <html>502.*")]:
                for words in (["jobs"], ["status", "a"]):
                    with self.subTest(version, trouble=trouble, words=words):
                        finished = self.runai(*words, RUNAI_TROUBLE=trouble, TOPRUN_ENGINE_TIMEOUT=str(limit_s))
                        self.assertEqual(finished.code, 1, finished)
                        self.assert_one_line(finished, said)

    def test_without_runai(self):
        finished = self.toprun("submit", "--on", "runai", *WITHOUT_GPUS, "--container", "docker://r.example/i", "a.py", env={"PATH": "/nowhere"})
        self.assertEqual(finished.code, 1)
        self.assert_one_line(finished, "--on runai: there is no runai in PATH; install runai, or print the command .*")
        missing = "engine runai: runai is not in PATH; load the site's module, or name another engine with --on or TOPRUN_ON"
        for words, said in ((["status", "a"], f"cannot find out whether job a exists: {missing}"),
                            (["jobs"], missing), (["cluster"], missing)):
            with self.subTest(words):
                finished = self.toprun(*words, env={"PATH": "/nowhere", "TOPRUN_ON": "runai"})
                self.assertEqual(finished.code, 1, finished)
                self.assert_one_line(finished, said)


if __name__ == "__main__":
    unittest.main()
