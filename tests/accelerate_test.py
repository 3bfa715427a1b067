# ctest: TIMEOUT 400 LABELS torch
"""Scripts of Hugging Face's accelerate: --accelerate-config gives the ranks what accelerate's own launcher
would have given them, and a file that nobody applies is said."""

import json
import subprocess
import unittest

import support

LIMIT_S = 120  # it imports torch, in each process
# All that accelerate's launchers set begins so, but for what torchrun and toprun set as well.
PREFIXES = ("ACCELERATE_", "FSDP_", "PARALLELISM_CONFIG_", "MEGATRON_LM_", "KMP_")
SHOW = f"""
import json, os
# accelerate
seen = {{name: value for name, value in os.environ.items() if name.startswith({PREFIXES!r})}}
if os.environ.get("RANK", "0") == "0":
    print(json.dumps(seen))
"""
ACCELERATOR = """
from accelerate import Accelerator
it = Accelerator(cpu=True)
print("rank", it.process_index, "of", it.num_processes, it.mixed_precision, it.gradient_accumulation_steps)
it.wait_for_everyone()  # who leaves before another has connected to it makes that one fail
it.end_training()
"""
MULTI_CPU = """
compute_environment: LOCAL_MACHINE
distributed_type: MULTI_CPU
mixed_precision: bf16
num_machines: 1
num_processes: 2
use_cpu: true
"""
FSDP = """
compute_environment: LOCAL_MACHINE
distributed_type: FSDP
mixed_precision: bf16
num_machines: 1
num_processes: 2
dynamo_config:
  dynamo_backend: EAGER
fsdp_config:
  fsdp_version: 2
  fsdp_reshard_after_forward: true
  fsdp_auto_wrap_policy: TRANSFORMER_BASED_WRAP
  fsdp_transformer_layer_cls_to_wrap: Block
  fsdp_state_dict_type: SHARDED_STATE_DICT
"""
DEEPSPEED = """
compute_environment: LOCAL_MACHINE
distributed_type: DEEPSPEED
mixed_precision: bf16
num_machines: 1
num_processes: 2
deepspeed_config:
  zero_stage: 2
"""


def needs_accelerate():
    if not support.has_module(support.python(), "accelerate"):
        raise unittest.SkipTest(f"{support.python()} has no accelerate: tools/setup --python")


class Accelerate(support.TestCase):
    def setUp(self):
        needs_accelerate()
        self.here = self.folder()
        # Nothing of the user's, who may have a file of accelerate's.
        self.environment = {"HF_HOME": str(self.here / "hf"), "PYTHON_EXEC": support.python(),
                            "OMP_NUM_THREADS": "1"}

    def file(self, name, text):
        path = self.here / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path

    def run_it(self, *argv, launcher=None, env=None, code=0):
        finished = self.run_to_end(*(launcher or [support.binary()]), *argv, cwd=self.here, limit=LIMIT_S,
                                   env={**self.environment, **(env or {})})
        self.assertEqual(finished.code, code, finished)
        return finished

    def settings(self, *argv, **options):
        finished = self.run_it(*argv, self.file("show.py", SHOW), **options)
        return json.loads(finished.out.splitlines()[-1])


class Settings(Accelerate):
    def test_are_those_of_its_own_launcher(self):
        for name, text in (("cpu.yaml", MULTI_CPU), ("fsdp.yaml", FSDP)):
            with self.subTest(name):
                file = self.file(name, text)
                own = self.settings("--config_file", file, "--main_process_port", 0,
                                    launcher=[support.python(), "-m", "accelerate.commands.launch"])
                ours = self.settings("--accelerate-config", file, "--nproc-per-node", 2)
                self.assertEqual(ours, own)
                self.assertEqual(ours["ACCELERATE_MIXED_PRECISION"], "bf16")

    def test_reach_the_accelerator_of_each_rank(self):
        file = self.file("cpu.yaml", MULTI_CPU)
        finished = self.run_it("--accelerate-config", file, "--nproc-per-node", 2,
                               self.file("train.py", ACCELERATOR),
                               env={"ACCELERATE_GRADIENT_ACCUMULATION_STEPS": "3"})
        self.assertEqual(sorted(finished.out.splitlines()),
                         ["rank 0 of 2 bf16 3", "rank 1 of 2 bf16 3"])

    def test_of_the_command_line_go_before_the_file(self):
        seen = self.settings("--accelerate-config", self.file("cpu.yaml", MULTI_CPU),
                             "-e", "ACCELERATE_MIXED_PRECISION=no")
        self.assertEqual(seen["ACCELERATE_MIXED_PRECISION"], "no")
        self.assertEqual(seen["ACCELERATE_USE_CPU"], "True")

    def test_of_a_variable_and_of_a_project_s_file(self):
        file = self.file("cpu.yaml", MULTI_CPU)
        seen = self.settings(env={"TOPRUN_ACCELERATE_CONFIG": str(file)})
        self.assertEqual(seen["ACCELERATE_MIXED_PRECISION"], "bf16")
        self.file("toprun.toml", "accelerate-config = 'cpu.yaml'\n")
        self.assertEqual(self.settings()["ACCELERATE_MIXED_PRECISION"], "bf16")

    def test_are_told_by_v(self):
        finished = self.run_it("-v", "--accelerate-config", self.file("cpu.yaml", MULTI_CPU),
                               "--no-python", "true")
        self.assertRegex(finished.err, r"toprun: --accelerate-config sets ACCELERATE_.*"
                                       r"ACCELERATE_MIXED_PRECISION=bf16 ")


    def test_for_another_number_of_processes(self):
        file = self.file("cpu.yaml", MULTI_CPU)
        words = f"toprun: {file} is for 2 processes in all, but toprun starts 1: set the number of processes per node with "
        for flags, count in ([], 1), (["--nproc-per-node", 1], 0):
            with self.subTest(flags):
                finished = self.run_it("--accelerate-config", file, *flags, self.file("show.py", SHOW),
                                       env={"CUDA_VISIBLE_DEVICES": ""})
                self.assertEqual(finished.err.count(words), count, finished)

    def test_are_not_asked_for_by_a_dry_run(self):
        file = self.file("cpu.yaml", MULTI_CPU)
        finished = self.run_it("--dry-run", "--accelerate-config", file, self.file("show.py", SHOW),
                               env={"PYTHON_EXEC": "/bin/false"})
        self.assertIn(f"settings     of {file}, as accelerate reads it on each node\n", finished.out)


class WhatGoesWrong(Accelerate):
    def refused(self, pattern, *argv, env=None):
        finished = self.run_it(*argv, self.file("show.py", SHOW), env=env, code=2)
        self.assert_one_line(finished, pattern)

    def test_no_such_file(self):
        self.refused(r"--accelerate-config nowhere.yaml on host \S+: there is no such file; "
                     "create the file with `accelerate config --config_file FILE`",
                     "--accelerate-config", "nowhere.yaml")

    def test_a_file_that_accelerate_does_not_take(self):
        file = self.file("odd.yaml", "distributed_type: NO\nno_such_key: 1\n")
        self.refused(r"--accelerate-config \S+ on host \S+: .*no_such_key.*", "--accelerate-config", file)

    def test_deepspeed_that_is_not_installed(self):
        if support.has_module(support.python(), "deepspeed"):
            self.skipTest("this Python has DeepSpeed")
        self.refused(r"--accelerate-config \S+ on host \S+: ImportError: DeepSpeed is not installed.*",
                     "--accelerate-config", self.file("ds.yaml", DEEPSPEED))

    def test_a_python_without_accelerate(self):
        folder = self.here / "bare"
        subprocess.run(["python3", "-m", "venv", "--without-pip", folder], check=True)
        self.refused(r"--accelerate-config \S+ on host \S+: ModuleNotFoundError: No module named "
                     r"'(torch|accelerate)'; install accelerate: \S+ -m pip install accelerate",
                     "--accelerate-config", self.file("cpu.yaml", MULTI_CPU),
                     env={"PYTHON_EXEC": str(folder / "bin/python")})

    def test_in_a_container(self):
        self.refused("--accelerate-config: toprun cannot run accelerate inside the container; give the settings "
                     "by -e instead, .*", "--accelerate-config", "x.yaml", "--container", "image.tar")


class AFileThatNobodyApplies(Accelerate):
    WARNING = "warning: the script imports accelerate, but its settings in "

    def setUp(self):
        super().setUp()
        self.default = self.file("hf/accelerate/default_config.yaml", MULTI_CPU)
        self.script = self.file("train.py", "if 0:\n    from accelerate import Accelerator\nprint('ran')\n")

    def test_is_said_once(self):
        finished = self.run_it("--nproc-per-node", 2, self.script)
        self.assertEqual(finished.err.count(self.WARNING), 1, finished)
        self.assertRegex(finished.err, f"{self.default} on \\S+ are not applied; `toprun --accelerate-config "
                                       f"{self.default}` applies")

    def test_is_not_said_where_it_does_not_matter(self):
        other = self.file("other.py", "print('ran')\n")
        for argv, env in (([other], {}), ([self.script], {"ACCELERATE_MIXED_PRECISION": "no"}),
                          (["--accelerate-config", self.default, self.script], {}),
                          (["--no-preflight", self.script], {}),
                          ([self.script], {"HF_HOME": str(self.here)})):
            with self.subTest(argv=argv, env=env):
                finished = self.run_it("--nproc-per-node", 1, *argv, env=env)
                self.assertEqual(finished.out, "ran\n")
                self.assertNotIn(self.WARNING, finished.err)


if __name__ == "__main__":
    unittest.main()
