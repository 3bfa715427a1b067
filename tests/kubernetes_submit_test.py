# ctest: TIMEOUT 120
"""`toprun submit --on kubernetes`: the objects that it writes, and what it refuses."""

import json
import pathlib
import random
import subprocess
import unittest

import support

IMAGE = ("--container", "docker://python:3.12")
CRDS = pathlib.Path(__file__).resolve().parents[2] / "shared/data/crds"
CHECK = pathlib.Path(__file__).with_name("crd_check.py")
OPERATORS = ("pytorchjob", "trainjob", "jobset")
# Lines whose objects together have every field that we write.
LINES = [
    ("-N", "1"),
    ("-N", "4", "--gpus-per-node", "8", "--nproc-per-node", "8"),
    ("-N", "2", "-c", "4", "--mem", "8G", "-t", "10", "--job-name", "train", "--namespace", "ml"),
    ("-N", "2", "--pvc", "scratch:/scratch", "--pvc", "data:/data:ro", "-e", "A=$(B) $$ $"),
    ("-N", "2", "--annotation", "k8s.v1.cni.cncf.io/networks=kube-system/roce", "--extended-resource", "rdma/rdma=1"),
]
ELASTIC = ("-N", "2-4", "--max-restarts", "3", "--nproc-per-node", "2")


class SubmitCase(support.TestCase):
    def written(self, *words, script=("train.py",)):
        finished = self.toprun("submit", "--on", "kubernetes", "--dry-run", *IMAGE, *words, *script)
        self.assert_ok(finished)
        return json.loads(finished.out)


class Objects(SubmitCase):
    def check(self, operator, lines):
        crd = CRDS / f"{operator}.yaml"
        if not crd.exists():
            self.skipTest(f"the CRD is not beside the repository: no {crd.name}")

        def refused(objects):
            return subprocess.run(["/usr/bin/python3", CHECK, crd], input=json.dumps(objects), capture_output=True,
                                  text=True, timeout=60)
        objects = [self.written("--operator", operator, *line) for line in lines]
        fine = refused(objects)
        self.assertEqual((fine.returncode, fine.stdout, fine.stderr), (0, "", ""))
        objects[0]["spec"]["nodes"] = 1
        wrong = refused(objects)
        self.assertIn("object 0: spec: Additional properties", wrong.stdout, wrong.stderr)

    def test_pytorchjobs_fit_their_crd(self):
        self.check("pytorchjob", [*LINES, ELASTIC])

    def test_trainjobs_fit_their_crd(self):
        self.check("trainjob", LINES)

    def test_variables_of_the_trainer_are_not_set(self):
        names = [one["name"] for one in self.written(*LINES[3], "--operator", "trainjob")["spec"]["trainer"]["env"]]
        self.assertEqual([name for name in names if name.startswith("PET_")], [])

    def test_names_are_the_clusters_unless_chosen(self):
        for operator in OPERATORS:
            self.assertEqual(self.written("--operator", operator, script=("my_App.py",))["metadata"]["generateName"],
                             "my-app-")
            self.assertEqual(self.written("--operator", operator, "--job-name", "a")["metadata"]["name"], "a")


class Words(SubmitCase):
    def test_hostile_words_stand_as_they_are_once_kubelet_has_read_them(self):
        chance = random.Random(18)
        letters = ["$", "(", ")", "A", "\"", "'", "\\", "\n", " ", "é", "{", "`", "-"]
        words = ["".join(chance.choices(letters, k=chance.randrange(8))) for _ in range(1000)]
        container = self.written(script=("train.py", *words))["spec"]["pytorchReplicaSpecs"]["Master"]["template"][
            "spec"]["containers"][0]
        self.assertEqual([kubelet(word, {"A": "value"}) for word in container["command"][-1000:]], words)


def kubelet(word, variables):
    """As kubelet expands a command: $(NAME) where NAME is defined, $$ as $."""
    out, at = "", 0
    while at < len(word):
        two = word[at:at + 2]
        end = word.find(")", at)
        if two == "$$":
            out, at = out + "$", at + 2
        elif two == "$(" and end > 0 and word[at + 2:end] in variables:
            out, at = out + variables[word[at + 2:end]], end + 1
        else:
            out, at = out + word[at], at + 1
    return out


class Refusals(support.TestCase):
    def test_one_line_each(self):
        for words, said in [
                ((), "--on kubernetes: a pod needs an image; say --container IMAGE"),
                ((*IMAGE, "--job-name", "my_App"), "--job-name my_App: .*; say --job-name my-app"),
                ((*IMAGE, "--partition", "gpu"), "--partition gpu: is for Slurm alone; leave it out"),
                ((*IMAGE, "-e", "HF_TOKEN=x"), "-e HF_TOKEN: everybody .*"),
                ((*IMAGE, "--nodes", "0"), "--nodes 0: .*")]:
            with self.subTest(words):
                finished = self.toprun("submit", "--on", "kubernetes", *words, "train.py")
                self.assertEqual(finished.code, 2, finished)
                self.assert_one_line(finished, said)

    def test_without_kubectl(self):
        finished = self.toprun("submit", "--on", "kubernetes", *IMAGE, "train.py", env={"PATH": "/nowhere"})
        self.assertEqual(finished.code, 1, finished)
        self.assert_one_line(finished, "--on kubernetes: there is no kubectl in PATH; .*")
        finished = self.toprun("status", "train-x7k2p", env={"PATH": "/nowhere"})
        self.assert_one_line(finished, "job train-x7k2p is unknown: only Run:AI's and Kubernetes' jobs have names, and there is no runai .*")


if __name__ == "__main__":
    unittest.main()
