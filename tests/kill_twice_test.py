# ctest: SERIAL FIRST TIMEOUT 300 LABELS cluster
"""Thirty pairs of strikes; `make bench-failures` plays all 200. TOPRUN_SEED chooses them, or the day does."""

import unittest

import cluster
import kill_twice
import support

PAIRS = 30
AT_ONCE = 3  # they mostly wait


class KillTwice(unittest.TestCase):
    def test_seeded_pairs(self):
        support.binary()
        if reason := cluster.reason_not_possible(with_slurm=False):
            self.skipTest(f"no virtual cluster: {reason}")
        seed = support.seed()
        for result in kill_twice.play_all(kill_twice.some_pairs(seed, PAIRS), AT_ONCE):
            with self.subTest(result.case.name):
                self.assertFalse(result.problem, f"TOPRUN_SEED={seed}, {result.case.name}: "
                                                 f"{result.problem}\n{result.log}")


if __name__ == "__main__":
    unittest.main()
