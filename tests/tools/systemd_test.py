#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The units beside the pages, as systemd itself reads them. It only warns of a value that it cannot read, so that must
be nothing. Skipped, with exit status 77, where systemd-analyze is not there."""
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

SKIPPED = 77
HOW_TO = pathlib.Path(__file__).resolve().parents[2] / "docs" / "how-to"
if not shutil.which("systemd-analyze"):
    print("SKIPPED: no systemd-analyze here: units beside the pages are not verified (Debian's package is systemd)")
    sys.exit(SKIPPED)


def verify(unit):
    done = subprocess.run(["systemd-analyze", "verify", str(unit)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          text=True, check=False)
    return [line for line in done.stdout.splitlines() if unit.name in line]


class Units(unittest.TestCase):
    def test_are_read_without_a_word(self):
        units = sorted(HOW_TO.glob("*.service"))
        self.assertTrue(units)
        for unit in units:
            self.assertEqual(verify(unit), [], unit.name)

    def test_with_a_mistake_are_not(self):
        text = (HOW_TO / "mezzanine-db.service").read_text()
        with tempfile.TemporaryDirectory(prefix="mezz-unit-") as folder:
            unit = pathlib.Path(folder) / "mezzanine-wrong.service"
            for right, wrong in (("TimeoutStopSec=90", "TimeoutStopSec=9x"), ("MemoryMax=8G", "MemoryMaximum=8G"),
                                 ("ExecStart=/bin/sleep", "ExecStart=/nowhere/sleep")):
                self.assertIn(right, text)
                unit.write_text(text.replace(right, wrong))
                self.assertNotEqual(verify(unit), [], wrong)


if __name__ == "__main__":
    unittest.main()
