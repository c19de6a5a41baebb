#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""tools/tune over a real db_bench, tiny: what RocksDB does not take is refused by line, and the end is an OPTIONS file.

    tests/tune/tune_db_bench_test.py BUILD DB_BENCH

Skipped, with exit status 77, without PyYAML or a db_bench of RocksDB 11 that loads RocksDB dynamically.
"""
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
WORKLOADS = """target: replication
keys: 3000
key_size: 16B
value_size: 400B
rounds: 1
device: xpoint_ssd
workloads:
  populate: {}
  read: {share: 10%, threads: 2, times: 2}
  mixed: {reads: 50%, share: 10%, threads: 2}
  replication: {order: random, readers: 2}
crossover: [50%]
"""
KNOBS = """base:
  options: {write_buffer_size: 256K, compression: kNoCompression}
  flags: {disable_wal: true}
knobs:
  - name: block size
    options: {block_size: 16K}
  - name: hybrid cache
    flags: {cache_uri: "mezzanine://dram=4M;scm=16M@dram"}
  - name: order
    workloads: {replication: {order: sequential}}
"""
NOT_TAKEN = (  # instead of the second knob's flags: the line, what is said
    ("options: {blok_size: 16K}", 8, "RocksDB knows no option blok_size; do you mean block_size?"),
    ("options: {error_if_exists: true}", 7, "knob hybrid cache: RocksDB cannot change it"),
    ("options: {comparator: rocksdb.ReverseBytewiseComparator}", 7, "knob hybrid cache: RocksDB cannot change it"),
    ("options: {max_write_buffer_number: 1}", 8, "does not take max_write_buffer_number=1 here: it made 2 of it"),
    ('flags: {cache_uri: "mezzanine://dram=4M;scm=16M@dram;speed=fast"}', 7, 'the key "speed"'),
)


class Tune(unittest.TestCase):
    def setUp(self):
        made = tempfile.TemporaryDirectory(prefix="mezz-tune-")
        self.addCleanup(made.cleanup)
        self.folder = pathlib.Path(made.name)
        self.work = tempfile.mkdtemp(prefix="mezz-tune-", dir="/dev/shm")  # a modelled device wants memory
        self.addCleanup(shutil.rmtree, self.work)
        (self.folder / "w.yaml").write_text(WORKLOADS)

    def tune(self, knobs, *words):
        (self.folder / "k.yaml").write_text(knobs)
        build, db_bench = settings
        return subprocess.run([sys.executable, ROOT / "tools/tune", "--workloads=w.yaml", "--knobs=k.yaml",
                               f"--build={build}", f"--db-bench={db_bench}", "--out=out", f"--work={self.work}",
                               *words], cwd=self.folder,
                              capture_output=True, text=True, check=False, timeout=200)

    def test_ends_in_options_that_rocksdb_loads(self):
        done = self.tune(KNOBS)
        found = json.loads((self.folder / "out/tune.json").read_text())
        self.assertIn(done.returncode, (0, 1), done.stderr)  # 1: so short a measurement may not be confirmed
        self.assertEqual([knob["name"] for knob in found["knobs"]], ["block size", "hybrid cache", "order"])
        for knob in found["knobs"]:
            self.assertNotIn("a run failed", knob["why"])
            for effects in (knob["comparison"]["effects"][who] for who in ("best", "candidate")):
                self.assertGreater(effects[0]["write_amplification"], 0)
                self.assertGreater(effects[0]["space_amplification"], 0)
        self.assertEqual(set(found["noise"]), {"populate", "read", "mixed", "replication"})
        options = (self.folder / "out/OPTIONS").read_text()
        self.assertIn("write_buffer_size=262144", options)
        self.assertEqual("block_size=16384" in options, found["knobs"][0]["accepted"])
        self.assertIn("emulated", (self.folder / "out/report.md").read_text())
        self.assertTrue(json.loads((self.folder / "out/manifest.json").read_text())["emulated"])
        self.assertEqual(os.listdir(self.work), [], "databases are left behind")

    def test_what_rocksdb_does_not_take_is_refused_by_line(self):
        flags = 'flags: {cache_uri: "mezzanine://dram=4M;scm=16M@dram"}'
        for instead, line, says in NOT_TAKEN:
            done = self.tune(KNOBS.replace(flags, instead))
            self.assertEqual(done.returncode, 2, done.stderr)
            told = [text for text in done.stderr.splitlines() if f"k.yaml:{line}: " in text]
            self.assertTrue(any(says in text for text in told), f"{says} is not in {done.stderr}")
            self.assertFalse((self.folder / "out").exists(), "something was measured")


def why_skipped(build, db_bench):
    try:
        import yaml  # noqa: F401
    except ImportError as missing:
        return f"{missing}; tools/install_deps tune installs it"
    if not os.access(db_bench, os.X_OK):
        return f"db_bench not found ({db_bench}): tools/rocksdb 11.8.1 builds one"
    if "librocksdb.so.11" not in subprocess.run(["ldd", db_bench], capture_output=True, text=True, check=False).stdout:
        return f"{db_bench} does not load RocksDB 11 dynamically"
    if not (pathlib.Path(build) / "lib/libmezzanine_flash.so").exists():
        return f"{build} has no libmezzanine_flash.so"
    return None


if __name__ == "__main__":
    settings = [sys.argv.pop(1), sys.argv.pop(1)]
    if why := why_skipped(*settings):
        print(f"SKIPPED: {why}")
        sys.exit(SKIPPED)
    unittest.main()
