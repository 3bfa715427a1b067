# ctest: TIMEOUT 180
"""The wheels: installed into a new virtual environment they give the commands toprun, the binary
itself, and torchrun, and `python -m toprun`."""

import functools
import os
import pathlib
import subprocess
import sys
import sysconfig
import tempfile
import unittest

import support

WRITER = support.REPOSITORY / "tools/wheel"
LIMIT_S = 120  # a virtual environment with pip takes its time on a busy machine
scratch = None


def setUpModule():
    global scratch
    scratch = tempfile.TemporaryDirectory(prefix="toprun-test-")
    unittest.addModuleCleanup(scratch.cleanup)


def output(*argv):
    return subprocess.run([str(word) for word in argv], check=True, text=True, timeout=LIMIT_S,
                          stdout=subprocess.PIPE).stdout


@functools.cache
def wheels():
    if subprocess.run(["/usr/bin/python3", "-c", "import wheel.wheelfile"],
                      capture_output=True).returncode != 0:
        raise unittest.SkipTest("the distribution's Python has no python3-wheel: tools/setup wheel")
    return output(WRITER, support.binary(), pathlib.Path(scratch.name) / "wheels").split()


@functools.cache
def environment():
    """The bin folder of a virtual environment in which both wheels are installed."""
    folder = pathlib.Path(scratch.name) / "venv"
    files = wheels()
    if subprocess.run([sys.executable, "-c", "import ensurepip"], capture_output=True).returncode:
        raise unittest.SkipTest(f"{sys.executable} has no ensurepip: tools/setup python")
    output(sys.executable, "-m", "venv", folder)
    output(folder / "bin/python", "-m", "pip", "install", "--quiet", "--no-index", "--no-deps",
           "--disable-pip-version-check", *files)
    return folder / "bin"


class TheWheels(support.TestCase):
    def test_are_two_of_this_version(self):
        version = output(support.binary(), "--version").split()[1]
        names = [pathlib.Path(file).name for file in wheels()]
        machine = os.uname().machine
        tag = f"py3-none-manylinux2014_{machine}.musllinux_1_1_{machine}.whl"
        self.assertEqual(names, [f"toprun-{version}-{tag}", f"toprun_as_torchrun-{version}-{tag}"])

    def test_pip_finds_nothing_missing(self):
        self.assertEqual(output(environment() / "python", "-m", "pip", "check"),
                         "No broken requirements found.\n")


class Installed(support.TestCase):
    def setUp(self):
        self.bin = environment()

    def test_toprun_is_the_binary_and_torchrun_tiny(self):
        self.assertEqual((self.bin / "toprun").read_bytes(),
                         pathlib.Path(support.binary()).read_bytes())
        self.assertLess((self.bin / "torchrun").stat().st_size, 1 << 10)

    def test_toprun(self):
        finished = self.run_to_end(self.bin / "toprun", "--version")
        self.assertEqual(finished.out, output(support.binary(), "--version"), finished)

    def test_bench_on_gpus(self):
        fakes = pathlib.Path(support.binary()).resolve().parent / "fake_gpu"
        finished = self.run_to_end(self.bin / "toprun", "bench", "all_reduce", "--backend", "nccl",
                                   "--nproc-per-node", 2, "-b", "64K",
                                   env={"LD_LIBRARY_PATH": str(fakes),
                                        "FAKE_NCCL_DIR": str(self.folder())})
        self.assert_ok(finished)

    def test_torchrun(self):
        finished = self.run_to_end(self.bin / "torchrun", "--nproc-per-node", 2, "--no-python",
                                   "sh", "-c", "echo rank $RANK")
        self.assert_ok(finished)
        self.assertEqual(sorted(finished.out.splitlines()), ["rank 0", "rank 1"])
        self.assertEqual(self.run_to_end(self.bin / "torchrun", "--order", "name", "x").code, 2)

    def test_torchrun_however_it_is_found(self):
        link = self.folder() / "torchrun"
        link.symlink_to(self.bin / "torchrun")
        cases = (([link], {}), (["torchrun"], {"PATH": f"{self.bin}:{os.environ['PATH']}"}),
                 (["torchrun"], {"PATH": f"{link.parent}:{os.environ['PATH']}"}),
                 (["sh", self.bin / "torchrun"], {}), ([sys.executable, self.bin / "torchrun"], {}),
                 ([sys.executable, link], {}))
        for argv, env in cases:
            with self.subTest(argv=argv, env=env):
                finished = self.run_to_end("env", *argv, "--no-python", "sh", "-c",
                                           "echo $WORLD_SIZE; env | grep ^TOPRUN_CALLED_AS", env=env)
                self.assertEqual((finished.code, finished.out), (1, "1\n"), finished)

    def test_the_module(self):
        finished = self.run_to_end(self.bin / "python", "-m", "toprun", "--version", cwd="/")
        self.assertEqual(finished.out, output(support.binary(), "--version"), finished)
        self.assertEqual(self.run_to_end(self.bin / "python", "-m", "toprun", "--nnodes", "x").code, 2)

    def test_the_module_without_its_binary(self):
        # From the sources, under a Python beside which there is none.
        if (pathlib.Path(sysconfig.get_path("scripts")) / "toprun").exists():
            self.skipTest("a toprun is installed beside this Python")
        finished = self.run_to_end(sys.executable, "-S", "-m", "toprun",
                                   cwd=support.REPOSITORY / "python")
        self.assertEqual((finished.code, finished.out), (1, ""), finished)
        self.assertRegex(finished.err, r"\Atoprun: no binary at .*/toprun; install the package ")

    def test_the_python_beside_it_runs_the_script(self):
        script = self.folder() / "which.py"
        script.write_text("import sys; print(sys.prefix)\n")
        for argv in ([self.bin / "toprun"], [self.bin / "torchrun"], [self.bin / "python", "-m", "toprun"],
                     [self.bin / "python", self.bin / "torchrun"]):
            with self.subTest(argv):
                finished = self.run_to_end(*argv, script, env={"VIRTUAL_ENV": "/no/such"})
                self.assert_ok(finished)
                self.assertEqual(finished.out, f"{self.bin.parent}\n")


if __name__ == "__main__":
    unittest.main()
