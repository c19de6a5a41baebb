#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Strangers' programs over the distribution's RocksDB, each once with the preload and once without: same results.

    strangers_test.py LIBRARIES_FOLDER

A program that is not installed is a skipped case, by name.
"""
import os
import random
import re
import shutil
import socket
import struct
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

LIBRARIES = Path(sys.argv.pop(1)).resolve()


class Balboa:
    """The daemon of balboa's RocksDB backend, over a folder, until the block ends."""

    def __init__(self, folder, environment):
        self.folder, self.environment = folder, environment

    def __enter__(self):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = str(free.getsockname()[1])
        self.log = open(self.folder / "log", "ab")
        self.daemon = subprocess.Popen(["balboa-rocksdb", "-R", "-l", "127.0.0.1", "-p", self.port, "-d",
                                        str(self.folder / "db")], env=self.environment, stdout=self.log,
                                       stderr=self.log)
        until = time.monotonic() + 60
        while time.monotonic() < until and self.daemon.poll() is None:
            with socket.socket() as ready:
                if ready.connect_ex(("127.0.0.1", int(self.port))) == 0:
                    return self
            os.sched_yield()
        raise AssertionError("balboa-rocksdb does not listen")

    def __exit__(self, *_):
        self.daemon.terminate()
        self.status = self.daemon.wait(timeout=60)
        self.log.close()

    def console(self, *arguments, **redirected):
        return subprocess.run(["balboa-backend-console", *arguments, "-h", "127.0.0.1", "-p", self.port], check=True,
                              stderr=subprocess.DEVNULL, timeout=300, **redirected).stdout

    def dump(self):
        return self.console("dump", stdout=subprocess.PIPE)


def observation(i):
    """As balboa dumps one: a map of msgpack."""

    def text(value):
        return struct.pack(">BB", 0xC4, len(value)) + value

    address = b"10.%d.%d.%d" % (i >> 16, i >> 8 & 255, i & 255)
    seen = (bytes([i % 9 + 1]), *(struct.pack(">BI", 0xCE, first + i) for first in (1500000000, 1600000000)))
    name, sensor = b"host%d.of.a.long.name.example.org" % i, b"sensor-%d" % (i % 7)
    fields = (text(name), text(b"A"), text(address), text(sensor), *seen)
    return b"\x87" + b"".join(bytes([key]) + value for key, value in enumerate(fields))


class Strangers(unittest.TestCase):
    def setUp(self):
        shm = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
        self.folder = Path(tempfile.mkdtemp(prefix="mezz_strangers.", dir=shm))
        self.addCleanup(shutil.rmtree, self.folder)

    def preloaded(self):
        """The environment that puts the cache under a program, which reports to `folder`/report."""
        return {**os.environ, "LD_PRELOAD": str(LIBRARIES / "libmezzanine_preload.so"), "MEZZANINE_STRICT": "1",
                "MEZZANINE_CACHE": f"mezzanine://scm=64M@{self.folder / 'medium'}",
                "MEZZANINE_REPORT": str(self.folder / "report")}

    def needs(self, *programs):
        for program in programs:
            if shutil.which(program) is None:
                print(f"skipped: a stranger's program: {program} is not found: tools/install_deps check installs it")
                self.skipTest(program)

    def counter(self, report, name):
        return max(int(count) for count in re.findall(rf"^{re.escape(name)}: (\d+)", report, re.M))

    def balboas_answers(self, name, environment):
        folder = self.folder / name
        folder.mkdir(exist_ok=True)
        size = (self.folder / "observations").stat().st_size
        with Balboa(folder, environment) as balboa:
            balboa.console("replay", "-d", str(self.folder / "observations"))
            for _ in range(1000):  # they are taken later than they are sent
                if len(balboa.dump()) >= size:
                    break
        # Once more over files: what was in memory has been written.
        with Balboa(folder, environment) as balboa:
            answers = [balboa.dump() for _ in range(3)]
        self.assertEqual({len(answer) for answer in answers}, {size})
        self.assertEqual(len(set(answers)), 1)
        return answers[0], balboa.status

    def test_balboa_answers_the_same(self):
        self.needs("balboa-rocksdb", "balboa-backend-console")
        count = 120_000
        with open(self.folder / "observations", "wb") as observations:
            observations.writelines(observation(i * 7919 % count) for i in range(count))
        with_us = self.balboas_answers("with", self.preloaded())
        without = self.balboas_answers("without", os.environ)
        self.assertTrue(with_us == without, "balboa answers otherwise")
        report = (self.folder / "report").read_text()
        self.assertGreater(self.counter(report, "scm.hit"), 1000, report)

    def test_sortmerna_finds_the_same(self):
        self.needs("sortmerna")
        chance = random.Random(1)
        references = ["".join(chance.choices("ACGT", k=1500)) for _ in range(20)]
        reads = [reference[at:at + 100] for reference in references for at in range(0, 1400, 20)]
        for name, sequences in (("references", references), ("reads", reads)):
            lines = (f">{name}{i}\n{sequence}\n" for i, sequence in enumerate(sequences))
            (self.folder / f"{name}.fa").write_text("".join(lines))
        found = []
        for name, environment in (("with", self.preloaded()), ("without", os.environ)):
            aligned = self.folder / f"aligned_{name}"
            subprocess.run(["sortmerna", "--ref", self.folder / "references.fa", "--reads", self.folder / "reads.fa",
                            "--workdir", self.folder / name, "--threads", "1", "--blast", "1", "--aligned", aligned],
                           check=True, env=environment, stdout=subprocess.DEVNULL, timeout=300)
            found.append(aligned.with_suffix(".blast").read_text())
        self.assertGreater(found[0].count("\n"), len(reads) // 2)
        self.assertEqual(found[0], found[1])

    def test_ldb_reads_what_it_wrote(self):
        self.needs("ldb")
        database = f"--db={self.folder / 'ldb'}"
        lines = "".join(f"key{i:08} ==> {i * 7919:0100}\n" for i in range(150_000))
        options = ["--create_if_missing", "--compression_type=no", "--write_buffer_size=4194304"]
        subprocess.run(["ldb", database, *options, "load"], input=lines, text=True, check=True, env=self.preloaded(),
                       stdout=subprocess.DEVNULL, timeout=300)
        for command in ("compact", "checkconsistency"):
            subprocess.run(["ldb", database, command], check=True, env=self.preloaded(), stdout=subprocess.DEVNULL)
        scanned = [subprocess.run(["ldb", database, "scan"], check=True, env=environment, capture_output=True,
                                  text=True, timeout=300).stdout for environment in (self.preloaded(), os.environ)]
        self.assertTrue(scanned[0] == scanned[1] and scanned[0].count("\n") == 150_000)
        self.assertGreater(self.counter((self.folder / "report").read_text(), "scm.put"), 100)


if __name__ == "__main__":
    unittest.main()
