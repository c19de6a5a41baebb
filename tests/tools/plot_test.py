#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""tools/plot.py, with something that says what is drawn in the place of matplotlib."""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

PLOT = pathlib.Path(__file__).resolve().parents[2] / "tools/plot.py"
MATPLOTLIB = """from unittest import mock
rcParams, use, pyplot, axes = {}, mock.Mock(), mock.Mock(), mock.Mock()
axes.set_yticks = lambda _, names: print("bars:", *names)
pyplot.subplots.return_value = (mock.Mock(), axes)
"""


def row(cache, **more):
    return {"cache": cache, "available": True, "windows": [{"ops_per_s": 1}]} | more


class Plot(unittest.TestCase):
    def plot(self, *rows):
        with tempfile.TemporaryDirectory(prefix="mezz-plot-") as name:
            folder = pathlib.Path(name)
            (folder / "matplotlib.py").write_text(MATPLOTLIB)
            result = {"program": "mezz_replay", "workload": "w", "model": "none", "rows": rows}
            (folder / "result.json").write_text(json.dumps(result))
            return subprocess.run([sys.executable, PLOT, "result.json"], cwd=folder, capture_output=True, text=True,
                                  env=os.environ | {"PYTHONPATH": name, "PYTHONDONTWRITEBYTECODE": "1"}, check=False)

    def test_cache_that_is_not_available_is_left_out_and_named(self):
        done = self.plot(row("lru"), row("hybrid", available=False, reason="it lied"), row("hcc"))
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("bars: lru hcc\n", done.stdout)
        self.assertEqual(done.stderr, "tools/plot.py: result.json: hybrid is left out: it lied\n")

    def test_refuses_to_draw_no_cache(self):
        done = self.plot(row("hybrid", available=False))
        self.assertEqual(done.returncode, 1, done.stdout)
        self.assertIn("result.json: no cache has a window to draw", done.stderr)


if __name__ == "__main__":
    unittest.main()
