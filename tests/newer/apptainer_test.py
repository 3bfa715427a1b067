"""toprun with the Apptainer of a newer Debian (`make test-newer`): a .sif that `toprun setup` builds as
a job of its own out of what `docker save` writes, and training in it on two nodes."""

import hashlib
import io
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import containers
import support
from submitting import SubmitCase
from support import EXAMPLES, TOPRUN

BUILD_LIMIT_S = 400
RUN_LIMIT_S = 200
PYTHON = pathlib.Path("/usr/bin/python3")
PACKAGES = pathlib.Path("/usr/lib/python3/dist-packages")


def needs_apptainer():
    support.needs_root()
    support.needs_program("apptainer")


def configuration(folder):
    """Apptainer's, for a root without all capabilities, as in a sandbox."""
    text = pathlib.Path("/etc/apptainer/apptainer.conf").read_text()
    file = folder / "apptainer.conf"
    file.write_text(re.sub(r"(?m)^root default capabilities.*", "root default capabilities = no", text))
    return {"APPTAINER_CONFIG_FILE": str(file)}


def add_torch(root):
    """Debian's Python and PyTorch, with the libraries that they need."""
    programs = [PYTHON.resolve()]
    library = next(pathlib.Path("/usr/lib").glob("python3.*"))
    needing = [*programs, *library.glob("lib-dynload/*.so"),
               *(file for name in ("torch", "numpy") for file in (PACKAGES / name).rglob("*.so"))]
    leave_out = shutil.ignore_patterns("__pycache__", "test", "tests", "include", "*.a")
    for folder in (library, PACKAGES):
        shutil.copytree(folder, root / str(folder).lstrip("/"), ignore=leave_out)
    for file in [*map(str, programs), *containers.libraries_of(map(str, needing))]:
        if not file.startswith(str(PACKAGES)):
            containers.copy_in(root, file)
    (root / "usr/bin/python3").symlink_to(programs[0].name)
    let_without_libuv(root / str(PACKAGES).lstrip("/") / "torch/distributed/rendezvous.py")


def let_without_libuv(rendezvous):
    """Debian builds PyTorch without libuv, and PyTorch 2.14 asks for it whenever the store is an
    agent's, torchrun's or ours, whatever USE_LIBUV says."""
    asks = "is_master=False,\n            timeout=timeout,\n        )"
    text = rendezvous.read_text()
    rendezvous.write_text(text.replace(asks, asks[:-1] + "    use_libuv=use_libuv,\n        )"))


def save_as_docker_does(root, file, variables):
    """An archive of one layer (docker save; OCI image specification, config.md)."""
    layer = file.with_suffix(".layer")
    subprocess.run(["tar", "-C", root, "-cf", layer, "."], check=True)
    digest = hashlib.file_digest(layer.open("rb"), "sha256").hexdigest()
    config = {"architecture": "amd64", "os": "linux", "config": {"Env": variables},
              "rootfs": {"type": "layers", "diff_ids": [f"sha256:{digest}"]}}
    manifest = [{"Config": "config.json", "RepoTags": ["torch:latest"], "Layers": ["layer.tar"]}]
    with tarfile.open(file, "w") as archive:
        for name, content in (("config.json", config), ("manifest.json", manifest)):
            data = json.dumps(content).encode()
            entry = tarfile.TarInfo(name)
            entry.size = len(data)
            archive.addfile(entry, io.BytesIO(data))
        archive.add(layer, "layer.tar")
    layer.unlink()


def write_digits(folder, count=256):
    """Pictures of noise with labels, in MNIST's four files."""
    folder.mkdir()
    for part in ("train", "t10k"):
        sizes = (count, 28, 28)
        head = b"".join(size.to_bytes(4, "big") for size in sizes)
        pictures = os.urandom(count * 28 * 28)
        (folder / f"{part}-images-idx3-ubyte").write_bytes(bytes([0, 0, 8, 3]) + head + pictures)
        labels = bytes(number % 10 for number in range(count))
        (folder / f"{part}-labels-idx1-ubyte").write_bytes(bytes([0, 0, 8, 1]) + head[:4] + labels)


class Image(support.TestCase):
    """One node, an image of a few programs."""

    @classmethod
    def setUpClass(cls):
        needs_apptainer()
        super().setUpClass()
        cls.place = pathlib.Path(tempfile.mkdtemp(prefix="toprun-apptainer-"))
        cls.addClassCleanup(shutil.rmtree, cls.place, ignore_errors=True)
        cls.env = configuration(cls.place)
        root = cls.place / "root"
        root.mkdir()
        containers.make_root(root)
        cls.image = cls.place / "small.sif"
        cls.apptainer("build", cls.image, root)

    @classmethod
    def apptainer(cls, *words):
        subprocess.run(["apptainer", "--quiet", *words], env={**os.environ, **cls.env}, check=True,
                       timeout=120)

    def contained(self, *words, image=None, env=None, **options):
        return self.toprun("--container", image or self.image, *words,
                           env={**self.env, **(env or {})}, **options)

    def test_ranks_see_the_image_and_what_they_are_told(self):
        folder = self.folder()
        (folder / "here").touch()
        done = self.contained("--nproc-per-node", "2", "--no-python", "sh", "-c",
                              'echo "$RANK/$WORLD_SIZE $(pwd) $(ls) $OWN $LD_PRELOAD$CONDA_PREFIX"',
                              env={"OWN": "a, b", "CONDA_PREFIX": "/outside"}, cwd=folder)
        self.assert_ok(done)
        self.assertEqual(sorted(done.out.splitlines()),
                         [f"{rank}/2 {folder} here a, b " for rank in (0, 1)])

    def test_exit_codes_and_restarts(self):
        code = self.contained("--no-python", "sh", "-c", "exit 7")
        self.assertEqual(code.code, 7)
        again = self.contained("--max-restarts", "1", "--writable", "--no-python", "sh", "-c",
                               "test -e /data/was && echo again && exit; echo >/data/was; exit 3")
        self.assertEqual((again.code, again.out), (0, "again\n"))

    def test_its_own_folders_are_read_only_without_a_word(self):
        done = self.contained("--no-python", "sh", "-c", "echo x 2>/dev/null >/data/new || echo no")
        self.assertEqual(done.out, "no\n")

    def test_a_kept_container_is_made_once_and_keeps_changes(self):
        env = {"TOPRUN_CONTAINERS": str(self.folder())}
        words = ["--container-name", "mine", "--writable", "--no-python", "sh", "-c",
                 "echo x >>/data/seen; cat /data/seen"]
        first = self.contained(*words, env=env)
        if "permitted capability set" in first.err:
            self.skipTest("Apptainer unpacks no image with the capabilities of this machine's root")
        self.assertEqual(first.out, "x\n", first)
        self.assertEqual(self.contained(*words, env=env).out, "x\nx\n")
        changed = self.folder() / "small.sif"
        shutil.copy(self.image, changed)
        done = self.contained(*words, image=changed, env=env)
        self.assertRegex(done.err, rf"container mine: the container was made from {self.image}; choose another")

    def test_a_bind_in_a_place_that_the_image_lacks(self):
        outside = self.folder()
        (outside / "file").write_text("seen\n")
        done = self.contained("--bind", f"{outside}:/opt/new/place:ro", "--no-python", "cat",
                              "/opt/new/place/file")
        self.assertEqual((done.code, done.out), (0, "seen\n"))

    def test_bad_images(self):
        whole = self.image.read_bytes()
        cut = self.folder() / "cut.sif"
        cut.write_bytes(whole[:40])
        other = self.folder() / "arm.sif"
        other.write_bytes(whole[:45] + b"04" + whole[47:])
        for image, pattern in [
            ("/no/such.sif", "image /no/such.sif on .*: No such file or directory; check the path"),
            (cut, "is not a SIF file; perhaps the file was not"),
            (other, "the image is for arm64, but this machine is x86_64; build the image on a machine with"),
        ]:
            with self.subTest(image):
                done = self.contained("--no-python", "true", image=image)
                self.assertEqual(done.code, 1, done)
                self.assertRegex(done.err, pattern)

    def test_an_image_that_no_registry_has(self):
        env = {"TOPRUN_CONTAINERS": str(self.folder())}
        done = self.contained("--container-runtime", "apptainer", "--no-python", "true",
                              image=f"docker://127.0.0.1:{support.free_port()}/none:1", env=env)
        self.assertEqual(done.code, 1, done)
        self.assertRegex(done.err, "connection refused; the node cannot reach a registry")

    def test_no_space_for_what_is_kept(self):
        small = self.folder() / "small"
        small.mkdir()
        subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k,mode=0755", "tmpfs", small], check=True)
        self.addCleanup(subprocess.run, ["umount", small], check=True)
        done = self.contained("--container-name", "mine", "--no-python", "true",
                              env={"TOPRUN_CONTAINERS": str(small)})
        self.assertEqual(done.code, 1, done)
        self.assertRegex(done.err, "no space left on device; free some space, or choose another folder")

    def test_an_edf(self):
        folder = self.folder()
        (folder / "base.toml").write_text(f'image = "{self.image}"\n[env]\nSAID = "${{OWN}}, by an EDF"\n')
        (folder / "mine.toml").write_text('base_environment = "base"\nworkdir = "/data"\n[annotations]\n'
                                          'com.hooks.aws_ofi_nccl.enabled = "true"\n')
        done = self.toprun("--environment", "mine", "--no-python", "sh", "-c", 'echo "$SAID in $PWD"',
                           env={**self.env, "EDF_PATH": str(folder), "OWN": "mine"})
        self.assertEqual((done.code, done.out), (0, "mine, by an EDF in /data\n"), done)


class Training(SubmitCase):
    UP = ("--hosts", "2", "--racks", "2", "--slurm")

    @classmethod
    def setUpClass(cls):
        needs_apptainer()
        if not (PACKAGES / "torch").exists():
            raise unittest.SkipTest("needs python3-torch: tools/setup newer")
        super().setUpClass()

    def test_in_a_sif_that_setup_builds(self):
        work = self.folder()
        env = configuration(work)
        root = work / "root"
        root.mkdir()
        containers.make_root(root)
        add_torch(root)
        save_as_docker_does(root, work / "torch.tar", ["PATH=/usr/bin:/bin", "SAID=by the image"])
        shutil.rmtree(root)
        write_digits(work / "digits")
        built = self.on("ctl", TOPRUN, "setup", "--on", "slurm", "--follow", "--container", "torch.sif",
                        "--from", "torch.tar", cwd=work, env=env, limit=BUILD_LIMIT_S)
        self.assert_ok(built)
        self.assertTrue((work / "torch.sif").exists(), built)
        (work / "torch.tar").unlink()
        done = self.submit("--after", "setup", "--nodes", "2", "--follow", "--container", "torch.sif",
                           "--bind", EXAMPLES, "--nproc-per-node", "2",
                           "-e", "USE_LIBUV=0",
                           EXAMPLES / "train_ddp.py", "--epochs", "1", "--data", work / "digits",
                           cwd=work, env=env, limit=RUN_LIMIT_S)
        self.assert_ok(done)
        self.assertRegex(done.out, r"held-out accuracy \d\.\d{4}")
        self.assertRegex(done.err + done.out, "4 ranks on 2 nodes, all ended with 0")


if __name__ == "__main__":
    unittest.main()
