# ctest: SERIAL FIRST TIMEOUT 300 LABELS cluster
"""Thirty cases of the kill matrix; `make bench-failures` plays all 200. TOPRUN_SEED chooses them, or the day does."""

import unittest

import cluster
import kill_matrix
import kill_scene
import support

CASES = 30
AT_ONCE = 3  # they mostly wait


class KillMatrix(unittest.TestCase):
    def test_every_expectation_can_be_looked_up(self):
        cases = kill_matrix.all_cases(seed=0)
        self.assertEqual(len({case.name for case in cases}), 200)
        for case in cases:
            with self.subTest(case.name):
                expected = kill_matrix.expected(case)
                self.assertTrue(expected.outcomes)
                self.assertTrue(len(expected.outcomes) == 1 or self.says_why(case, expected))

    def says_why(self, case, expected):
        """More than one outcome needs a reason, if it is not which of two equal limits is first."""
        return (len(kill_matrix.lost_kinds(case)) > 1 or
                any(outcome.why for outcome in expected.outcomes))

    def test_seeded_cases(self):
        support.binary()
        if reason := cluster.reason_not_possible(with_slurm=False):
            self.skipTest(f"no virtual cluster: {reason}")
        seed = support.seed()
        for result in kill_scene.play_all(kill_matrix.some_cases(seed, CASES), AT_ONCE):
            with self.subTest(result.case.name):
                self.assertFalse(result.problem, f"TOPRUN_SEED={seed}, {result.case.name}: "
                                                 f"{result.problem}\n{result.log}")


if __name__ == "__main__":
    unittest.main()
