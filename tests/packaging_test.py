# ctest: TIMEOUT 600
"""The recipes of packaging/, each run by its own tool with the archive of a release: modules, EasyBuild, conda, Ansible, Podman."""

import os
import pathlib
import py_compile
import subprocess
import tempfile
import unittest

import containers
import support
from released import ARCHITECTURE, made, needs_tools

PACKAGING = support.REPOSITORY / "packaging"
TOOLS = support.REPOSITORY / "build/recipes-venv/bin"
MODULES = pathlib.Path("/usr/share/modules/init/bash")  # Environment Modules, as Debian has them
PLAY = "- hosts: all\n  roles: [toprun]\n"
CONDA = """
import pathlib, sys
from rattler_build import Stage0Recipe, cli_api
cli_api.build_recipes([sys.argv[1]], output_dir=sys.argv[2], channel=[])
package, = pathlib.Path(sys.argv[2]).glob("linux-*/toprun-*.conda")
cli_api.test_package(package, channel=[])
"""


class Case(support.TestCase):
    @classmethod
    def setUpClass(cls):
        needs_tools()
        super().setUpClass()
        scratch = tempfile.TemporaryDirectory()
        cls.addClassCleanup(scratch.cleanup)
        cls.dist = pathlib.Path(scratch.name) / "dist"
        cls.version, done = made(cls.dist)
        if done.returncode != 0:
            raise AssertionError(done.stdout + done.stderr)
        cls.archive = cls.dist / f"toprun-{cls.version}-linux-{ARCHITECTURE}.tar.gz"

    def setUp(self):
        super().setUp()
        self.here = self.folder()

    def succeeds(self, *command, **environment):
        done = subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=300, cwd=self.here,
                              env={**os.environ, **environment})
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return done.stdout

    def needs_tool(self, name):
        if not (TOOLS / name).exists():
            raise unittest.SkipTest(f"build/recipes-venv has no {name}: run `tools/setup recipes`")
        return TOOLS / name

    def loads(self, modulefiles):
        """The module finds its own program, and goes away again."""
        if not MODULES.exists():
            raise unittest.SkipTest("Environment Modules is not installed: run `tools/setup modules`")
        said = self.succeeds("bash", "-c", f". {MODULES}; module use {modulefiles}; module load toprun; type -P toprun; "
                             "toprun version; module unload toprun; type -P toprun || echo gone", PATH="/usr/bin:/bin")
        path, version, gone = said.splitlines()
        self.assertTrue(path.startswith(str(self.here)), path)
        self.assertEqual((version, gone), (f"toprun {self.version}", "gone"))


class Recipes(Case):
    def test_module(self):
        self.succeeds("tar", "-xf", self.archive, "--strip-components=1")
        self.loads(self.here / "share/modulefiles")

    def test_easybuild(self):
        eb = self.needs_tool("eb")
        if not MODULES.exists():
            raise unittest.SkipTest("Environment Modules is not installed: run `tools/setup modules`")
        words = [eb, PACKAGING / f"easybuild/toprun-{self.version}.eb", "--sourcepath", self.dist, "--prefix", self.here,
                 "--allow-use-as-root-and-accept-consequences", "--modules-tool=EnvironmentModules", "--module-syntax=Tcl"]
        self.succeeds("bash", "-c", f'. {MODULES}; exec "$@"', "eb", *words, PATH=f"{TOOLS}:{os.environ['PATH']}")
        self.loads(self.here / "modules/all")

    def test_conda(self):
        self.succeeds(self.needs_tool("python"), "-W", "ignore", "-c", CONDA, PACKAGING / "conda/recipe.yaml", self.here / "out",
                      VERSION=self.version, ARCHIVE=str(self.archive))

    def test_ansible(self):
        play = self.needs_tool("ansible-playbook")
        (self.here / "play.yml").write_text(PLAY)
        words = [play, "-i", "localhost,", "-c", "local", "play.yml"]
        for name, value in (("toprun_version", self.version), ("toprun_files", self.dist), ("toprun_folder", self.here / "opt"),
                            ("toprun_link", self.here / "link"), ("ansible_python_interpreter", "/usr/bin/python3")):
            words += ["-e", f"{name}={value}"]
        environment = {"ANSIBLE_ROLES_PATH": str(PACKAGING / "ansible/roles"), "ANSIBLE_HOME": str(self.here / "ansible"),
                       "LC_ALL": "C.UTF-8"}
        self.assertIn("changed=3 ", self.succeeds(*words, **environment))
        self.assertEqual(self.succeeds(self.here / "link", "version"), f"toprun {self.version}\n")
        self.assertIn("changed=0 ", self.succeeds(*words, **environment))
        damaged = self.here / "damaged"
        damaged.mkdir()
        (damaged / self.archive.name).write_bytes(self.archive.read_bytes()[:-1])
        (damaged / "SHA256SUMS").write_bytes((self.dist / "SHA256SUMS").read_bytes())
        done = subprocess.run([*map(str, words), "-e", f"toprun_files={damaged}"], capture_output=True, text=True, cwd=self.here,
                              env={**os.environ, **environment})
        self.assertIn("is missing or damaged: its SHA-256 sum is not in SHA256SUMS", done.stdout)

    def test_all_are_of_this_version(self):
        for recipe in ("spack/packages/toprun/package.py", "ansible/roles/toprun/defaults/main.yml", "container/Dockerfile",
                       "container/toprun.def", f"easybuild/toprun-{self.version}.eb"):
            self.assertIn(self.version, (PACKAGING / recipe).read_text(), recipe)

    def test_spacks_recipe_is_python(self):
        """Spack itself cannot be had from PyPI or Debian: nothing here has run it."""
        py_compile.compile(str(PACKAGING / "spack/packages/toprun/package.py"), cfile=str(self.here / "out"), doraise=True)


class Image(containers.WithPodman, Case):
    def test_dockerfile(self):
        self.podman.run("build", "--isolation=chroot", "--build-arg", f"BASE={containers.IMAGE}", "--build-arg",
                        f"ARCHIVE={self.archive.name}", "-f", str(PACKAGING / "container/Dockerfile"), "-t", "toprun", str(self.dist))
        done = self.toprun("--container", "localhost/toprun", "--no-python", "toprun", "version", env=self.podman.env)
        self.assert_ok(done)
        self.assertEqual(done.out, f"toprun {self.version}\n")


if __name__ == "__main__":
    unittest.main()
