#!/usr/bin/env python3
"""The arithmetic of the benchmarks."""
import unittest

import trials


class TrialsTest(unittest.TestCase):
    def test_spread_is_the_median_distance_from_the_median(self):
        self.assertEqual(trials.median_and_mad([1, 2, 3, 4, 100]), (3, 1))

    def test_hash_tells_configurations_apart(self):
        one = trials.configuration_hash({"readers": 4, "profile": "oss"})
        self.assertEqual(one, trials.configuration_hash({"profile": "oss", "readers": 4}))
        self.assertNotEqual(one, trials.configuration_hash({"profile": "oss", "readers": 8}))

    def test_bars(self):
        self.assertTrue(trials.reaches(0.95, ">= 0.95"))
        self.assertFalse(trials.reaches(0.94, ">= 0.95"))
        self.assertTrue(trials.reaches(1.02, "<= 1.02"))
        self.assertFalse(trials.reaches(1.03, "<= 1.02"))
        self.assertFalse(trials.reaches(1, "= 0"))
        self.assertIsNone(trials.reaches(1, ""))

    def test_a_row_is_judged_by_its_median(self):
        row = trials.row("r", [0.90, 0.96, 0.97], ">= 0.95")
        self.assertEqual((row["median"], row["reached"]), (0.96, True))

    def test_rows_without_a_bar_are_not_counted(self):
        rows = [trials.row("a", 1, ">= 1"), trials.row("b", 0, ">= 1"), trials.row("c", 1), trials.remark("d", "not installed")]
        self.assertEqual(trials.summary(rows), "1 of 2 bars reached")

    def test_four_readers_of_100_kb_are_bound_by_latency(self):
        self.assertAlmostEqual(trials.ideal_files_per_second(4, 100_000, (0.035, 50e6), 400e6), 4 / 0.037)
        self.assertEqual(trials.ideal_files_per_second(1024, 100_000, (0.035, 50e6), 400e6), 4000)
        self.assertEqual(trials.ideal_files_per_second(1, 16_384, (0.030, 0), 0), 1 / 0.030)

    def test_rate_is_reached_at_the_end_of_the_first_full_window(self):
        timeline = [0, 0, 10, 10, 10, 10, 10, 10]
        self.assertEqual(trials.seconds_to_reach(200, timeline, 0.05), 0.05 * 6)
        self.assertIsNone(trials.seconds_to_reach(201, timeline, 0.05))


if __name__ == "__main__":
    unittest.main()
