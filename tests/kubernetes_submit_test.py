# ctest: TIMEOUT 120
"""`toprun submit --on kubernetes`: the objects that it writes, and what it refuses."""

import copy
import json
import os
import pathlib
import random
import subprocess
import types
import unittest

import support
from crd_check import objections
from kubelet import expanded

IMAGE = ("--gpus-per-node", "0", "--container", "docker://registry.example/python:3.12")
CRDS = pathlib.Path(__file__).resolve().parents[2] / "shared/data/crds"
OPERATORS = ("pytorchjob", "trainjob", "jobset")
# Lines whose objects together have every field that we write.
LINES = [
    ("-N", "1"),
    ("-N", "4", "--gpus-per-node", "8", "--nproc-per-node", "8"),
    ("-N", "2", "-c", "4", "--mem", "8G", "-t", "10", "--job-name", "train", "--namespace", "ml"),
    ("-N", "2", "--pvc", "scratch:/scratch", "--pvc", "data:/data:ro", "-e", "A=$(B) $$ $"),
    ("-N", "2", "--annotation", "k8s.v1.cni.cncf.io/networks=kube-system/roce", "--extended-resource", "rdma/rdma=1"),
]
# Placing, in the words of each scheduler; a TrainJob has its runtime's.
EVERYWHERE = [
    ("-N", "2", "--queue", "q", "--priority-class", "high", "--required-topology-key", "nvidia.com/gpu.clique"),
    ("-N", "2", "--preferred-topology-key", "rack", "--node-pool", "p0", "--node-pool", "p1", "--shm", "64G",
     "--ipc-lock", "--node-selector", "gpu=h100", "--toleration", "nvidia.com/gpu:NoSchedule", "--toleration", "a=b"),
    ("-N", "2", "--required-topology-key", "rack", "--toprun-image", "registry.io/toprun:1"),
    ("-N", "2", "--secret-env", "A=tokens:a", "--service-account", "trainer", "--image-pull-secret", "registry",
     "--restricted", "--run-as", "1000:100", "--gpus-per-node", "4", "--gpu-resource", "amd.com/gpu"),
]
ELSEWHERE = [
    ("-N", "2", "--scheduler", "volcano", "--queue", "q", "--priority-class", "high"),
    ("-N", "2", "--scheduler", "kai", "--queue", "q", "--node-pool", "p0", "--priority-class", "train"),
    ("-N", "2", "--scheduler", "runai", "--queue", "team-a", "--host-network"),
]
RUNTIME = ("-N", "2", "--runtime", "torch-volcano", "--scheduler", "volcano", "--queue", "q")
LONGEST_NAME = "t" * 40
# Changes to a JobSet (its spec, replicatedJob, Job, pods or the whole), and what is then said.
MUTATIONS = [
    (lambda it: it.whole.update(apiVersion="jobset.x-k8s.io/v1alpha1"), "apiVersion"),
    (lambda it: it.whole["metadata"].update(name="Train"), "metadata.name"),
    (lambda it: it.whole["metadata"].update(name="1st"), "metadata.name"),
    (lambda it: it.whole["metadata"].update(generateName="train-"), "metadata: "),
    (lambda it: it.whole["metadata"].update(name="t" * 49), "t-node-0-1-abcde is no label"),
    (lambda it: it.spec.update(replicatedJob=[]), "spec: .*'replicatedJob'"),
    (lambda it: it.spec.update(maxRestarts=1), "spec: .*'maxRestarts'"),
    (lambda it: it.spec["network"].update(enableDnsHostnames=True), "spec.network: "),
    (lambda it: it.spec["network"].update(subdomain="a.b"), "spec.network.subdomain: "),
    (lambda it: it.spec["failurePolicy"].update(maxRestarts=-1), "spec.failurePolicy.maxRestarts"),
    (lambda it: it.spec["failurePolicy"].update(rules=[{"name": "a b", "action": "FailJobSet"}]),
     "spec.failurePolicy.rules.0.name"),
    (lambda it: it.spec["failurePolicy"].update(
        rules=[{"name": "a", "action": "FailJobSet", "targetReplicatedJobs": ["nodes"]}]), "no replicatedJob nodes"),
    (lambda it: it.spec.update(startupPolicy={"startupPolicyOrder": "inOrder"}),
     "spec.startupPolicy.startupPolicyOrder"),
    (lambda it: it.spec.update(successPolicy={"targetReplicatedJobs": ["node"]}),
     "spec.successPolicy: 'operator'"),
    (lambda it: it.spec.update(coordinator={"replicatedJob": "leader"}), "no replicatedJob leader"),
    (lambda it: it.spec["replicatedJobs"].append(it.job), "two replicatedJobs of one name"),
    (lambda it: it.job.update(name="node_0"), "replicatedJobs.0.name"),
    (lambda it: it.job.update(dependsOn=[{"name": "node", "status": "Ready"}]), "dependsOn: node"),
    (lambda it: it.job.pop("template"), "replicatedJobs.0: 'template'"),
    (lambda it: it.job.update(replicas="1"), "replicatedJobs.0.replicas"),
    (lambda it: it.batch.update(completionMode="indexed"), "completionMode"),
    (lambda it: it.batch.update(completions="2"), "completions"),
    (lambda it: it.batch.update(backOffLimit=1), "'backOffLimit'"),
    (lambda it: it.batch.update(activeDeadlineSeconds=0), "activeDeadlineSeconds"),
    (lambda it: it.batch["podFailurePolicy"]["rules"][0]["onPodConditions"][0].pop("status"),
     "onPodConditions.0: 'status'"),
    (lambda it: it.batch["podFailurePolicy"]["rules"][0].update(action="Skip"), "rules.0.action"),
    (lambda it: it.batch["podFailurePolicy"]["rules"][1]["onExitCodes"].update(values=[143, 137]),
     "values not in order"),
    (lambda it: it.batch["podFailurePolicy"]["rules"][1]["onExitCodes"].update(
        containerName="main"), "no such container"),
    (lambda it: it.pods.update(restartPolicy="OnFailure"), "only with restartPolicy Never"),
    (lambda it: it.pods.pop("restartPolicy"), "'restartPolicy'"),
    (lambda it: it.pods["containers"][0].update(cmd=["sh"]), "'cmd'"),
    (lambda it: it.pods["containers"][0].pop("image"), "'image'"),
    (lambda it: it.pods["containers"][0]["env"].append({"name": "A", "value": 1}), "env.*value"),
    (lambda it: it.pods["containers"][0]["resources"]["limits"].update(cpu=4), "limits.cpu"),
    (lambda it: it.pods["containers"][0]["volumeMounts"].append(
        {"name": "data", "mountPath": "/data"}), "no volume data"),
    (lambda it: it.pods["volumes"].append({"name": "data"}), "volumes"),
    (lambda it: it.pods.update(dnsPolicy="ClusterFirstWithHostNet"), "without hostNetwork"),
    (lambda it: it.pods.update(nodeSelector={"a b": "c"}), "nodeSelector"),
]
ELASTIC = ("-N", "2-4", "--max-restarts", "3", "--nproc-per-node", "2")


class SubmitCase(support.TestCase):
    def written(self, *words, script=("train.py",)):
        finished = self.toprun("submit", "--on", "kubernetes", "--dry-run=json", *IMAGE, *words, *script)
        self.assert_ok(finished)
        return json.loads(finished.out)


class Objects(SubmitCase):
    def check(self, operator, lines):
        self.check_objects(operator, [self.written("--operator", operator, *line) for line in lines])

    def check_objects(self, operator, objects):
        """By our own schema of the fields that we write, and by the operator's whole CRD where that is at hand."""
        crd = CRDS / f"{operator}.yaml"
        schemas = [operator, *([crd] if crd.exists() else [])]
        for schema in schemas:
            self.assertEqual(objections(schema, objects), [], schema)
        objects[0]["spec"]["nodes"] = 1
        for schema in schemas:
            self.assertIn("object 0: spec: Additional properties", "\n".join(objections(schema, objects)))

    def test_pytorchjobs_fit_their_crd(self):
        self.check("pytorchjob", [*LINES, *EVERYWHERE, *ELSEWHERE, ELASTIC])

    def test_trainjobs_fit_their_crd(self):
        self.check("trainjob", [*LINES, *EVERYWHERE, RUNTIME])

    def test_pods_of_jobsets_fit_kubernetes(self):
        objects = []
        for line in [*LINES, *EVERYWHERE, *ELSEWHERE]:
            job = self.written("--operator", "jobset", *line)["spec"]["replicatedJobs"][0]["template"]["spec"]
            pods = {"replicas": 1, "template": job["template"]}
            objects.append({"apiVersion": "kubeflow.org/v1", "kind": "PyTorchJob", "metadata": {"name": "pods"},
                            "spec": {"pytorchReplicaSpecs": {"Worker": pods}}})
        self.check_objects("pytorchjob", objects)

    def test_the_schemas_of_operators_can_fail(self):
        def of(operator, change):
            whole = self.written("--operator", operator, "-N", "2", "--pvc", "a:/a", "-c", "4", "--job-name", "train")
            change(whole["spec"])
            return "\n".join(objections(operator, [whole]))
        for operator, change, said in [
                ("pytorchjob", lambda spec: spec.pop("pytorchReplicaSpecs"), "'pytorchReplicaSpecs' is a required"),
                ("pytorchjob", lambda spec: spec["pytorchReplicaSpecs"].update(worker={}), "'worker' was unexpected"),
                ("pytorchjob", lambda spec: spec["pytorchReplicaSpecs"]["Worker"].update(replicas="1"), "replicas"),
                ("pytorchjob", lambda spec: spec["pytorchReplicaSpecs"]["Worker"].update(restartPolicy="No"),
                 "restartPolicy"),
                ("pytorchjob", lambda spec: spec["runPolicy"].update(cleanPodPolicy="all"), "cleanPodPolicy"),
                ("pytorchjob", lambda spec: spec["pytorchReplicaSpecs"]["Worker"]["template"]["spec"]["containers"][0]
                 .pop("image"), "'image' is a required"),
                ("trainjob", lambda spec: spec["runtimeRef"].pop("name"), "'name' is a required"),
                ("trainjob", lambda spec: spec["trainer"].update(numNodes=0), "numNodes"),
                ("trainjob", lambda spec: spec["trainer"].update(cmd=["sh"]), "'cmd' was unexpected"),
                ("trainjob", lambda spec: spec["runtimePatches"][0].pop("manager"), "'manager' is a required")]:
            with self.subTest((operator, said)):
                self.assertIn(said, of(operator, change))

    def test_jobsets_fit_their_schema(self):
        lines = [*LINES, *EVERYWHERE, *ELSEWHERE, ("-N", "2", "--max-restarts", "2", "--chdir", "/work"),
                 ("-N", "100000", "--job-name", LONGEST_NAME)]
        self.assertEqual(objections("jobset", [self.written("--operator", "jobset", *line) for line in lines]), [])

    def test_the_schema_of_jobsets_can_fail(self):
        written = self.written("--operator", "jobset", "-N", "2", "--max-restarts", "1", "--pvc", "a:/a", "-c", "4",
                               "--job-name", "train", "--toprun-image", "registry.io/toprun:1")

        def changed(change):
            whole = copy.deepcopy(written)
            job = whole["spec"]["replicatedJobs"][0]
            batch = job["template"]["spec"]
            change(types.SimpleNamespace(whole=whole, spec=whole["spec"], job=job, batch=batch,
                                         pods=batch["template"]["spec"]))
            return whole
        mutants = [(changed(change), said) for change, said in MUTATIONS]
        said_of_all = "\n".join(objections("jobset", [mutant for mutant, _ in mutants]))
        for i, (_, said) in enumerate(mutants):
            with self.subTest(said):
                self.assertRegex(said_of_all, rf"(?m)^object {i}: .*{said}")

    def test_variables_of_the_trainer_are_not_set(self):
        names = [one["name"] for one in self.written(*LINES[3], "--operator", "trainjob")["spec"]["trainer"]["env"]]
        self.assertEqual([name for name in names if name.startswith("PET_")], [])

    def test_names_are_the_clusters_unless_chosen(self):
        for operator in OPERATORS:
            self.assertEqual(self.written("--operator", operator, script=("my_App.py",))["metadata"]["generateName"],
                             "my-app-")
            self.assertEqual(self.written("--operator", operator, "--job-name", "a")["metadata"]["name"], "a")


class ForPeople(support.TestCase):
    """YAML, read by Debian's Python: YAML 1.1, as kubectl's own library."""

    def printed(self, *words):
        finished = self.toprun("submit", "--on", "kubernetes", *words)
        self.assert_ok(finished)
        return finished

    def read(self, text):
        code = "import json, sys, yaml; json.dump(yaml.safe_load(sys.stdin), sys.stdout)"
        done = subprocess.run(["/usr/bin/python3", "-c", code], input=text, capture_output=True, text=True, timeout=60)
        if "No module named 'yaml'" in done.stderr:
            self.skipTest("Debian's python3-yaml is not there")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return json.loads(done.stdout)

    def test_yaml_and_json_hold_the_same(self):
        chance = random.Random(3)
        letters = [*"$(){}[]\"'\\\n\t :#-&*!|>%@`~=,?ye10.x", "\x85", "\u2028", "é", "\U0001f600"]
        words = ["".join(chance.choices(letters, k=chance.randrange(6))) for _ in range(300)]
        words += ["yes", "No", "on", "null", "~", "1e3", "0x1f", "12:30", "2026-11-24", ".inf", "a: b", "a #b"]
        words += ["two\nlines\n"]
        for operator in OPERATORS:
            with self.subTest(operator):
                lines = ("--operator", operator, *IMAGE, *EVERYWHERE[1], "-e", "A=no", "train.py")
                some = words[-100:] if operator == "trainjob" else words
                yaml = self.printed("--dry-run", *lines, *some)
                job = json.loads(self.printed("--dry-run=json", *lines, *some).out)
                read = self.read(yaml.out)
                for one in (job, read):
                    self.forget_marks(one)
                self.assertEqual(read, job)

    def forget_marks(self, value):
        """A name that the cluster completes gives each object a mark of its own."""
        if isinstance(value, dict):
            value.pop("toprun.io/job", None)
        for inner in value.values() if isinstance(value, dict) else value if isinstance(value, list) else []:
            self.forget_marks(inner)

    def test_it_says_what_was_assumed_and_who_may_have_to_act(self):
        finished = self.printed("--dry-run", *IMAGE, "-N", "2", "--namespace", "ml", "train.py")
        self.assertIn("no cluster was contacted, so the job is assumed to be a PyTorchJob; --operator chooses another kind", finished.err)
        self.assertIn("# kubectl create clusterrole toprun-topology --verb=get,list --resource=nodes\n", finished.out)
        self.assertIn("--serviceaccount=ml:default\n", finished.out)
        finished = self.printed("--dry-run", *IMAGE, "--operator", "jobset", "train.py")
        self.assertEqual((finished.err, finished.out[:11]), ("", "apiVersion:"))


class Binary(SubmitCase):
    def test_an_image_gives_its_binary_to_the_pods(self):
        folder = self.folder()
        (folder / "toprun").write_text("#!/bin/sh\n")
        (folder / "toprun").chmod(0o755)
        job = self.written("--operator", "jobset", "--toprun-image", "registry.io/toprun:1")
        pods = job["spec"]["replicatedJobs"][0]["template"]["spec"]["template"]["spec"]
        words = [expanded(word, {}) for word in pods["initContainers"][0]["command"]]
        self.assertTrue(words[2].endswith(" " + pods["containers"][0]["command"][0]), words)
        mounted = folder / "volume"
        mounted.mkdir()
        words[2] = words[2].replace("/toprun.io/", f"{mounted}/")
        subprocess.run(words, env={"PATH": f"{folder}:/usr/bin:/bin"}, check=True, timeout=60)
        self.assertTrue(os.access(mounted / "toprun", os.X_OK))


class Operators(support.TestCase):
    """--operator auto, with a kubectl that answers as it is told."""

    def submitted(self, answer, *words):
        folder = self.folder()
        kubectl = folder / "kubectl"
        kubectl.write_text("#!/bin/sh\n"
                           f"case $1 in api-resources) {answer} ;;\n"
                           "create) cat > \"$0.object\"; echo job/train-x7k2p ;; esac\n")
        kubectl.chmod(0o755)
        finished = self.toprun("submit", "--on", "kubernetes", *IMAGE, *words, "train.py",
                               env={"PATH": f"{folder}:/usr/bin:/bin", "TOPRUN_ENGINE_TIMEOUT": "2"})
        written = kubectl.with_suffix(".object")
        return finished, json.loads(written.read_text())["kind"] if written.exists() else None

    def test_the_first_that_the_cluster_has(self):
        for names, kind in [("trainjobs.trainer.kubeflow.org pytorchjobs.kubeflow.org", "PyTorchJob"),
                            ("jobsets.jobset.x-k8s.io trainjobs.trainer.kubeflow.org", "TrainJob"),
                            ("pods jobsets.jobset.x-k8s.io", "JobSet")]:
            with self.subTest(names):
                finished, made = self.submitted(f"printf '%s\\n' {names}")
                self.assert_ok(finished)
                self.assertEqual(made, kind)

    def test_the_rest_counts_where_one_service_of_the_api_is_down(self):
        finished, made = self.submitted("echo jobsets.jobset.x-k8s.io; echo error: unable to retrieve >&2; exit 1")
        self.assert_ok(finished)
        self.assertEqual(made, "JobSet")

    def test_one_line_where_there_is_none(self):
        for answer, said in [
                ("echo pods", "--operator auto: the cluster has none of pytorchjobs.kubeflow.org, "
                              "trainjobs.trainer.kubeflow.org, jobsets.jobset.x-k8s.io; ask the administrator to install .*"),
                ("echo 'error: You must be logged in to the server' >&2; exit 1", "kubectl api-resources: .*"),
                ("sleep 20", "cannot list the Kubernetes operators of the cluster: .*")]:
            with self.subTest(answer):
                finished, _ = self.submitted(answer)
                self.assertEqual(finished.code, 1, finished)
                self.assert_one_line(finished, said)


class Words(SubmitCase):
    def test_hostile_words_stand_as_they_are_once_kubelet_has_read_them(self):
        chance = random.Random(18)
        letters = ["$", "(", ")", "A", "\"", "'", "\\", "\n", " ", "é", "{", "`", "-"]
        words = ["".join(chance.choices(letters, k=chance.randrange(8))) for _ in range(1000)]
        job = self.written("--operator", "pytorchjob", script=("train.py", *words))
        container = job["spec"]["pytorchReplicaSpecs"]["Master"]["template"]["spec"]["containers"][0]
        self.assertEqual([expanded(word, {"A": "value"}) for word in container["command"][-1000:]], words)


class Refusals(support.TestCase):
    def test_one_line_each(self):
        for words, said in [
                ((), "--on kubernetes: a pod needs an image; use --container IMAGE"),
                ((*IMAGE, "--job-name", "my_App"), "--job-name my_App: .*; use --job-name my-app"),
                ((*IMAGE, "--partition", "gpu"), "--partition gpu: works only with Slurm; leave it out"),
                ((*IMAGE, "-e", "HF_TOKEN=x"), "-e HF_TOKEN: everyone .*"),
                ((*IMAGE, "--operator", "trainjob", "-e", "PET_NNODES=2"), "-e PET_NNODES: the Kubeflow trainer sets this variable .*"),
                ((*IMAGE, "--operator", "trainjob", "--scheduler", "kai"), "--scheduler: a TrainJob cannot .*"),
                ((*IMAGE, "--operator", "jobset", "--nodes", "2-4"), "2 to 4 nodes: only PyTorchJobs are elastic; .*"),
                ((*IMAGE, "-"), 'script "-": it means standard input, which the pods do not have; name the script\'s file'),
                (("--container", "UPPER/img:1"), "--container UPPER/img:1: the name of an image in a registry has no capital letters; .*"),
                ((*IMAGE, "--gpus-per-node", "0.5"), "--gpus-per-node 0.5: must be a whole number from 0 to 1024"),
                ((*IMAGE, "--dry-run", "-e", "HOME", "--patch", "/no/file"), "--patch /no/file: .*; check the path"),
                ((*IMAGE, "--annotation", "a=hf_" + 34 * "a"), "--annotation a: the value looks like a secret, .*"),
                ((*IMAGE, "--nodes", "0"), "--nodes 0: .*")]:
            with self.subTest(words):
                script = [] if "-" in words else ["train.py"]
                finished = self.toprun("submit", "--on", "kubernetes", *words, *script)
                self.assertEqual(finished.code, 2, finished)
                self.assert_one_line(finished, said)

    def test_a_secret_in_a_file(self):
        folder = self.folder()
        (folder / "toprun.toml").write_text('role = "a"\nenv = { HF_TOKEN = "hf_a" }\n')
        (folder / "toprun.toml").chmod(0o600)
        for engine, way in (("kubernetes", "remove it there, export the variable, and use --secret-env HF_TOKEN, .*"),
                            ("runai", "remove it there, and use --secret-env HF_TOKEN=SECRET:KEY .*")):
            done = self.toprun("submit", "--on", engine, "--dry-run", *IMAGE, "train.py", cwd=folder)
            self.assertEqual(done.code, 2)
            self.assertRegex(done.err, rf"toprun.toml:2: HF_TOKEN in env: everyone .*; {way}")

    def test_what_is_told(self):
        finished = self.toprun("submit", "--on", "kubernetes", "--dry-run", *IMAGE, "--mem", "0", "-e", "HOME", "-e", "PATH=/bin", "train.py")
        self.assert_ok(finished)
        self.assertIn("--mem 0 sets no limit in Kubernetes", finished.err)
        self.assertIn("-e HOME copies HOME of this machine into the pods", finished.err)
        self.assertNotIn("-e PATH", finished.err)

    def test_the_short_name(self):
        short, full = (self.toprun("submit", "--on", on, "--dry-run", *IMAGE, "train.py") for on in ("k8s", "kubernetes"))
        self.assert_ok(short)
        self.assertEqual(short.out, full.out)

    def test_an_engine_that_a_variable_names_wrongly(self):
        for words in (["submit", "--dry-run", "train.py"], ["jobs"], ["status", "1"]):
            with self.subTest(words):
                finished = self.toprun(*words, env={"TOPRUN_ON": "kuberntes"})
                self.assertEqual(finished.code, 2, finished)
                self.assertRegex(finished.err, "TOPRUN_ON=kuberntes: toprun (submits to|knows the engines) .*; did you mean kubernetes\?")

    def test_without_kubectl(self):
        finished = self.toprun("submit", "--on", "kubernetes", *IMAGE, "train.py", env={"PATH": "/nowhere"})
        self.assertEqual(finished.code, 1, finished)
        self.assert_one_line(finished, "--on kubernetes: there is no kubectl in PATH; .*")
        finished = self.toprun("status", "train-x7k2p", env={"PATH": "/nowhere"})
        self.assert_one_line(finished, "cannot find out whether job train-x7k2p exists: this is not a Slurm job id; .* neither runai nor kubectl is in PATH; .*")


if __name__ == "__main__":
    unittest.main()
