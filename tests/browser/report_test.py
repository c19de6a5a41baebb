#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What the HTML report of mezz_replay shows in a browser.

    tests/browser/report_test.py MEZZ_REPLAY [--screenshots=FOLDER]

Skipped, with exit status 77, where there is no Chromium: tools/install_deps browser installs it.
"""
import argparse
import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

import chromium
import report_fixture

SKIPPED = 77
SIZES = {"phone": (390, 844), "laptop": (1280, 800)}
SCHEMES = ("light", "dark")
FIGURES = ["Throughput", "Latency", "Where blocks were found", "Over time"]
PANELS = ["Hit ratio, both tiers", "Read from flash", "Read from SCM", "Written to SCM"]
settings = None


class Report(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory(prefix="mezz-report-")
        cls.browser = chromium.Chromium(settings.browser)
        cls.probe = pathlib.Path(__file__).with_name("report_probe.js").read_text()

    @classmethod
    def tearDownClass(cls):
        cls.browser.__exit__()
        cls.folder.cleanup()

    def page(self, name):
        folder = pathlib.Path(self.folder.name)
        (folder / f"{name}.json").write_text(json.dumps(getattr(report_fixture, name)()))
        page = folder / f"{name}.html"
        subprocess.run([settings.mezz_replay, f"--html={page}", f"--from={folder / name}.json"], check=True, timeout=60)
        return page

    def views(self, name):
        """What the page shows at each size, in each scheme; what must hold in all of them is asserted here."""
        page, shown = self.page(name), []
        for size, (width, height) in SIZES.items():
            for scheme in SCHEMES:
                with self.subTest(page=name, size=size, scheme=scheme):
                    self.browser.open(page.as_uri(), width, height, scheme)
                    seen = self.browser.evaluate(self.probe)
                    if settings.screenshots:
                        self.browser.screenshot(settings.screenshots / f"{name}-{size}-{scheme}.png")
                    self.sound(page, width, scheme, seen)
                    shown.append(seen)
        return shown

    def sound(self, page, width, scheme, seen):
        self.assertEqual(self.browser.complaints(), [])
        self.assertEqual(self.browser.fetched(), [page.as_uri()], "the page is all that is fetched")
        self.assertEqual(seen["width"], width)
        self.assertLessEqual(seen["scrollWidth"], width)
        self.assertEqual(seen["drawn"], seen["drawings"])
        for nothing in ("tooWide", "overlaps", "outside", "faint"):
            self.assertEqual(seen[nothing], [], nothing)
        for none in ("withoutAlternative", "badNumbers", "foreign"):
            self.assertEqual(seen[none], 0, none)
        self.assertNotRegex(seen["text"], r"NaN|undefined|\[object")
        if scheme == "light":
            self.assertGreater(seen["paper"], 0.8)
        else:
            self.assertLess(seen["paper"], 0.1)

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
                         "background: flushes", "refusals: cold key", "SCM 128 MiB", "35.0 MB/s"):
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


def main():
    global settings
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("mezz_replay")
    parser.add_argument("--screenshots", type=pathlib.Path, help="keep a picture of each view here")
    settings = parser.parse_args()
    settings.browser = chromium.find()
    if settings.browser is None:
        print("SKIPPED: no Chromium here, so nobody has looked at the HTML report: tools/install_deps browser")
        return SKIPPED
    if settings.screenshots:
        settings.screenshots.mkdir(parents=True, exist_ok=True)
    outcome = unittest.TextTestRunner(verbosity=2).run(unittest.defaultTestLoader.loadTestsFromTestCase(Report))
    return 0 if outcome.wasSuccessful() else 1


if __name__ == "__main__":
    sys.exit(main())
