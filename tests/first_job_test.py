# ctest: TIMEOUT 200 LABELS torch
"""docs/start/first-job.md: its programs and command lines on this machine print what stands there, but for figures and names."""

import re
import shlex
import unittest

import support

PAGE = support.REPOSITORY / "docs/start/first-job.md"
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.M | re.S)


def same_shape(text):
    """Without times, sizes, process ids, and what differs between machines."""
    text = re.sub(r" on [\w.-]+\b| of [\w.-]+, pid \d+|(?<=File \")/\S+/|\(\d+ ms\)|\([\d.]+ s\)|\(\d+ min .*?\)|/\S+/", "", text)
    return re.sub(r"\d+([:.-]\d+)*(e-\d+)?", "N", text)


def of_toprun(text):
    """toprun's own lines and the report below them, without warnings of PyTorch."""
    kept, within = [], False
    for line in text.splitlines():
        within = line.startswith("toprun: ") or within and line.startswith("  ")
        if within and "[c10d]" not in line and not line.startswith("  last lines"):
            kept.append(same_shape(line))
    return kept


class FirstJob(support.TestCase):
    def setUp(self):
        self.blocks = BLOCK.findall(PAGE.read_text())
        self.work = self.folder()
        (self.work / "examples").symlink_to(support.REPOSITORY / "examples")
        for name, (_, text) in zip(("crash.py", "hang.py"), (block for block in self.blocks if block[0] == "python"), strict=True):
            (self.work / name).write_text(text)

    def shown(self, line):
        """The text block below the block with this line."""
        at = next(i for i, (kind, text) in enumerate(self.blocks) if kind == "sh" and text.startswith(line))
        return next(text for kind, text in self.blocks[at:] if kind == "text")

    def launched(self, line, words=()):
        self.assertTrue(self.shown(line))
        return self.toprun(*words, *shlex.split(line)[1:], cwd=self.work, env={"PYTHON_EXEC": support.python()})

    def test_four_ranks(self):
        line = "toprun --nproc-per-node 4 examples/pi.py"
        done = self.launched(line)
        self.assert_ok(done)
        self.assertEqual(of_toprun(done.err), of_toprun(self.shown(line)))
        self.assertEqual(same_shape(done.out.strip()), same_shape(self.shown(line).splitlines()[0]))

    def test_a_dry_run(self):
        line = "toprun --dry-run --nproc-per-node 4 examples/pi.py"
        done = self.launched(line)
        self.assertEqual([row.split()[0] for row in done.out.splitlines()], [row.split()[0] for row in self.shown(line).splitlines()])

    def test_a_rank_that_fails(self):
        line = "toprun --nproc-per-node 4 crash.py"
        done = self.launched(line)
        self.assertEqual(done.code, 1)
        self.assertEqual([row for row in of_toprun(done.err) if "[rank" not in row],
                         [row for row in of_toprun(self.shown(line)) if "[rank" not in row])

    def test_a_rank_that_hangs(self):
        line = "toprun --nproc-per-node 4 --hang-timeout 10 --on-hang abort hang.py"
        done = self.launched(line)
        self.assertEqual(done.code, 1)
        expected = of_toprun(self.shown(line))
        self.assertEqual(of_toprun(done.err)[:len(expected)], expected)


if __name__ == "__main__":
    unittest.main()
