# ctest: TIMEOUT 200 LABELS container
"""Containers that are kept under a name, by a real Podman."""

import unittest

import containers
import support
from containers import IMAGE


class Kept(containers.PodmanCase):
    def setUp(self):
        super().setUp()
        self.place = self.folder()
        self.kept = {"TOPRUN_CONTAINERS": str(self.place)}

    def named(self, *words, **options):
        return self.contained("--container-name", "mine", *words, env=self.kept, **options)

    def test_what_was_changed_in_it_is_there_the_next_time(self):
        done = self.named("-v", "--no-python", "sh", "-c", "echo $RANK >>/data/seen")
        self.assert_ok(done)
        again = self.named("--no-python", "sh", "-c", "echo $RANK >>/data/seen; cat /data/seen")
        self.assertEqual((again.code, again.out), (0, "0\n0\n"))
        self.assertEqual(sorted(path.name for path in self.place.iterdir()),
                         [".mine.lock", ".mine.toprun", "mine"])

    def test_the_images_variables_are_there(self):
        root = self.podman.folder / "root"
        self.podman.add_image(root, "localhost/spoken:latest", "ENV SAID=by the image")
        done = self.toprun("--container", "spoken", "--container-name", "mine", "--no-python", "sh",
                           "-c", "echo $SAID", env={**self.podman.env, **self.kept})
        self.assertEqual((done.code, done.out), (0, "by the image\n"))

    def test_a_folder_is_copied(self):
        root = self.podman.folder / "root"
        words = ["--container", str(root), "--container-name", "mine", "--no-python", "sh", "-c"]
        env = {**self.podman.env, **self.kept}
        self.assert_ok(self.toprun(*words, "echo changed >/mark", env=env))
        done = self.toprun(*words, "cat /mark", env=env)
        self.assertEqual((done.code, done.out), (0, "changed\n"))
        self.assertFalse((root / "mark").exists())

    def test_another_image_is_refused_by_name(self):
        self.assert_ok(self.named("--no-python", "true"))
        done = self.toprun("--container", "docker://python:3.12", "--container-name", "mine",
                           "--no-python", "true", env={**self.podman.env, **self.kept})
        self.assertEqual(done.code, 1)
        self.assertRegex(done.err, rf"container mine: the container was made from {IMAGE}; choose another "
                                   rf"--container-name, or remove {self.place}/mine")

    def test_two_jobs_at_once_make_it_once(self):
        words = [support.binary(), "--container", IMAGE, "--container-name", "mine", "-v",
                 "--no-python", "sh", "-c", "echo $$ >>/data/seen"]
        runs = [self.begin(*words, env={**self.podman.env, **self.kept}) for _ in range(2)]
        ends = [run.wait(100) for run in runs]
        self.assertEqual([end.code for end in ends], [0, 0], ends)
        made = sum(end.err.count("podman create") for end in ends)
        self.assertEqual(made, 1, ends)
        seen = (self.place / "mine/data/seen").read_text().splitlines()
        self.assertEqual(len(seen), 2)

    def test_no_folder_for_it(self):
        (self.place / "file").touch()
        done = self.contained("--container-name", "mine", "--no-python", "true",
                              env={"TOPRUN_CONTAINERS": f"{self.place}/file/below"})
        self.assertEqual(done.code, 1)
        self.assertRegex(done.err, rf"cannot make {self.place}/file/below: Not a directory; "
                                   "choose another folder with TOPRUN_CONTAINERS")


if __name__ == "__main__":
    unittest.main()
