"""Real containers: a small image made of this machine's own files, and a Podman of the tests' own."""

import json
import os
import pathlib
import shutil
import subprocess
import sys
import sysconfig
import tempfile

import support

IMAGE = "localhost/toprun-test:latest"
PROGRAMS = ["sh", "env", "cat", "ls", "sleep", "id", "true", "test", "grep"]

# Limits that this machine allows, and no needs beyond what a sandbox has.
CONTAINERS_CONF = """
[engine]
runtime = "runc"
cgroup_manager = "cgroupfs"
events_logger = "none"
"""
STORAGE_CONF = """
[storage]
driver = "vfs"
graphroot = "{folder}/graph"
runroot = "{folder}/run"
"""


def libraries_of(files):
    """The shared libraries that these need, as the loader finds them."""
    told = subprocess.run(["ldd", *files], capture_output=True, text=True).stdout
    return {word for word in told.split() if word.startswith("/") and not word.endswith(":")}


def about(python):
    """Where this Python and its packages are."""
    code = ("import importlib.util, json, sys, sysconfig; print(json.dumps({'prefix': sys.prefix, "
            "'base': sys.base_prefix, 'program': sys._base_executable, "
            "'library': sysconfig.get_path('stdlib'), 'torch': "
            "importlib.util.find_spec('torch').submodule_search_locations[0]}))")
    told = subprocess.run([python, "-c", code], capture_output=True, text=True, check=True)
    return {name: pathlib.Path(path) for name, path in json.loads(told.stdout).items()}


def copy_in(root, file):
    target = root / str(file).lstrip("/")
    target.parent.mkdir(parents=True, exist_ok=True)
    if not target.exists():
        shutil.copy2(os.path.realpath(file), target)


def copy_python(root):
    """The Python that runs this, with its library, at its own place and in the image's PATH."""
    program = os.path.realpath(sys.executable)
    library = pathlib.Path(sysconfig.get_path("stdlib"))
    for file in {program, *libraries_of([program, *library.glob("lib-dynload/*.so")])}:
        copy_in(root, file)
    (root / "usr/bin/python3").parent.mkdir(parents=True, exist_ok=True)
    if not (root / "usr/bin/python3").exists():
        (root / "usr/bin/python3").symlink_to(program)
    shutil.copytree(library, root / str(library).lstrip("/"), symlinks=True, dirs_exist_ok=True,
                    ignore=shutil.ignore_patterns("__pycache__", "test", "dist-packages",
                                                  "site-packages"))


def make_root(root, python=None):
    """A root file system with a few programs, and what it takes to run `python` once that and its
    packages are bound in."""
    files = {shutil.which(name) for name in PROGRAMS}
    needing = set(files)
    if python:
        here = about(python)
        needing.add(str(here["program"]))
        needing |= {str(file) for file in here["library"].glob("lib-dynload/*.so")}
        needing |= {str(file) for file in here["torch"].glob("lib/*.so*")}
        needing |= {str(file) for file in here["torch"].parent.glob("numpy/_core/*.so")}
        if here["base"] == pathlib.Path("/usr"):
            files |= {str(here["program"]), "/usr/bin/python3"}  # the environment's is a link to one of them
            shutil.copytree(here["library"], root / str(here["library"]).lstrip("/"), symlinks=True,
                            ignore=shutil.ignore_patterns("__pycache__", "test", "dist-packages"))
    bound = (str(here["prefix"]), str(here["torch"].parent)) if python else ()
    for file in sorted(files | libraries_of(sorted(needing))):
        if not file.startswith(bound) or not bound:
            copy_in(root, file)
    for folder in ("tmp", "proc", "sys", "dev", "etc", "root", "run", "data"):
        (root / folder).mkdir(parents=True, exist_ok=True)
    (root / "tmp").chmod(0o1777)
    (root / "etc/passwd").write_text("root:x:0:0:root:/root:/bin/sh\n")


def binds_for(python):
    """The words that show this Python and its packages inside."""
    here = about(python)
    shown = {here["prefix"], here["torch"].parent}
    if here["base"] != pathlib.Path("/usr"):
        shown.add(here["base"])
    words = []
    for path in sorted(shown):
        words += ["--bind", f"{os.path.realpath(path)}:{path}:ro"]
    return words


class Podman:
    """Podman with a store of its own, in which IMAGE is."""

    def __init__(self, python=None, python_inside=False):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="toprun-podman-"))
        (self.folder / "containers.conf").write_text(CONTAINERS_CONF)
        (self.folder / "storage.conf").write_text(STORAGE_CONF.format(folder=self.folder))
        self.env = {"CONTAINERS_CONF": str(self.folder / "containers.conf"),
                    "CONTAINERS_STORAGE_CONF": str(self.folder / "storage.conf")}
        root = self.folder / "root"
        root.mkdir()
        make_root(root, python)
        if python_inside:
            copy_python(root)
        self.add_image(root, IMAGE, "ENV FROM_IMAGE=yes")

    def add_image(self, root, name, *changes):
        with subprocess.Popen(["tar", "-C", root, "-c", "."], stdout=subprocess.PIPE) as tar:
            self.run("import", "--quiet", *(word for change in changes for word in ("-c", change)),
                     "-", name, stdin=tar.stdout)

    def run(self, *words, **options):
        done = subprocess.run(["podman", *words], env={**os.environ, **self.env}, text=True,
                              capture_output=True, timeout=120, **options)
        if done.returncode != 0:
            raise AssertionError(f"podman {' '.join(words)}: {done.stderr}")
        return done.stdout

    def containers(self):
        return self.run("ps", "--all", "--format", "{{.Names}}").split()

    def remove(self):
        subprocess.run(["podman", "rm", "--all", "--force", "--time", "0"],
                       env={**os.environ, **self.env}, capture_output=True, timeout=120)
        shutil.rmtree(self.folder, ignore_errors=True)


def needs_podman():
    support.needs_root()
    for name in ("podman", "runc"):
        support.needs_program(name)


class WithPodman:
    """What cases with containers share; comes before their kind of test case."""
    PYTHON = False  # whether the image is to run the tests' Python, bound in
    PYTHON_INSIDE = False  # whether it has one of its own

    @classmethod
    def setUpClass(cls):
        needs_podman()
        cls.python = support.python() if cls.PYTHON else None
        super().setUpClass()
        cls.podman = Podman(cls.python, cls.PYTHON_INSIDE)
        cls.addClassCleanup(cls.podman.remove)

    def tearDown(self):
        super().tearDown()
        self.assertEqual(self.podman.containers(), [], "containers left behind")


class PodmanCase(WithPodman, support.TestCase):
    def contained(self, *words, env=None, **options):
        return self.toprun("--container", IMAGE, *words, env={**self.podman.env, **(env or {})},
                           **options)
