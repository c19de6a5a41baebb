#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The man pages, as `man` itself reads them: without a warning, and with every key, variable and flag that there is.

    tests/tools/man_test.py BUILD      a build folder with its man pages and programs

Skipped, with exit status 77, where man is not there.
"""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

SKIPPED = 77
ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(sys.argv.pop(1)).resolve()
PAGES = sorted((BUILD / "share" / "man").glob("man*/*"))
PROGRAMS = ("mezz_inspect", "mezz_plan", "mezz_replay", "mezz_sim", "mezz_trace")
if not shutil.which("man"):
    print("skipped: no man here: its pages are not read (Debian's package is man-db)")
    sys.exit(SKIPPED)


def read(page):
    """(the text, what man complains of)."""
    environment = os.environ | {"MANWIDTH": "100", "MAN_KEEP_STDERR": "1", "MANROFFOPT": "", "LC_ALL": "C.UTF-8"}
    done = subprocess.run(["man", "--local-file", "--warnings", "--no-hyphenation", str(page)], capture_output=True,
                          text=True, env=environment, check=False)
    return re.sub(".\b", "", done.stdout), done.stderr


class ManPages(unittest.TestCase):
    def test_are_of_all_programs_and_the_library(self):
        self.assertEqual([page.name for page in PAGES], [*(f"{name}.1" for name in PROGRAMS), "mezzanine.7"])

    def test_are_read_without_a_warning(self):
        for page in PAGES:
            text, warnings = read(page)
            self.assertEqual(warnings, "", page.name)
            self.assertIn("SEE ALSO", text, page.name)

    def test_with_a_mistake_are_not(self):
        with tempfile.TemporaryDirectory(prefix="mezz-man-") as folder:
            wrong = pathlib.Path(folder) / "wrong.7"
            for mistake in (".nosuch request", r"\fBnot closed \[nosuch]"):
                wrong.write_text(PAGES[-1].read_text() + mistake + "\n")
                self.assertNotEqual(read(wrong)[1], "", mistake)

    def test_have_every_key_of_the_uri(self):
        text = read(PAGES[-1])[0]
        table = (ROOT / "integration" / "option_table.cc").read_text().partition("kTable[]")[2].partition("\n};")[0]
        rows = table.split('{.key = "')[1:]
        self.assertGreater(len(rows), 20)
        for row in rows:
            key, retired = row.partition('"')[0], ".instead =" in row
            self.assertEqual(re.search(rf"^ +{key}= ", text, re.M) is None, retired, key)

    def test_have_every_variable_that_is_read(self):
        text, read_by_us = read(PAGES[-1])[0], set()
        for source in (ROOT / "integration").rglob("*.cc"):
            read_by_us |= set(re.findall(r'(?:getenv|Environment)\("(MEZZANINE_\w+)"\)', source.read_text()))
        self.assertGreater(len(read_by_us), 4)
        for variable in read_by_us:
            self.assertRegex(text, rf"(?m)^ +{variable}=", "docs/how-to/preload.md has a table of them")

    def test_have_every_flag(self):
        for program in PROGRAMS:
            text = read(BUILD / "share" / "man" / "man1" / f"{program}.1")[0]
            said = subprocess.run([BUILD / "bin" / program, "--help"], check=True, capture_output=True, text=True)
            flags = re.findall(r"^  (--\S+)", said.stdout, re.M)
            self.assertTrue(flags)
            for flag in flags:
                self.assertRegex(text, rf"(?m)^ +{re.escape(flag)}", program)


if __name__ == "__main__":
    unittest.main()
