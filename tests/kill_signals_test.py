# ctest: SERIAL FIRST TIMEOUT 300 LABELS cluster
"""Thirty double signals; `make bench-failures` plays 200. TOPRUN_SEED chooses them, or the day does."""

import unittest

import cluster
import kill_signals
import support

DOUBLES = 30
AT_ONCE = 3  # they mostly wait


class KillSignals(unittest.TestCase):
    def test_seeded_doubles(self):
        support.binary()
        if reason := cluster.reason_not_possible(with_slurm=False):
            self.skipTest(f"no virtual cluster: {reason}")
        seed = support.seed()
        for result in kill_signals.play_all(kill_signals.some_doubles(seed, DOUBLES), AT_ONCE):
            with self.subTest(result.case.name):
                self.assertFalse(result.problem, f"TOPRUN_SEED={seed}, {result.case.name}: "
                                                 f"{result.problem}\n{result.log}")


if __name__ == "__main__":
    unittest.main()
