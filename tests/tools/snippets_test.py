#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The C++ that README and docs/ tell their reader to write, compiled as it stands against the headers of the tree.

    tests/tools/snippets_test.py BUILD     a build folder with RocksDB, whose compile_commands.json says how
"""
import json
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(sys.argv.pop(1)).resolve()
LIKE = "integration/metrics_server"  # a source of its own in every build, with all include paths: RocksDB's and ours
# What a reader has around the lines.
BEFORE = """
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include "rocksdb/cache.h"
#include "rocksdb/db.h"
#include "rocksdb/env.h"
#include "rocksdb/file_system.h"
#include "rocksdb/listener.h"
#include "rocksdb/options.h"
#include "rocksdb/table.h"
#include "rocksdb/trace_reader_writer.h"
#include "mezzanine/admission/policy.h"
#include "mezzanine/integration/companions/wal_file_system.h"
#include "mezzanine/integration/hybrid_cache.h"
#include "mezzanine/integration/use_hybrid_cache.h"
bool Fail(const std::string& message);
struct Around {
  std::shared_ptr<rocksdb::Cache> cache;
  std::unique_ptr<rocksdb::Env> env;
  rocksdb::BlockBasedTableOptions table_options;
  rocksdb::Options rocksdb_options;
  rocksdb::DB* db;
};
"""


def blocks():
    """(page, C++) of each block of code."""
    for page in [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]:
        for code in re.findall(r"^```(?:cpp|c\+\+)\n(.*?)^```", page.read_text(), re.M | re.S):
            yield page.relative_to(ROOT), code


def source(snippets):
    """One source: each snippet in a function of its own, its includes before them all."""
    includes, functions = [], []
    for number, (page, code) in enumerate(snippets):
        includes += [line for line in code.split("\n") if line.startswith("#include")]
        code = "\n".join("" if line.startswith("#include") else line for line in code.split("\n"))
        ours = "options.policy" in code  # else `options` are RocksDB's
        options = "mezz::HybridCacheOptions" if ours else "rocksdb::Options"
        functions.append(f"struct Around{number} : Around {{\n  {options} options;\n  bool Run();\n}};\n"
                         f"bool Around{number}::Run() {{\n#line 1 \"{page}\"\n{code}\nreturn true;\n}}")
    return "\n".join([BEFORE, *includes, *functions])


def compile_like():
    """The compiler and its flags for a source of integration/; warnings are the reader's own affair."""
    for entry in json.loads((BUILD / "compile_commands.json").read_text()):
        if LIKE in entry["file"]:
            words = shlex.split(entry["command"])
            kept = [word for word in words if not word.startswith("-W") and word not in ("-c", entry["file"])]
            del kept[kept.index("-o"):kept.index("-o") + 2]
            return [*kept, "-w", "-fsyntax-only"], entry["directory"]
    sys.exit(f"snippets_test: {BUILD} compiles no {LIKE}")


def compiled(text):
    with tempfile.TemporaryDirectory(prefix="mezz-snippets-") as name:
        folder = pathlib.Path(name)
        (folder / "mezzanine").symlink_to(ROOT)  # as it is installed
        (folder / "snippets.cc").write_text(text)
        command, directory = compile_like()
        return subprocess.run([*command, f"-I{folder}", str(folder / "snippets.cc")], cwd=directory, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)


class Snippets(unittest.TestCase):
    def test_compile(self):
        snippets = list(blocks())
        self.assertGreaterEqual(len(snippets), 7)
        done = compiled(source(snippets))
        self.assertEqual(done.returncode, 0, done.stdout)

    def test_with_a_name_that_is_gone_do_not(self):
        wrong = [(page, code.replace("NewHybridCache(", "NewMixedCache(")) for page, code in blocks()]
        done = compiled(source(wrong))
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("README.md", done.stdout)


if __name__ == "__main__":
    unittest.main()
