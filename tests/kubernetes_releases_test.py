# ctest: TIMEOUT 300
"""`toprun submit --on kubernetes` with a real kubectl and an API server of the tests: releases of the operators whose
schemas differ, Secrets, namespaces with Pod Security, names that are taken, objects that are too large."""

import base64
import json
import unittest

import support
from api_objects import Refusal
from api_server import ApiServer

IMAGE = ("--gpus-per-node", "0", "--container", "docker://registry.example/train:1")


class ReleasesCase(support.TestCase):
    def setUp(self):
        support.needs_program("kubectl")
        self.api = ApiServer(self.folder())
        self.addCleanup(self.api.close)

    def submit(self, *words, script=("train.py",), **env):
        return self.toprun("submit", "--on", "kubernetes", *IMAGE, *words, *script,
                           env={"KUBECONFIG": str(self.api.kubeconfig), "HOME": str(self.folder()), **env})

    def made(self, plural, *words, **env):
        """The object of a submission that was taken, and what was said."""
        finished = self.submit(*words, **env)
        self.assert_ok(finished)
        self.assertRegex(finished.out, r"\A\S+\n\Z")
        job = self.api.objects.find(plural, "default", finished.out.strip())
        self.assertIsNotNone(job, finished)
        return job, finished

    def refused(self, *words, said, code=1, **env):
        finished = self.submit(*words, **env)
        self.assertEqual(finished.code, code, finished)
        self.assert_one_line(finished, said)
        return finished


class Trainers(ReleasesCase):
    """2.2 has runtimePatches and activeDeadlineSeconds, 2.1 podTemplateOverrides, 2.0 podSpecOverrides."""

    FIELDS = {None: "runtimePatches", "2.1": "podTemplateOverrides", "2.0": "podSpecOverrides"}

    def use(self, release):
        self.api.releases = {"trainjobs": release} if release else {}

    def test_the_field_of_that_release_is_written(self):
        for release, field in self.FIELDS.items():
            with self.subTest(release):
                self.use(release)
                job, _ = self.made("trainjobs", "--operator", "trainjob", "-N", "2", "--pvc", "scratch:/scratch",
                                   "--service-account", "trainer", "--toleration", "gpu", "--node-selector", "a=b")
                self.assertIn(field, job["spec"])
                self.assertEqual([one for one in self.FIELDS.values() if one in job["spec"]], [field])
                text = json.dumps(job["spec"][field])
                for part in ('"claimName": "scratch"', '"mountPath": "/scratch"', '"serviceAccountName": "trainer"',
                             '"key": "gpu"', '"nodeSelector": {"a": "b"}'):
                    self.assertIn(part, text)
                if release:
                    self.assertIn('"targetJobs": [{"name": "node"}]', text)

    def test_what_a_release_lacks_is_named(self):
        for release, words, field, option in [
                ("2.1", ("--time", "10"), "spec.activeDeadlineSeconds", "--time"),
                ("2.0", ("--time", "10"), "spec.activeDeadlineSeconds", "--time"),
                ("2.1", ("--ipc-lock",), r"spec.podTemplateOverrides\[0\].spec.containers\[0\].securityContext", "--ipc-lock"),
                ("2.0", ("--annotation", "a=b"), r"spec.podSpecOverrides\[0\].metadata", "--annotation"),
                ("2.0", ("--required-topology-key", "rack", "-N", "2"), r"spec.podSpecOverrides\[0\].(metadata|affinity)", "topology"),
                ("2.0", ("--image-pull-secret", "a"), r"spec.podSpecOverrides\[0\].imagePullSecrets", "--image-pull-secret")]:
            with self.subTest(release, words=words):
                self.use(release)
                self.refused("--operator", "trainjob", *words,
                             said=f"--operator trainjob: the cluster's version of TrainJob has no field {field}, which .*{option}.*")
                self.assertEqual(self.api.objects.list("trainjobs"), [])

    def test_auto_takes_the_next_operator_and_says_so(self):
        self.use("2.1")
        self.api.absent.add("pytorchjobs")
        job, finished = self.made("jobsets", "--time", "10")
        self.assertEqual(job["kind"], "JobSet")
        self.assertIn("the job is a JobSet: the cluster's version of TrainJob has no field spec.activeDeadlineSeconds, which --time needs",
                      finished.err)
        job, finished = self.made("trainjobs")
        self.assertNotIn("this is a", finished.err)

    def test_a_server_that_publishes_nothing_is_taken_for_the_newest(self):
        self.api.publishes = False
        self.made("trainjobs", "--operator", "trainjob", "-N", "2")
        self.use("2.0")
        self.refused("--operator", "trainjob", said='kubectl create: .*unknown field "spec.runtimePatches".*--operator')

    def test_a_dry_run_by_the_server_reads_the_schema_too(self):
        self.use("2.0")
        finished = self.submit("--operator", "trainjob", "--dry-run=server")
        self.assert_ok(finished)
        self.assertIn("podSpecOverrides", finished.out)

    def test_a_runtime_of_the_namespace(self):
        job, _ = self.made("trainjobs", "--operator", "trainjob", "--runtime", "trainingruntime/mine")
        self.assertEqual(job["spec"]["runtimeRef"], {"name": "mine", "kind": "TrainingRuntime"})


class TrainingOperators(ReleasesCase):
    def test_the_number_of_ranks_is_always_told(self):
        for words, count in [(("-c", "8"), 1), (("--gpus-per-node", "4"), 4), (("--nproc-per-node", "3"), 3),
                             (("--gpus-per-node", "4", "--gpu-resource", "amd.com/gpu"), 4),
                             (("--extended-resource", "habana.ai/gaudi=8"), 8)]:
            with self.subTest(words):
                job, _ = self.made("pytorchjobs", "--operator", "pytorchjob", *words)
                self.assertEqual(job["spec"]["nprocPerNode"], str(count))
                job, _ = self.made("trainjobs", "--operator", "trainjob", *words)
                self.assertEqual(job["spec"]["trainer"]["numProcPerNode"], count)
                job, _ = self.made("jobsets", "--operator", "jobset", *words)
                self.assertIn({"name": "PET_NPROC_PER_NODE", "value": str(count)}, variables_of(job))

    def test_1_6_is_told_it_in_the_command(self):
        self.api.releases = {"pytorchjobs": "1.6"}
        job, _ = self.made("pytorchjobs", "-N", "2", "--gpus-per-node", "4")
        self.assertNotIn("nprocPerNode", job["spec"])
        for role in ("Master", "Worker"):
            words = job["spec"]["pytorchReplicaSpecs"][role]["template"]["spec"]["containers"][0]["command"]
            self.assertEqual(words, ["toprun", "--nproc-per-node=4", "--no-config", "train.py"])

    def test_another_resource_is_asked_for(self):
        job, _ = self.made("jobsets", "--operator", "jobset", "--gpus-per-node", "4", "--gpu-resource", "amd.com/gpu")
        limits = pods_of(job)["containers"][0]["resources"]["limits"]
        self.assertEqual(limits, {"amd.com/gpu": "4"})


def pods_of(jobset):
    return jobset["spec"]["replicatedJobs"][0]["template"]["spec"]["template"]["spec"]


def variables_of(jobset):
    return pods_of(jobset)["containers"][0]["env"]


class Secrets(ReleasesCase):
    WORDS = ("--operator", "jobset", "--secret-env", "HF_TOKEN", "--secret-env", "W=tokens:wandb")

    def test_a_secret_goes_with_its_job(self):
        job, _ = self.made("jobsets", *self.WORDS, HF_TOKEN="hf_hush\nhush")
        secret, = self.api.objects.list("secrets")
        self.assertEqual({name: base64.b64decode(value) for name, value in secret["data"].items()},
                         {"HF_TOKEN": b"hf_hush\nhush"})
        owner, = secret["metadata"]["ownerReferences"]
        self.assertEqual((owner["kind"], owner["name"], owner["uid"]), ("JobSet", job["metadata"]["name"], job["metadata"]["uid"]))
        name = secret["metadata"]["name"]
        for one in ({"name": "HF_TOKEN", "valueFrom": {"secretKeyRef": {"name": name, "key": "HF_TOKEN"}}},
                    {"name": "W", "valueFrom": {"secretKeyRef": {"name": "tokens", "key": "wandb"}}}):
            self.assertIn(one, variables_of(job))
        self.assertNotIn("hush", json.dumps(job))

    def test_where_none_may_be_made_the_job_is_taken_back(self):
        self.api.refuse = lambda verb, plural, item: Refusal(
            403, "Forbidden", "secrets is forbidden: User \"ada\" cannot create") if plural == "secrets" else None
        self.refused(*self.WORDS, HF_TOKEN="hush", said="--secret-env: .*secrets is forbidden.*; the job is deleted again; .*")
        self.assertEqual(self.api.objects.list("jobsets"), [])
        self.refused(*self.WORDS, "--dry-run=server", HF_TOKEN="hush", said="--secret-env: .*secrets is forbidden.*")

    def test_a_trial_makes_nothing(self):
        finished = self.submit(*self.WORDS, "--dry-run=server", HF_TOKEN="hush")
        self.assert_ok(finished)
        self.assertIn("# `toprun submit` also creates a Secret with HF_TOKEN, which is deleted with the job; kubectl create with this text alone does not create it.", finished.out)
        self.assertEqual(self.api.objects.list("secrets") + self.api.objects.list("jobsets"), [])

    def test_accounts(self):
        job, _ = self.made("jobsets", "--operator", "jobset", "--env-from", "all", "--service-account", "trainer",
                           "--image-pull-secret", "registry")
        pods = pods_of(job)
        self.assertEqual(pods["serviceAccountName"], "trainer")
        self.assertEqual(pods["imagePullSecrets"], [{"name": "registry"}])
        self.assertEqual(pods["containers"][0]["envFrom"], [{"secretRef": {"name": "all"}}])


class Namespaces(ReleasesCase):
    RESTRICTED = {"pod-security.kubernetes.io/enforce": "restricted"}

    def test_its_label_is_obeyed(self):
        for words in ((), ("--namespace", "default")):
            with self.subTest(words):
                job, finished = self.made("jobsets", "--operator", "jobset", *words)
                self.assertNotIn("securityContext", pods_of(job)["containers"][0])
                self.api.objects.find("namespaces", None, "default")["metadata"]["labels"] = self.RESTRICTED
                job, finished = self.made("jobsets", "--operator", "jobset", *words, "--run-as", "1000:100")
                self.assertEqual(pods_of(job)["containers"][0]["securityContext"], {
                    "runAsUser": 1000, "runAsGroup": 100, "runAsNonRoot": True, "allowPrivilegeEscalation": False,
                    "capabilities": {"drop": ["ALL"]}, "seccompProfile": {"type": "RuntimeDefault"}})
                self.assertIn("this namespace accepts only restricted pods", finished.err)
                _, finished = self.made("jobsets", "--operator", "jobset", *words, "--restricted")
                self.assertNotIn("this namespace", finished.err)
                self.api.objects.find("namespaces", None, "default")["metadata"]["labels"] = {}

    def test_a_pytorchjobs_workers_are_told_of(self):
        _, finished = self.made("pytorchjobs", "--operator", "pytorchjob", "-N", "2", "--restricted")
        self.assertIn("adds an init container to them", finished.err)
        for words in (("-N", "1"), ("-N", "1-2")):
            _, finished = self.made("pytorchjobs", "--operator", "pytorchjob", *words, "--restricted")
            self.assertNotIn("init container", finished.err)
        _, finished = self.made("trainjobs", "-N", "2", "--restricted")
        self.assertIn("a PyTorchJob is not possible with restricted pods", finished.err)
        self.made("pytorchjobs", "-N", "2")

    def test_one_that_may_not_be_read(self):
        self.api.refuse = lambda verb, plural, item: Refusal(
            403, "Forbidden", "namespaces is forbidden") if plural == "namespaces" else None
        _, finished = self.made("jobsets", "--operator", "jobset")
        self.assertNotIn("forbidden", finished.err)

    def test_a_name_of_another_kind_is_taken(self):
        self.made("pytorchjobs", "--operator", "pytorchjob", "--job-name", "same")
        self.refused("--operator", "jobset", "--job-name", "same", code=2,
                     said="--job-name same: a PyTorchJob has this name, .*")
        self.made("jobsets", "--operator", "jobset", "--job-name", "other")

    def test_the_jobset_of_a_trainjob_is_none_of_its_own(self):
        job, _ = self.made("trainjobs", "--operator", "trainjob", "--job-name", "train")
        self.api.objects.create("jobsets", "default", {
            "apiVersion": "jobset.x-k8s.io/v1alpha2", "kind": "JobSet", "spec": {}, "metadata": {
                "name": "train", "ownerReferences": [{"kind": "TrainJob", "name": "train", "uid": job["metadata"]["uid"]}]}})
        self.refused("--operator", "trainjob", "--job-name", "train", said=r"kubectl create: \(AlreadyExists\).*")
        self.refused("--operator", "jobset", "--job-name", "train", code=2, said="--job-name train: a TrainJob has this name, .*")


class Sizes(ReleasesCase):
    def test_an_object_that_the_cluster_cannot_keep(self):
        words = ["x" * 1000] * 1600
        for operator in ("pytorchjob", "jobset"):
            with self.subTest(operator):
                finished = self.submit("--operator", operator, script=("train.py", *words))
                self.assertEqual(finished.code, 2, finished)
                self.assert_one_line(finished, r"the job's object is \d+ bytes long: the cluster stores at most 1500000 bytes; .*file")

    def test_a_word_that_no_program_can_be_given(self):
        words = self.folder() / "toprun.toml"
        words.write_text(f"before = '{'x' * 140_000}'\n")
        finished = self.submit("--operator", "jobset", "--config-file", words)
        self.assertEqual(finished.code, 2, finished)
        self.assert_one_line(finished, r"an argument is \d+ bytes long: Linux accepts at most 131071 bytes in an argument; .*")

    def test_a_patch(self):
        patch = self.folder() / "patch.yaml"
        patch.write_text("spec: {replicatedJobs: [{name: node, template: {spec: {template: {spec: {runtimeClassName: nvidia,\n"
                         "  containers: [{name: node, imagePullPolicy: Always}]}}}}}]}\n")
        job, _ = self.made("jobsets", "--operator", "jobset", "--patch", patch)
        pods = pods_of(job)
        self.assertEqual((pods["runtimeClassName"], pods["containers"][0]["imagePullPolicy"]), ("nvidia", "Always"))
        self.assertEqual(pods["containers"][0]["image"], "registry.example/train:1")
        patch.write_text("spec: {nodes: 1}\n")
        self.refused("--operator", "jobset", "--patch", patch,
                     said="--operator jobset: the cluster's version of JobSet has no field spec.nodes.*")
        patch.write_text("spec: [\n")
        self.refused("--operator", "jobset", "--patch", patch, said=rf"{patch}:2:1: .*", code=2)


if __name__ == "__main__":
    unittest.main()
