#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The shell tools, called from another folder than the repository's; what they would install or build is not there."""
import pathlib
import shutil
import subprocess
import tempfile
import unittest

TOOLS = pathlib.Path(__file__).resolve().parents[2] / "tools"
REACHED = 9


class Called(unittest.TestCase):
    def setUp(self):
        made = tempfile.TemporaryDirectory(prefix="mezz-called-")
        self.addCleanup(made.cleanup)
        self.tools = pathlib.Path(made.name).resolve() / "tools"
        self.tools.mkdir()
        for name in ("check", "lint", "quickstart", "rocksdb_root"):
            shutil.copy(TOOLS / name, self.tools)
        (self.tools / "install_deps").write_text(f"#!/bin/sh\necho install_deps \"$@\"\nexit {REACHED}\n")
        (self.tools / "install_deps").chmod(0o755)

    def call(self, *words):
        return subprocess.run(words, cwd=self.tools, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              check=False)

    def test_tells_its_usage(self):
        for words, status in ((("./check", "--help"), 0), (("./quickstart", "--help"), 0), (("./lint",), 2)):
            done = self.call(*words)
            self.assertEqual(done.returncode, status, done.stdout)
            self.assertIn(f"tools/{words[0][2:]} [--", done.stdout)

    def test_matrix_begins(self):
        done = self.call("./check", "--matrix")
        self.assertEqual(done.returncode, REACHED, done.stdout)
        self.assertIn("=== RocksDB 8.10.0\ninstall_deps ", done.stdout)

    def test_finds_a_trace_where_it_was_called(self):
        (self.tools / "a.trace").write_text("1\n")
        done = self.call("./quickstart", "--trace=a.trace")
        self.assertEqual((done.returncode, done.stdout), (REACHED, "install_deps build\n"))
        done = self.call("./quickstart", "--trace=b.trace")
        self.assertEqual(done.returncode, 2, done.stdout)
        self.assertIn(f"--trace={self.tools}/b.trace: no such file", done.stdout)


if __name__ == "__main__":
    unittest.main()
