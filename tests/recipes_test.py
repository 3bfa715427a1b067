# ctest: TIMEOUT 500 LABELS cluster torch
"""Every command block of docs/guides/recipes that needs no containers."""

import pathlib
import re
import subprocess
import unittest

import recipes
import support
from cluster import column, wait_for
from recipes import LIMIT_S, here
from wheels import NO_INDEX, make_wheel


class Recipes(recipes.RecipeCase):
    def check_slurm_job_script_0(self, block):
        self.one_job(block, 2)

    def check_slurm_job_script_1(self, block):
        self.one_job(block, 2)
        self.assertTrue(list((self.work / "reports").glob("batched.*.out")))

    def check_slurm_job_script_2(self, block):
        self.own_script(block, 2)

    def check_slurm_job_script_3(self, block):
        self.shell_on(block, 1)

    def check_slurm_job_script_4(self, block):
        id = self.submitted("--no-python", "sh", "-c", "echo it prints; sleep 100", cwd=self.work)
        out = self.work / f"logs/sh.{id}.out"
        wait_for(lambda: out.exists() and "it prints" in out.read_text(), "output")
        said = self.run_block(block.replace("1234", id))
        self.assertRegex(said, rf"(?m)^ *{id} +main ")
        self.assertIn("it prints\n", said)
        self.wait_for_state(id, "CANCELLED")

    def check_modules_and_venv_0(self, block):
        self.check_header(block)
        wheels = self.folder()
        make_wheel(wheels, "demo", "1.0", {"demo.py": ""})
        said = self.run_block(block, PIP_FIND_LINKS=str(wheels), **NO_INDEX)
        rows = self.ranks_of(said.split()[-1], 4)
        self.assertEqual(set(column(rows, "VIRTUAL_ENV")), {f"{self.work}/env"})
        self.assertEqual(set(column(rows, "PYTHON_MODULE")), {"loaded"})
        self.assertEqual(set(column(rows, "NCCL_IB_GID_INDEX")), {"3"})

    def check_modules_and_venv_1(self, block):
        self.make_environment()
        rows = self.shell_on(block, 1)
        self.assertEqual(column(rows, "VIRTUAL_ENV"), [f"{self.work}/env"])

    def check_modules_and_venv_2(self, block):
        self.make_environment()
        rows = self.own_script(block, 4)
        self.assertEqual(set(column(rows, "VIRTUAL_ENV")), {f"{self.work}/env"})

    def make_environment(self):
        subprocess.run(["python3", "-m", "venv", "--without-pip", self.work / "env"], check=True)

    def check_nccl_environment_0(self, block):
        said = self.run_block(block)
        for name in ("NCCL_IB_GID_INDEX", "NCCL_IB_HCA", "NCCL_SOCKET_NTHREADS", "NCCL_NSOCKS_PERTHREAD"):
            self.assertRegex(said, rf"(?m)^ *(export )?{name}\b")
        self.assertRegex(said, r"(?m)^\d+ checks found nothing; \d+ do not apply$")

    def check_mpirun_and_horovod_0(self, block):
        self.needs_mpirun()
        self.check_header(block)
        self.ranks_of(self.run_block(block).strip(), 2)

    def check_mpirun_and_horovod_1(self, block):
        self.needs_mpirun()
        self.own_script(block, 2)

    def check_mpirun_and_horovod_2(self, block):
        self.needs_mpirun()
        self.check_header(block)
        self.eight_of_mpi(self.run_block(block).strip())

    def check_mpirun_and_horovod_3(self, block):
        self.needs_mpirun()
        (self.work / "job.sh").write_text(here(block))
        self.eight_of_mpi(
            self.login("sbatch", "--parsable", "job.sh", cwd=self.work, env=self.env).out.strip())

    def check_topology_aware_slurm_0(self, block):
        self.env.update(support.WARM)
        (self.work / "env/bin").mkdir(parents=True)
        (self.work / "env/bin/activate").write_text(f"export PYTHON_EXEC={support.python()}\n")
        (self.work / "job.sh").write_text(here(block))
        self.ends_in_order(
            self.login("sbatch", "--parsable", "job.sh", cwd=self.work, env=self.env).out.strip())

    def check_topology_aware_slurm_1(self, block):
        self.env.update(support.WARM)
        environment = pathlib.Path(support.python()).parent.parent
        block = block.replace("python3 -m venv env && env/bin/pip install torch",
                              f"ln -s {environment} env")
        self.check_header(block)
        self.ends_in_order(self.run_block(block).strip())

    def ends_in_order(self, id):
        job = self.wait_for_state(id, "COMPLETED", "FAILED", "CANCELLED", limit=LIMIT_S)
        output = pathlib.Path(job["StdOut"]).read_text()
        self.assertEqual(job["JobState"], "COMPLETED", output)
        self.assertIn("Sorted by topology\n", output)
        self.assertEqual(re.findall(r"(?m)^(?:\[.*\]:)?\d+ +n(\d) ", output), list("20631457"), output)


recipes.add_cases(Recipes, with_containers=False)

if __name__ == "__main__":
    unittest.main()
