# ctest: TIMEOUT 500 LABELS cluster torch
"""The examples, submitted to the virtual cluster's Slurm: what they compute on several nodes, where
their output goes, how jobs are chained, followed and cancelled."""

import json
import re
import unittest

import support
from cluster import wait_for
from submitting import SubmitCase
from support import EXAMPLES, TOPRUN

LIMIT_S = 180  # on a loaded machine; 15 s on an idle one


class Examples(SubmitCase):
    UP = ("--hosts", "4", "--racks", "2", "--slurm")  # r0: n0, n2; r1: n1, n3

    def setUp(self):
        self.env = {"PYTHON_EXEC": support.python(), "CUDA_VISIBLE_DEVICES": "",
                    "OMP_NUM_THREADS": "1"}
        self.here = self.folder()

    def submit(self, *words, env=support.WARM, **options):
        return super().submit(*words, cwd=self.here, env={**self.env, **env}, limit=LIMIT_S, **options)

    def lines_of_host(self, output, host):
        """Without PyTorch's warnings about names."""
        return re.findall(rf"(?m)^{host}: ((?!\[W).*)$", output)

    def test_ranks_follow_the_network_in_a_job_after_another(self):
        first = self.submitted("--no-python", "sleep", "2")
        finished = self.submit("--after", first, "--nodes", "4", "--follow",
                               EXAMPLES / "topology.py", "--title", "Sorted by topology")
        self.assert_ok(finished)
        id = re.search(r"toprun: job (\d+): ", finished.err)[1]
        self.assertRegex(finished.err, rf"job {id} waits: Dependency: ")
        title, header, *rows = self.lines_of_host(finished.out, "n0")[:6]
        self.assertEqual((title, header.split()),
                         ("Sorted by topology", ["rank", "hostname", "physical_host"]))
        self.assertEqual([row.split() for row in rows],
                         [[str(rank), host, f"/core/{rack}/{host}"] for rank, (rack, host) in
                          enumerate([("r0", "n0"), ("r0", "n2"), ("r1", "n1"), ("r1", "n3")])])
        self.assertEqual(sorted(path.name for path in (self.here / "logs" / id).iterdir()),
                         ["job.sbatch", "n0.out", "n1.out", "n2.out", "n3.out", "report.json", "story.jsonl"])

    def test_pi_and_its_exit_codes(self):
        for steps, code, pattern in [
            ("100000", 0, r"n\d: pi = 3\.14159265\d+  error \d\.\de-\d\d  \(100000 steps, 4 ranks"),
            ("10", 1, r"n\d: .*take more steps"),
        ]:
            with self.subTest(steps):
                finished = self.submit("--nodes", "2", "--nproc-per-node", "2", "--wait",
                                       EXAMPLES / "pi.py", "--steps", steps)
                self.assertEqual(finished.code, code, finished)
                id = finished.out.strip()
                logs = self.login(TOPRUN, "logs", id, cwd=self.here)
                self.assertRegex(logs.out, rf"(?m)^{pattern}")
                how = "ended with exit code 0" if code == 0 else r"failed: rank \d on n\d ended with exit code 1: .*"
                self.assertRegex(finished.err, rf"job {id}: {how}")
                report = json.loads((self.here / f"logs/{id}/report.json").read_text())
                self.assertEqual(report["exit_code"], code)

    def test_a_training_and_what_comes_after_it(self):
        training = self.submitted("--nodes", "2", "--nproc-per-node", "2", EXAMPLES / "train_ddp.py",
                                  "--output-dir", "out", "--epochs", "2", env=support.WARM_DIGITS)
        after = self.submit("--after", training, "--wait", "--no-python", "test", "-s", "out/digits.pt")
        self.assert_ok(after)
        followed = self.login(TOPRUN, "logs", training, cwd=self.here)
        root = re.search(r"(?m)^(n\d): held-out accuracy \d\.\d{4}$", followed.out)
        self.assertTrue(root, followed)
        of_script = [line for line in self.lines_of_host(followed.out, root[1]) if not line.startswith("toprun: ")]
        self.assertEqual(len(of_script), 3, followed)  # 2 epochs, the accuracy: once for both ranks

    def test_cancel(self):
        id = self.submitted("--nodes", "2", EXAMPLES / "train_resume.py", "--epochs", "100000")
        follow = self.start("ctl", TOPRUN, "logs", "-f", id, cwd=self.here)
        wait_for((self.here / "last.pt").exists, "a checkpoint", LIMIT_S)
        self.assert_ok(self.login(TOPRUN, "cancel", id))
        finished = follow.wait(LIMIT_S)
        self.assertEqual(finished.code, 143, finished)
        self.assertRegex(finished.out, r"(?m)^n\d: epoch 1/100000 ")
        self.assertRegex(finished.err, rf"job {id}: cancelled")
        report = json.loads((self.here / f"logs/{id}/report.json").read_text())
        self.assertEqual(report["exit_code"], 143)


if __name__ == "__main__":
    unittest.main()
