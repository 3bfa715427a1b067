# ctest: TIMEOUT 600
"""What dumps of the flight recorder say, beside what is true: real PyTorch jobs of many shapes, each healthy and with one
defect, judged by `toprun stacks --dumps` and by PyTorch's own analyser. docs/guides/hangs.md has the table."""

import json
import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest

import support

WORKLOAD = support.REPOSITORY / "tests/workloads/recorded_jobs.py"
LIMIT_S = 500


class Oracle(support.TestCase):
    @classmethod
    def setUpClass(cls):
        support.binary()
        cls.played = pathlib.Path(tempfile.mkdtemp(prefix="toprun-recorded-"))
        cls.addClassCleanup(shutil.rmtree, cls.played)
        subprocess.run([support.python(), "-B", WORKLOAD, cls.played], check=True, timeout=LIMIT_S,
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        cls.shapes = json.loads((cls.played / "shapes.json").read_text())
        cls.theirs = json.loads((cls.played / "fr_trace.json").read_text())

    def findings(self, form, job):
        done = subprocess.run([support.TOPRUN, "stacks", "--dumps", self.played / form / job, "--json"],
                              capture_output=True, text=True, timeout=LIMIT_S)
        self.assertEqual([done.returncode, done.stderr], [0, ""])
        return json.loads(done.stdout)["findings"]

    def assert_silent(self, form):
        for shape in self.shapes:
            with self.subTest(shape["name"]):
                self.assertEqual(self.findings(form, shape["name"] + ".healthy"), [])

    def test_at_least_thirty_shapes(self):
        self.assertGreaterEqual(len(self.shapes), 30)

    def test_healthy_jobs_are_not_accused(self):
        self.assert_silent("nccl")

    def test_healthy_jobs_are_not_accused_by_gloos_own_dumps(self):
        self.assert_silent("gloo")

    def assert_named(self, shape, found):
        """The findings begin with the defect, and blame no other rank. Who is late may be late in several calls."""
        expected, first = shape["expected"], found[0]
        self.assertEqual([first["kind"], first["ranks"], first["blames"]],
                         [expected["kind"], expected["ranks"], expected["blames"]], found)
        self.assertEqual([one for one in found if one["blames"] and one["ranks"] != expected["ranks"]], [])
        alike = [one for one in found if one["ranks"] == expected["ranks"] and one["blames"] == expected["blames"]]
        self.assertTrue(any(expected["group"] in (one["description"], one["group"]) and
                            self.without_backend(one["operation"]).startswith(expected["operation"])
                            for one in alike), found)

    @staticmethod
    def without_backend(operation):
        return operation.partition(":")[2].lstrip("_")

    def test_the_defect_is_named(self):
        for shape in self.shapes:
            with self.subTest(shape["name"], defect=shape["defect"]):
                self.assert_named(shape, self.findings("nccl", shape["name"] + ".defect"))

    def test_the_defect_is_named_by_gloos_own_dumps_as_far_as_they_tell(self):
        for shape in self.shapes:
            with self.subTest(shape["name"], defect=shape["defect"]):
                found = self.findings("gloo", shape["name"] + ".defect")
                tells = shape["expected"]["gloo"]
                if tells == "same":
                    self.assert_named(shape, found)
                elif tells == "silence":
                    self.assertEqual(found, [])
                else:
                    self.assertEqual([one["kind"] for one in found], [tells], found)
                    self.assertFalse(any(one["blames"] for one in found))

    def test_pytorchs_own_analyser_agrees_but_where_the_table_says_why(self):
        table = {}
        for line in (support.REPOSITORY / "docs/guides/hangs.md").read_text().splitlines():
            for name in re.findall(r"`(\w+\.(?:healthy|defect))`", line):
                table[name] = line
        for shape in self.shapes:
            for case in "healthy", "defect":
                job = f"{shape['name']}.{case}"
                with self.subTest(job):
                    self.assertEqual(self.agree(shape, case, self.theirs[job]), job not in table, self.theirs[job])

    @staticmethod
    def agree(shape, case, theirs):
        """Whether fr_trace is silent, or names the ranks that the defect is of in its first call that does not fit."""
        calls = theirs.get("calls")
        if calls is None:
            return False
        if case == "healthy":
            return calls == []
        if not calls:
            return False
        # That a call has ended on some ranks only is what a hang is.
        differ = [int(rank) for rank, why in calls[0]["mismatch"].items() if "COLLECTIVE_STATE" not in why]
        return (calls[0]["missing"] or sorted(differ)) == shape["expected"]["ranks"]


if __name__ == "__main__":
    unittest.main()
