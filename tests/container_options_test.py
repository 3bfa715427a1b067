"""Options of a container as --dry-run prints them: the line with which its runtime is called."""

import os
import re
import unittest

import support

NOBODY = 65534  # root needs no option to be root inside
IMAGE = "docker://a"
# A driver, as a node with GPUs has it, in a /dev of its own.
WITH_A_DRIVER = ["unshare", "--mount", "sh", "-ec", """
    mount -t tmpfs none /mnt
    touch /mnt/null /mnt/nvidiactl
    mount --bind /dev/null /mnt/null
    mount --move /mnt /dev
    exec "$@"
""", "sh"]


class Containers(support.TestCase):
    def setUp(self):
        support.needs_root()
        support.needs_program("podman")
        self.here = self.folder()
        self.here.chmod(0o755)

    def called(self, *words, before=(), env=None):
        done = self.run_to_end(*before, "setpriv", "--reuid", NOBODY, "--regid", NOBODY, "--clear-groups",
                               support.binary(), "--dry-run", "--container", IMAGE, *words, "--no-python", "true",
                               cwd=self.here, env={"HOME": str(self.here), **(env or {})})
        return done, "".join(re.findall(r"(?m)^container +(.*)$", done.out))

    def test_as_each_says(self):
        for words, expected in (
                ([], rf"^podman run .* --user {NOBODY}:{NOBODY} .* --workdir {self.here} "),
                (["--container-workdir", "/w"], "^podman run .* --workdir /w "),
                (["--container-root"], "^podman run .* --user 0:0 "),
                (["--container-runtime", "docker"], "^docker run "),
                (["--bind", f"{self.here}:/b:ro"], rf"^podman run .* --volume {self.here}:/b:ro "),
                (["--container-name", "kept"], "containers/kept")):
            with self.subTest(words):
                done, called = self.called(*words)
                self.assert_ok(done)
                self.assertRegex(called, expected)

    def test_writable(self):
        """Podman and Docker always allow changes."""
        programs = self.folder()
        programs.chmod(0o755)
        (programs / "apptainer").write_text("#!/bin/sh\n")
        (programs / "apptainer").chmod(0o755)
        for words in ([], ["--writable"]):
            with self.subTest(words):
                done, called = self.called("--container-runtime", "apptainer", *words,
                                           env={"PATH": f"{programs}:{os.environ['PATH']}"})
                self.assert_ok(done)
                self.assertEqual("--writable-tmpfs" in called, bool(words))

    def test_without_its_gpus(self):
        """Podman is given none where no file describes them."""
        done, _ = self.called(before=WITH_A_DRIVER)
        self.assertNotEqual(done.code, 0)
        self.assertIn("use --no-gpu", done.err)
        done, called = self.called("--no-gpu", before=WITH_A_DRIVER)
        self.assert_ok(done)
        self.assertRegex(called, "^podman run ")


if __name__ == "__main__":
    unittest.main()
