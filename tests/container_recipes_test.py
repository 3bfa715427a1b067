# ctest: TIMEOUT 300 LABELS cluster container
"""Every command block of the recipes with containers, with an image of a real Podman in place of
those of enroot and Singularity."""

import pathlib
import unittest

import containers
import recipes
from cluster import column

IMAGES = ["~/nvidia+pytorch+24.06-py3.sqsh", "pytorch-24.03.sif"]


class Recipes(containers.WithPodman, recipes.RecipeCase):
    PYTHON_INSIDE = True

    def setUp(self):
        super().setUp()
        self.env.update(self.podman.env, TOPRUN_CONTAINERS=str(self.work / "kept"))
        self.env.pop("PYTHON_EXEC", None)

    def run_block(self, text, **more):
        return super().run_block(self.with_our_image(text), **more)

    def with_our_image(self, text):
        for image in IMAGES:
            text = text.replace(image, containers.IMAGE)
        return text

    def job_of(self, block, nodes):
        self.check_header(self.with_our_image(block))
        rows = self.ranks_of(self.run_block(block).strip(), nodes)
        self.assertEqual(set(column(rows, "FROM_IMAGE")), {"yes"})
        return rows

    def shell_inside(self, block):
        words = self.with_our_image(recipes.here(block)).split()
        finished = self.shell(words[2:], "echo $FROM_IMAGE in $PWD; exit 3\n", cwd=self.work,
                              env=self.env)
        self.assertEqual(finished.code, 3, finished)
        self.assertIn(f"yes in {self.work}\n", finished.out)

    def check_enroot_0(self, block):
        rows = self.job_of(block, 2)
        self.assertTrue((self.work / "kept/my-torch").is_dir())
        self.assertEqual(set(column(rows, "ARGUMENTS")), {"-np,8,-n,2"})

    def check_enroot_1(self, block):
        self.shell_inside(block)

    def check_enroot_2(self, block):
        self.builds(block, "~/nvidia", "enroot import")

    def check_enroot_3(self, block):
        compile(block, "enroot.md", "exec")

    def check_singularity_0(self, block):
        self.job_of(block, 2)
        self.assertTrue(list((self.work / "reports").rglob("*.out")))

    def check_singularity_1(self, block):
        self.needs_mpirun()
        self.check_header(self.with_our_image(block))
        self.eight_of_mpi(self.run_block(block).strip())

    def check_singularity_2(self, block):
        self.shell_inside(block)

    def check_singularity_3(self, block):
        self.builds(block, "pytorch-24.03.sif", "docker-archive:")

    def check_singularity_4(self, block):
        scratch = self.folder()
        (scratch / "told").write_text("of scratch")
        (self.work / "ngc.toml").write_text(
            self.with_our_image(block).replace("/scratch:", f"{scratch}:"))
        done = self.toprun("--environment", "./ngc.toml", "--no-python", "sh", "-c",
                           "cat told; echo \" $NCCL_DEBUG\"", cwd=self.work, env=self.env)
        self.assertEqual((done.code, done.out), (0, "of scratch WARN\n"), done)

    def check_singularity_5(self, block):
        (self.work / "ngc.toml").write_text(f'image = "{containers.IMAGE}"\nworkdir = "{self.work}"\n')
        self.job_of(block, 2)

    def builds(self, block, image, words):
        """Neither enroot nor Singularity is here: only what would be run is looked at."""
        text = recipes.here(block).replace("toprun setup", "toprun setup --dry-run", 1)
        (self.work / "pytorch.tar").touch()
        for name in ("enroot", "singularity", "apptainer"):
            (self.work / "bin" / name).write_text("#!/bin/sh\nexit 1\n")
            (self.work / "bin" / name).chmod(0o755)
        said = recipes.RecipeCase.run_block(self, text)
        self.assertIn("toprun setup", said)
        self.assertIn(pathlib.Path(image).name, said)


recipes.add_cases(Recipes, with_containers=True)

if __name__ == "__main__":
    unittest.main()
