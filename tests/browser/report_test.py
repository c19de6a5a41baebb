#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What the HTML report of mezz_replay shows in a browser.

    tests/browser/report_test.py MEZZ_REPLAY [--screenshots=FOLDER]

Skipped, with exit status 77, where there is no Chromium: tools/install_deps browser installs it.
"""
import sys

import looking
import report_fixture

FIGURES = ["Throughput", "Latency", "Where blocks were found", "Over time"]
PANELS = ["Hit ratio, both tiers", "Read from flash", "Read from SCM", "Written to SCM"]


class Report(looking.Looking):
    fixture = report_fixture

    def command(self, result, page):
        return [looking.settings.tool, f"--html={page}", f"--from={result}"]

    def test_shows_everything_a_full_result_has(self):
        caches = len(report_fixture.CACHES)
        for seen in self.views("full"):
            bars = dict(seen["bars"])
            self.assertEqual(bars["Throughput"], caches)
            self.assertEqual(bars["Where blocks were found"], caches)
            for heading in FIGURES + PANELS + ["All figures", "How it was measured", "Hits by kind of block"]:
                self.assertIn(heading, seen["headings"])
            self.assertEqual(seen["curves"][0], caches, "one latency curve for each cache")
            self.assertEqual(len(seen["curves"]), 1 + 6, "latency, and six panels over time")
            for text in ("interrupted", "too noisy", "naive_scm was not available", "emulated", "model optane100",
                         "second tier never hit: hcc+compressed", "11.8.1", "peak rss bytes", "46.0k ops/s",
                         "flushes within the windows", "refusals: cold key", "SCM 128 MiB", "35.0 MB/s"):
                self.assertIn(text, seen["text"])
            for row in report_fixture.full()["rows"]:
                if "series" in row:
                    self.assertIn(f"{report_fixture.mean_ops(row) / 1e3:.1f}k", seen["text"], "the mean of its seconds")
            self.assertIn(report_fixture.HOSTILE, seen["text"], "text of a result stays text")
            self.assertNotIn("taken over", seen["title"])

    def test_says_what_an_older_result_lacks(self):
        for seen in self.views("old"):
            self.assertEqual(dict(seen["bars"])["Throughput"], 2)
            self.assertIn("no latency distributions", seen["text"])
            self.assertIn("no time series", seen["text"])
            self.assertNotIn("too noisy", seen["text"])

    def test_shows_block_mode(self):
        for seen in self.views("block"):
            self.assertEqual(dict(seen["bars"])["Where blocks were found"], len(report_fixture.CACHES))
            self.assertEqual(dict(seen["bars"])["Throughput"], len(report_fixture.CACHES))
            for heading in FIGURES + PANELS + ["Hits by kind of block"]:
                self.assertIn(heading, seen["headings"])
            self.assertTrue(seen["title"].startswith("P12.lis.zst"), "a trace is named without its folder")
            for text in ("Fewest misses: hybrid:bidirectional, 22.1 %", "data 352 MiB", "windows 5"):
                self.assertIn(text, seen["text"])

    def test_shows_an_older_block_mode(self):
        for seen in self.views("old_block"):
            self.assertEqual(dict(seen["bars"])["Where blocks were found"], len(report_fixture.CACHES))
            self.assertNotIn("Throughput", seen["headings"])
            self.assertNotIn("windows 5", seen["text"])
            self.assertIn("Fewest misses: hybrid:bidirectional, 22.1 %", seen["text"])

    def test_shows_a_run_that_finished_nothing(self):
        for seen in self.views("interrupted_at_once"):
            self.assertIn("nothing to show", seen["text"])
            self.assertIn("hcc finished no window", seen["text"])


if __name__ == "__main__":
    sys.exit(looking.main(__doc__, "mezz_replay"))
