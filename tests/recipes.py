"""Command blocks of docs/guides/recipes as cases: each is run on the virtual cluster as it stands on its page,
but for what this cluster lacks (GPUs, accounts, the way to a package index)."""

import os
import pathlib
import re
import subprocess

import support
from cluster import column, shown
from submitting import SubmitCase
from support import EXAMPLES, REPOSITORY

BLOCK = re.compile(r"^```\w*\n(.*?)^```$", re.M | re.S)
LACKING = re.compile(r" --(?:account|qos|constraint|gres|gpus-per-node)[ =]\S+")
STAND_INS = [("-m venv env", "-m venv --without-pip env"), ("env/bin/pip install torch", "true"),
             ("--venv env torch", "--venv env demo")]
POD_PAGES = {"runai"}  # runai_test.py has them
CONTAINER_PAGES = {"enroot", "singularity"}
MODULES = pathlib.Path("/usr/share/modules")  # Environment Modules, as Debian has them
LIMIT_S = 180

TRAIN = """\
import os, sys
names = ["RANK", "WORLD_SIZE", "TOPRUN_NODE_NAME", "VIRTUAL_ENV", "PYTHON_MODULE", "NCCL_IB_GID_INDEX",
         "FROM_IMAGE"]
values = [f"{name}={os.environ.get(name, 'unset')}" for name in names]
print("shown", *values, "ARGUMENTS=" + ",".join(sys.argv[1:]))
"""


def blocks(with_containers):
    """{(page, number of the block on it): text} of the pages about containers, or of all others."""
    return {(page.stem, number): text
            for page in sorted((REPOSITORY / "docs/guides/recipes").glob("*.md"))
            if page.stem not in POD_PAGES and (page.stem in CONTAINER_PAGES) == with_containers
            for number, text in enumerate(BLOCK.findall(page.read_text()))}


def here(block):
    """The block as this cluster can run it."""
    text = LACKING.sub("", block)
    for old, new in STAND_INS:
        text = text.replace(old, new)
    return text


class RecipeCase(SubmitCase):
    UP = ("--rack-of", "b,d,a,c,e,f,b,f", "--cpus", "96", "--slurm")

    def setUp(self):
        if not MODULES.exists():
            self.skipTest("environment-modules is not installed")
        self.work = self.folder()
        (self.work / "bin").mkdir()
        (self.work / "bin/toprun").symlink_to(os.path.realpath(support.binary()))
        (self.work / "train.py").write_text(TRAIN)
        (self.work / "topology.py").symlink_to(EXAMPLES / "topology.py")
        for name in ("python/3.11.2", "singularity"):
            (self.work / "modules" / name).parent.mkdir(parents=True, exist_ok=True)
            (self.work / "modules" / name).write_text("#%Module\nsetenv PYTHON_MODULE loaded\n")
        self.env = {"PATH": f"{self.work}/bin:{os.environ['PATH']}", "HOME": str(self.work),
                    "MODULEPATH": str(self.work / "modules"), "MODULESHOME": str(MODULES),
                    "LOADEDMODULES": "", "CUDA_VISIBLE_DEVICES": "", "OMP_NUM_THREADS": "1"}

    def run_block(self, text, **more):
        finished = self.begin(*self.cluster.on("ctl", "bash", "-euc", here(text)), cwd=self.work,
                              env={**self.env, **more}).wait(LIMIT_S)
        self.assert_ok(finished)
        return finished.out

    def ranks_of(self, id, world_size):
        """What train.py printed in this job, by rank."""
        job = self.wait_for_state(id, "COMPLETED", "FAILED", "CANCELLED", limit=LIMIT_S)
        output = pathlib.Path(job["StdOut"]).read_text()
        self.assertEqual(job["JobState"], "COMPLETED", output)
        rows = shown(re.sub(r"(?m)^\[.*\]:", "", output))
        self.assertEqual(column(rows, "WORLD_SIZE"), [str(world_size)] * world_size, output)
        return rows

    def check_header(self, block):
        """The script that the block as it stands would submit has each of its options."""
        for line in re.findall(r"toprun submit .*", block):
            words = line.rstrip(")").replace("$id", "7").replace("--after setup", "--after 7")
            dry = subprocess.run(["bash", "-euc", words.replace("submit", "submit --dry-run", 1)],
                                 cwd=self.work, capture_output=True, text=True,
                                 env={**self.env, "PATH": f"{self.work}/bin:{self.without_slurm()}"})
            self.assertEqual(dry.returncode, 0, dry.stderr)
            for option in LACKING.findall(words):
                name, value = option.split()
                self.assertIn(f"#SBATCH {name}={value}\n", dry.stdout)

    def without_slurm(self):
        """A PATH that has what modules need and no engine."""
        programs = self.folder()
        for name in ("bash", "sh", "env", "python3", "tclsh", "id", "basename", "ps", "sed", "grep"):
            for folder in os.environ["PATH"].split(":"):
                if os.path.exists(f"{folder}/{name}") and not (programs / name).exists():
                    (programs / name).symlink_to(f"{folder}/{name}")
        return programs

    def one_job(self, block, nodes):
        self.check_header(block)
        id = self.run_block(block).strip()
        self.ranks_of(id, nodes)

    def own_script(self, block, nodes):
        (self.work / "job.sh").write_text(here(block))
        id = self.login("sbatch", "--parsable", "job.sh", cwd=self.work, env=self.env).out.strip()
        return self.ranks_of(id, nodes)

    def shell_on(self, block, nodes):
        words = here(block).split()
        self.assertEqual(words[:2], ["toprun", "shell"])
        finished = self.shell(words[2:], "toprun train.py\nexit 3\n", cwd=self.work, env=self.env)
        self.assertEqual(finished.code, 3, finished)
        rows = [row for row in shown(finished.out) if row["RANK"].isdigit()]
        self.assertEqual(column(rows, "WORLD_SIZE"), [str(nodes)] * nodes)
        self.assertEqual(set(column(rows, "PYTHON_MODULE")), {"loaded"})
        return rows

    def needs_mpirun(self):
        """train_horovod.py stands for any program whose ranks are MPI's: Horovod is seldom there."""
        support.needs_program("mpirun")
        self.env.update(OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
        (self.work / "train_horovod.py").write_text(
            "import os, sys\n"
            "of = 'OMPI_COMM_WORLD_'\n"
            "sys.stdout.write(f'shown RANK={os.environ[of + \"RANK\"]} '\n"
            "                 f'LOCAL={os.environ[of + \"LOCAL_RANK\"]}\\n')  # at once: lines stay whole\n")

    def eight_of_mpi(self, id):
        job = self.wait_for_state(id, "COMPLETED", "FAILED", "CANCELLED", limit=LIMIT_S)
        output = pathlib.Path(job["StdOut"]).read_text()
        self.assertEqual(job["JobState"], "COMPLETED", output)
        rows = shown(output)
        self.assertEqual(column(rows, "RANK"), [str(rank) for rank in range(8)], output)
        self.assertEqual(column(rows, "LOCAL"), ["0", "1", "2", "3"] * 2, output)


def add_cases(to, with_containers):
    """A case per block; a block without a check fails, a check without a block too."""
    checks = {name for name in vars(to) if name.startswith("check_") and name[-1].isdigit()}
    for (page, number), block in blocks(with_containers).items():
        name = f"check_{page.replace('-', '_')}_{number}"
        checks.discard(name)

        def case(self, name=name, block=block):
            check = getattr(self, name, None)
            self.assertTrue(check, f"docs/guides/recipes: write {name} for this block:\n{block}")
            check(block)

        setattr(to, name.replace("check_", "test_", 1), case)
    for name in checks:
        setattr(to, name.replace("check_", "test_", 1),
                lambda self, name=name: self.fail(f"{name}: docs/guides/recipes has no such block"))
