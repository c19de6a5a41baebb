#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""docs/start/first_cache.md, typed as it stands: its commands run, small, and print what it shows, but for figures.

    tests/plugin/first_cache_test.py BUILD DB_BENCH VERSION SANITIZE

What the page builds is the BUILD at hand. Skipped, with exit status 77, where no db_bench of VERSION is there.
"""
import os
import pathlib
import re
import subprocess
import sys
import tempfile

SKIPPED = 77
ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "start" / "first_cache.md"
SMALLER = (("--num=400000", "--num=20000"), ("--reads=300000", "--reads=40000"),
           ("--cache_size=33554432", "--cache_size=1048576"), ("scm=128M", "scm=8M"),
           ("$read & sleep", "$read --reads=100000000 & sleep"))  # the one that is killed has not ended by then
NUMBER = re.compile(r"\d+(?:\.\d+)?")


def skip(why):
    print(f"SKIPPED: {why}", file=sys.stderr)
    sys.exit(SKIPPED)


def parts(text, kind):
    return re.findall(rf"^```{kind}\n(.*?)^```", text, re.M | re.S)


def commands(text, build, scm):
    """Those after the building, on a smaller database, with the tier's file elsewhere."""
    lines = "".join(block for block in parts(text, "sh") if "cmake" not in block)
    for large, small in SMALLER:
        if large not in lines:
            sys.exit(f"FAILED: the page has no {large}")
        lines = lines.replace(large, small)
    return lines.replace("build/release", str(build)).replace("/dev/shm/first-cache", str(scm))


def shape(line):
    """What of a line does not depend on how fast or large things are: its first words without figures."""
    line = re.sub(r"/\S*first-cache( \(\w+\))?", "FILE", line)
    words = NUMBER.sub("N", line).split()
    if words and words[0].startswith("pack.codec"):
        return "pack.codec:"
    if line.startswith("mezzanine: file"):
        return " ".join(words[:5 + ("not" in words[:5])])  # was closed / was not closed
    if line.startswith("mezzanine:"):
        return " ".join(words[:3])
    return words[0] if words else ""


def main():
    build, db_bench = map(pathlib.Path, sys.argv[1:3])
    version, sanitize = sys.argv[3:5]
    if sanitize:
        skip(f"an uninstrumented program cannot load a library built with -fsanitize={sanitize}")
    if not db_bench.is_file():
        skip("db_bench not found: install rocksdb-tools, or build RocksDB with tools/rocksdb")
    shm = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    # On a disk, as the page reads directly: a tmpfs may refuse that.
    with (tempfile.TemporaryDirectory(dir=build) as work,
          tempfile.TemporaryDirectory(prefix="mezz_test.", dir=shm) as memory):
        told = subprocess.run([db_bench, "--benchmarks=", f"--db={work}/db"], capture_output=True, text=True,
                              check=False)
        if f"version {version}" not in told.stdout + told.stderr:
            skip(f"{db_bench} is not of RocksDB {version}")
        text = PAGE.read_text()
        script = commands(text, build, pathlib.Path(memory) / "first-cache")
        environment = os.environ | {"PATH": f"{db_bench.parent}:{os.environ['PATH']}", "TMPDIR": work}
        done = subprocess.run(["bash", "-e", "-c", script], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              text=True, env=environment, check=False, cwd=work)
        said = {shape(line.strip()) for line in re.split(r"[\r\n]|(?=mezzanine: )", done.stdout)}
        if done.returncode != 0:
            sys.exit(f"FAILED: status {done.returncode}\n{done.stdout[-3000:]}")
        for shown in (line for block in parts(text, "text") for line in block.splitlines() if not line.startswith("[")):
            if shape(shown) not in said:
                sys.exit(f"FAILED: the page shows '{shown}', and nothing like it was printed:\n{done.stdout[-3000:]}")
        left = list(pathlib.Path(memory).iterdir())
        if left:
            sys.exit(f"FAILED: the page leaves {left}")
    print(f"ok: {len(script.splitlines())} lines typed, all that is shown was printed")


if __name__ == "__main__":
    main()
