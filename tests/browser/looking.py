# SPDX-License-Identifier: Apache-2.0
"""What every page of ours must hold in a browser, at each size, in each scheme."""
import argparse
import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

import chromium

SKIPPED = 77
SIZES = {"phone": (390, 844), "laptop": (1280, 800)}
SCHEMES = ("light", "dark")
settings = None


class Looking(unittest.TestCase):
    fixture = None  # the module that makes results, by name

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory(prefix="mezz-page-")
        cls.browser = chromium.Chromium(settings.browser)
        cls.probe = pathlib.Path(__file__).with_name("report_probe.js").read_text()

    @classmethod
    def tearDownClass(cls):
        cls.browser.__exit__()
        cls.folder.cleanup()

    def command(self, result, page):
        """Makes the page of a result."""
        raise NotImplementedError

    def page(self, name):
        folder = pathlib.Path(self.folder.name)
        (folder / f"{name}.json").write_text(json.dumps(getattr(self.fixture, name)()))
        page = folder / f"{name}.html"
        subprocess.run(self.command(folder / f"{name}.json", page), check=True, timeout=60)
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


def main(description, tool):
    """Runs the tests of the calling module; `tool` is what makes its pages."""
    global settings
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(tool)
    parser.add_argument("--screenshots", type=pathlib.Path, help="keep a picture of each view here")
    settings = parser.parse_args()
    settings.tool = getattr(settings, tool)
    settings.browser = chromium.find()
    if settings.browser is None:
        print("SKIPPED: no Chromium here, so nobody has looked at the page: tools/install_deps browser")
        return SKIPPED
    if settings.screenshots:
        settings.screenshots.mkdir(parents=True, exist_ok=True)
    tests = unittest.defaultTestLoader.loadTestsFromModule(sys.modules["__main__"])
    return 0 if unittest.TextTestRunner(verbosity=2).run(tests).wasSuccessful() else 1
