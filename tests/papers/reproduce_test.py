#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A tool that reproduces a paper, over a real db_bench, tiny: it runs to its end, and what it writes is whole.

    tests/papers/reproduce_test.py ispass20|trocksdb BUILD DB_BENCH

Skipped, with exit status 77, without a db_bench of RocksDB 11 that loads RocksDB dynamically.
"""
import csv
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

SKIPPED = 77
ROOT = pathlib.Path(__file__).resolve().parents[2]


class Reproduce(unittest.TestCase):
    def setUp(self):
        made = tempfile.TemporaryDirectory(prefix="mezz-reproduce-")
        self.addCleanup(made.cleanup)
        self.out = pathlib.Path(made.name) / "out"
        self.work = tempfile.mkdtemp(prefix="mezz-reproduce-", dir="/dev/shm")  # a modelled device wants memory
        self.addCleanup(shutil.rmtree, self.work)

    def reproduce(self, tool, *words):
        """Its rows, by figure."""
        build, db_bench = settings
        done = subprocess.run([sys.executable, ROOT / "tools" / f"reproduce-{tool}", "--quick", f"--build={build}",
                               f"--db-bench={db_bench}", f"--out={self.out}", f"--work={self.work}", *words],
                              capture_output=True, text=True, check=False, timeout=250)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(os.listdir(self.work), [], "databases are left behind")
        manifest = json.loads((self.out / "manifest.json").read_text())
        self.assertTrue(manifest["emulated"] and manifest["quick"])
        self.assertNotIn(self.work, json.dumps(manifest), "a path of this machine")
        rows = {}
        with open(self.out / "rows.csv", encoding="ascii", newline="") as file:
            for row in csv.DictReader(file):
                rows.setdefault(row["figure"], []).append(row)
        return rows


class Ispass20(Reproduce):
    def test_level_0_is_counted_by_cut_and_cache(self):
        rows = self.reproduce("ispass20", "--only=level0,mix")
        runs = [(row["experiment"], row["cache"], row["who"]) for row in rows["ops_per_s"]]
        self.assertEqual(sorted(runs), [("level0", "128", "stock")] + [("mix", "128", who) for who in (
            "dynamic", "hybrid", "hybrid+dynamic", "listener", "stock", "stock_same_dram")])
        for figure in ("ops_per_s", "blocks_read_per_get", "data_misses_per_get"):
            self.assertEqual(len(rows[figure]), len(runs), figure)
            for row in rows[figure]:
                self.assertGreater(float(row["value"]), 0, row)
        self.assertIn("level0", [row["experiment"] for row in rows["level0_files"]], "half of all writes: files come")
        read, missed = ({row["who"]: float(row["value"]) for row in rows[figure]}
                        for figure in ("blocks_read_per_get", "data_misses_per_get"))
        for who in read:
            self.assertLessEqual(read[who], missed[who] + 0.01, "compactions miss, too")
        text = (self.out / "tables.md").read_text()
        self.assertIn("| xpoint_ssd | 1/128 | 90 | listener |", text)
        self.assertNotIn("| B: dynamic over stock, 90 % reads, cache 1/128 | not run |", text)


class Trocksdb(Reproduce):
    def test_separated_values_are_written_and_read(self):
        tests = ("load_sequential", "overwrite", "read")
        rows = self.reproduce("trocksdb", f"--tests={','.join(tests)}", "--systems=stock,blobdb_hybrid")
        self.assertEqual([(row["test"], row["system"]) for row in rows["ops_per_s"]],
                         [(test, system) for test in tests for system in ("stock", "blobdb_hybrid")])
        written = {(row["test"], row["system"]): float(row["value"]) for row in rows["flash_write_amplification"]}
        self.assertLess(written["overwrite", "blobdb_hybrid"], written["overwrite", "stock"],
                        "compactions move keys alone")
        self.assertGreater(float(rows["scm_hits_per_op"][-1]["value"]), 0, "values are read from SCM")
        text = (self.out / "table.md").read_text()
        for test in tests:
            self.assertIn(f"| {test} | blobdb_hybrid |", text)


def why_skipped(build, db_bench):
    if not os.access(db_bench, os.X_OK):
        return f"db_bench not found ({db_bench}): tools/rocksdb 11.8.1 builds one"
    if "librocksdb.so.11" not in subprocess.run(["ldd", db_bench], capture_output=True, text=True, check=False).stdout:
        return f"{db_bench} does not load RocksDB 11 dynamically"
    for library in ("libmezzanine_rocksdb.so", "libmezzanine_flash.so"):
        if not (pathlib.Path(build) / "lib" / library).exists():
            return f"{build} has no {library}"
    return None


if __name__ == "__main__":
    paper = {"ispass20": "Ispass20", "trocksdb": "Trocksdb"}[sys.argv.pop(1)]
    settings = [sys.argv.pop(1), sys.argv.pop(1)]
    if why := why_skipped(*settings):
        print(f"SKIPPED: {why}")
        sys.exit(SKIPPED)
    unittest.main(defaultTest=paper)
