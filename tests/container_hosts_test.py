# ctest: TIMEOUT 400 LABELS cluster torch container
"""Containers of a real Podman on several virtual hosts, through a real Slurm."""

import pathlib
import re
import unittest

import containers
import support
from containers import IMAGE
from submitting import SubmitCase
from support import EXAMPLES, TOPRUN

LIMIT_S = 150


class Hosts(containers.WithPodman, SubmitCase):
    UP = ("--hosts", "4", "--racks", "2", "--slurm")  # r0: n0, n2; r1: n1, n3
    PYTHON = True

    def setUp(self):
        self.here = self.folder()
        self.env = {**self.podman.env, "OMP_NUM_THREADS": "1"}

    def torch(self):
        return [*containers.binds_for(self.python), "--bind", EXAMPLES, "--venv",
                pathlib.Path(self.python).parent.parent]

    def test_training_on_two_hosts(self):
        done = self.srun("-N2", TOPRUN, "--container", IMAGE, *self.torch(), "--nproc-per-node", "2",
                         EXAMPLES / "train_ddp.py", "--epochs", "1", "--output-dir",
                         self.here / "out", cwd=self.here, env={**self.env, **support.WARM_DIGITS}, limit=LIMIT_S)
        self.assert_ok(done)
        self.assertRegex(done.out, r"held-out accuracy \d\.\d{4}")
        self.assertRegex(done.err, "4 ranks on 2 nodes, all ended with 0")

    def test_a_submitted_job_keeps_the_networks_order(self):
        done = self.submit("--nodes", "4", "--follow", "--container", IMAGE, "--no-python", "sh", "-c",
                           'echo "rank $RANK $TOPRUN_LOCATION $(cat /etc/passwd)"', cwd=self.here,
                           env=self.env, limit=LIMIT_S)
        self.assert_ok(done)
        ranks = sorted(re.findall(r"rank (\d) (\S+) root:x:0", done.out))
        self.assertEqual([place for _, place in ranks],
                         ["/core/r0/n0", "/core/r0/n2", "/core/r1/n1", "/core/r1/n3"], done)

    def test_a_host_that_cannot_is_named_and_ends_the_run_of_all(self):
        only_n0 = self.here / "only"
        script = f'if test "$(hostname)" != n1; then mkdir -p {only_n0}-$(hostname); fi\n' \
                 f'exec {TOPRUN} --container {IMAGE} --bind {only_n0}-n0:/data --no-python sleep 100'
        done = self.srun("-N2", "-w", "n0,n1", "sh", "-c",
                         script.replace(f"--bind {only_n0}-n0", f"--bind {only_n0}-$(hostname)"),
                         cwd=self.here, env=self.env)
        self.assertEqual(done.code, 2, done)
        self.assertRegex(done.err, rf"--bind {only_n0}-n1 on n1: there is no such file or folder")

    def test_a_failure_elsewhere_ends_a_container_that_is_being_started(self):
        """On n0 the runtime hangs, as in a pull from a registry that does not answer."""
        slow = self.here / "slow"
        slow.mkdir()
        (slow / "podman").write_text("#!/bin/sh\nexec sleep 1000\n")
        (slow / "podman").chmod(0o755)
        script = f'if test "$(hostname)" = n0; then PATH={slow}:$PATH; where=/tmp; else where=/none; fi\n' \
                 f'exec {TOPRUN} --container {IMAGE} --bind $where --no-python true'
        done = self.srun("-N2", "-w", "n0,n1", "sh", "-c", script, cwd=self.here, env=self.env)
        self.assertEqual(done.code, 2, done)
        self.assertRegex(done.err, "--bind /none on n1: there is no such file or folder")
        self.assertLess(done.seconds, 30)

    def test_a_shell_inside(self):
        done = self.shell(["--nodes", "1", "--container", IMAGE, "-e", "OWN=mine"],
                          "cat /etc/passwd; echo in $PWD $OWN on $(id -u)-$SLURM_NODEID; exit 3\n",
                          cwd=self.here, env=self.env)
        self.assertRegex(done.out, r"root:x:0:0:root:/root:/bin/sh\s")
        self.assertIn(f"in {self.here} mine on 0-0", done.out)
        self.assertEqual(done.code, 3, done)

    def test_ranks_that_srun_starts_one_by_one_have_containers_of_their_own(self):
        done = self.srun("-N2", "-n4", TOPRUN, "--container", IMAGE, "-e", "OWN=mine", "--no-python",
                         "sh", "-c", "echo $RANK/$WORLD_SIZE $OWN $(cat /etc/passwd)", cwd=self.here,
                         env=self.env, limit=LIMIT_S)
        self.assert_ok(done)
        self.assertEqual(sorted(done.out.splitlines()),
                         [f"{rank}/4 mine root:x:0:0:root:/root:/bin/sh" for rank in range(4)])

    def test_ranks_of_mpirun_have_containers_of_their_own(self):
        support.needs_program("mpirun")
        done = self.submit("--nodes", "2", "--launcher", "mpirun", "--ranks-per-node", "2", "--follow",
                           "--container", IMAGE, "--no-python", "sh", "-c",
                           "echo rank $OMPI_COMM_WORLD_RANK/$OMPI_COMM_WORLD_SIZE $(cat /etc/passwd)",
                           cwd=self.here, env=self.env, limit=LIMIT_S)
        self.assert_ok(done)
        self.assertEqual(sorted(re.findall(r"rank (\S+) root:x:0", done.out)),
                         [f"{rank}/4" for rank in range(4)], done)

    def test_many_ranks_in_one_container_per_host(self):
        done = self.srun("-N4", TOPRUN, "--container", IMAGE, "--nproc-per-node", "16",
                         "--no-python", "sh", "-c", "echo $RANK", cwd=self.here, env=self.env,
                         limit=LIMIT_S)
        self.assert_ok(done)
        self.assertEqual(sorted(map(int, done.out.split())), list(range(64)))


if __name__ == "__main__":
    unittest.main()
