#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""tools/claims.py and the pictures of the pages: that they are what the results give, and legible on a phone, light and
dark."""
import contextlib
import io
import pathlib
import re
import shutil
import sys
import tempfile
import unittest
from unittest import mock

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.dont_write_bytecode = True
sys.path.insert(0, str(ROOT / "tools"))
import claims  # noqa: E402
import pages  # noqa: E402

FOLDERS = {"speed": ("written", "flash-bound"), "best": ("written", "flash-bound"), "restart": ("restart",),
           "predicted": ("predicted",), "beside": ("ispass20", "trocksdb", "tune")}
PHONE = 330  # pixels that a phone leaves a picture
LETTER_MIN = 10  # pixels a letter's height there
LETTER_WIDTH = 0.55  # of its height, in the mean, of a wide font


def texts(svg):
    return [text for text in re.findall(r"<text[^>]*>([^<]*)</text>", svg) if text]


class Claims(unittest.TestCase):
    def check(self, root):
        with mock.patch.object(claims, "ROOT", root), mock.patch.object(sys, "argv", ["claims.py", "--check"]), \
                contextlib.redirect_stdout(io.StringIO()) as said:
            return claims.main(), said.getvalue()

    def test_are_what_the_results_give(self):
        self.assertEqual(self.check(ROOT), (0, ""))

    def test_that_were_changed_are_noticed(self):
        with tempfile.TemporaryDirectory(prefix="mezz-claims-") as name:
            root = pathlib.Path(name)
            (root / "results").symlink_to(ROOT / "results")
            shutil.copytree(ROOT / claims.FOLDER, root / claims.FOLDER)
            self.assertEqual(self.check(root), (0, ""))
            speed, restart = (root / claims.FOLDER / f"{picture}.svg" for picture in ("speed", "restart"))
            speed.write_text(speed.read_text().replace(">4.23<", ">4.32<"))
            restart.unlink()
            status, said = self.check(root)
            self.assertEqual(status, 1)
            self.assertEqual(re.findall(r"(\w+)\.svg", said), ["speed", "restart"])

    def test_tell_no_figure_that_the_summaries_do_not(self):
        self.assertEqual(set(FOLDERS), set(claims.PICTURES))
        for picture, folders in FOLDERS.items():
            known = set().union(*(pages.carried(ROOT / "results" / folder) for folder in folders))
            figures = re.findall(r"\d+\.\d+", " ".join(texts((ROOT / claims.FOLDER / f"{picture}.svg").read_text())))
            for figure in figures:
                self.assertIn(pages.digits(figure), known, picture)

    def test_are_in_readme(self):
        readme = (ROOT / "README.md").read_text()
        for picture in claims.PICTURES:
            self.assertIn(f"({claims.FOLDER}/{picture}.svg)", readme)


class Pictures(unittest.TestCase):
    def each(self):
        found = sorted((ROOT / "docs").rglob("*.svg"))
        self.assertGreaterEqual(len(found), 2 + len(claims.PICTURES))
        return [(path.name, path.read_text()) for path in found]

    def test_are_legible_on_a_phone(self):
        for name, svg in self.each():
            width = int(re.search(r'viewBox="0 0 (\d+) ', svg).group(1))
            for size in re.findall(r'font-size[:="]+ *(\d+)', svg):
                self.assertGreaterEqual(int(size) * min(1, PHONE / width), LETTER_MIN, name)

    def test_have_a_page_of_their_own_light_and_dark(self):
        for name, svg in self.each():
            self.assertIn("prefers-color-scheme: dark", svg)
            self.assertRegex(svg, r'<rect class="page"', name)
            light, dark = svg.split("prefers-color-scheme: dark")
            for kind in ("page", "text", "small", "line"):
                self.assertRegex(light, rf"\.?{kind} {{", name)
                self.assertRegex(dark, rf"\.?{kind} {{", name)

    def test_keep_their_words_within(self):
        for name, svg in self.each():
            width, size = int(re.search(r'viewBox="0 0 (\d+) ', svg).group(1)), 14
            for shape, text in re.findall(r"<text([^>]*)>([^<]*)</text>", svg):
                x = float(re.search(r' x="([\d.]+)"', shape).group(1))
                anchor = (re.findall(r'text-anchor="(\w+)"', shape) or ["start"])[0]
                length = len(text) * size * LETTER_WIDTH * {"middle": 0.5}.get(anchor, 1)
                room = {"end": x, "middle": min(x, width - x)}.get(anchor, width - x)
                self.assertLessEqual(length, room + 1, f"{name}: {text}")


if __name__ == "__main__":
    unittest.main()
