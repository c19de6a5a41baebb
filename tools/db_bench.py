#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""An unmodified db_bench under Mezzanine's libraries, and what it prints. A module of the tools that reproduce papers.

    bench = db_bench.Bench(build, program, work)        # judges them; db_bench.Error says what is wrong
    run = bench.run(["fillrandom", "readwhilewriting"], ["--num=100000"], device="xpoint_ssd",
                    companions="write_throttle=true", cache="mezzanine://dram=32M;...")
    phase = run.phase("readwhilewriting")               # the last of that name; run.phases has all, in order
    phase.ops_per_s, phase.reads.p(90), phase.writes.p(99), phase.per_second()
    run.tickers["rocksdb.stall.micros"], run.timings["rocksdb.db.get.micros"]["P99"]

Times of operations are microseconds, all others seconds. Nothing here prints or exits; tools/db_bench.py --self-test
tests what it parses.
"""
import argparse
import dataclasses
import json
import os
import pathlib
import re
import shutil
import statistics
import subprocess
import sys

import ending
import provenance

ROOT = pathlib.Path(__file__).resolve().parent.parent
LIBRARIES = ("libmezzanine_rocksdb.so", "libmezzanine_flash.so")
INTERVAL = re.compile(
    r"thread (\d+): \((\d+),\d+\) ops and \([\d.]+,[\d.]+\) ops/second in \(([\d.]+),([\d.]+)\) seconds")
TOTAL = re.compile(r"^(\w+)\s*:\s*([\d.]+) micros/op (\d+) ops/sec ([\d.]+) seconds (\d+) operations;")
HISTOGRAM = re.compile(r"^Microseconds per (\w+):")
BUCKET = re.compile(r"^[\[(]\s*(\d+),\s*(\d+) \]\s*(\d+)\s")
TICKER = re.compile(r"^(rocksdb\.[\w.-]+) COUNT : (\d+)$")
TIMING = re.compile(r"^(rocksdb\.[\w.-]+) (P50 : .*)$")
PAIR = re.compile(r"(\w+) : ([\d.]+)")
VERSION = re.compile(r"^RocksDB:\s+version (\S+)", re.M)
EMULATED = re.compile(r"^mezzanine: (.*emulated.*)$", re.M)


class Error(Exception):
    """What is wrong, and what to do, for the user."""


class Flags(argparse.ArgumentParser):
    """Of a tool over db_bench: its docstring is its help, and these are those of each."""

    def __init__(self, tool, doc):
        super().__init__(usage=doc, allow_abbrev=False)
        self.doc = doc
        self.add_argument("--build", type=pathlib.Path, required=True)
        self.add_argument("--db-bench", type=pathlib.Path, required=True)
        self.add_argument("--out", type=pathlib.Path, default=ROOT / "out" / tool)
        self.add_argument("--work", type=pathlib.Path, default=pathlib.Path("/dev/shm"))

    def format_help(self):
        return f"{self.doc.strip()}\n"


class Histogram:
    """Of one kind of operation of one benchmark, as --histogram prints it."""

    def __init__(self, buckets=()):
        self.buckets = list(buckets)  # (left, right, operations), ascending

    @property
    def count(self):
        return sum(many for _, _, many in self.buckets)

    def p(self, percent):
        """Microseconds that `percent` of the operations do not exceed: between a bucket's borders in proportion, as
        RocksDB does it. None without operations."""
        left_over = self.count * percent / 100
        for left, right, many in self.buckets:
            if many > 0 and left_over <= many:
                return left + (right - left) * left_over / many
            left_over -= many
        return None


@dataclasses.dataclass
class Phase:
    """One benchmark of a run."""
    name: str
    micros_per_op: float
    ops_per_s: int
    seconds: float
    operations: int
    histograms: dict = dataclasses.field(default_factory=dict)  # {"read": Histogram, "write": ...}
    intervals: list = dataclasses.field(default_factory=list)   # (thread, operations, seconds, seconds at its end)

    @property
    def reads(self):
        return self.histograms.get("read", Histogram())

    @property
    def writes(self):
        return self.histograms.get("write", Histogram())

    def per_second(self, step=1.0):
        """Operations a second of all threads in each whole step, of `step` seconds, that all of them reported, since
        the phase began. A thread reports after at least --stats_interval_seconds and --stats_interval operations; an
        interval that is longer than a step is spread evenly over the steps it covers."""
        last = {thread: at for thread, _, _, at in self.intervals}
        rates = [0.0] * int(min(last.values(), default=0) / step)
        for _, operations, took, at in self.intervals:
            begin = at - took
            for number in range(int(begin / step), min(len(rates), int(at / step) + 1)):
                covered = min(at, (number + 1) * step) - max(begin, number * step)
                if covered > 0:
                    rates[number] += operations * covered / took / step
        return rates


@dataclasses.dataclass
class Run:
    """What one db_bench printed."""
    text: str
    phases: list
    tickers: dict    # {name: count}, of all phases together; needs --statistics
    timings: dict    # {name: {"P50": ..., "P95", "P99", "P100", "COUNT", "SUM"}}, likewise
    rocksdb: str
    emulated: list   # sentences about emulated media

    def phase(self, name):
        for phase in reversed(self.phases):
            if phase.name == name:
                return phase
        raise Error(f"db_bench reported no {name}; it did: {', '.join(p.name for p in self.phases) or 'nothing'}")


def parse(text):
    """`text`: standard output and standard error in one, in the order in which they came: intervals go to the one and
    their benchmark's end to the other."""
    phases, tickers, timings, intervals, histogram = [], {}, {}, [], None
    for line in text.splitlines():
        if match := INTERVAL.search(line):
            intervals.append((int(match[1]), int(match[2]), float(match[3]), float(match[4])))
        elif match := TOTAL.match(line):
            phases.append(Phase(match[1], float(match[2]), int(match[3]), float(match[4]), int(match[5]),
                                intervals=intervals))
            intervals, histogram = [], None
        elif (match := HISTOGRAM.match(line)) and phases:
            histogram = phases[-1].histograms[match[1]] = Histogram()
        elif (match := BUCKET.match(line)) and histogram is not None:
            histogram.buckets.append((int(match[1]), int(match[2]), int(match[3])))
        elif match := TICKER.match(line):
            tickers[match[1]] = int(match[2])
        elif match := TIMING.match(line):
            timings[match[1]] = {key: float(value) for key, value in PAIR.findall(match[2])}
    version = VERSION.search(text)
    return Run(text, phases, tickers, timings, version[1] if version else "", EMULATED.findall(text))


class Bench:
    """Where things are. `build`: a build folder against RocksDB 11 or later with lib/libmezzanine_rocksdb.so and
    lib/libmezzanine_flash.so; `program`: db_bench of the same RocksDB; `work`: where databases go, in memory if devices
    are modelled; `seed`: of every run that is not told another. `made_by`: for the manifest."""

    def __init__(self, build, program, work="/dev/shm", seed=1):
        self.build, self.program, self.work, self.seed = (
            pathlib.Path(build), pathlib.Path(program), pathlib.Path(work), seed)
        for library in LIBRARIES:
            if not (self.build / "lib" / library).exists():
                raise Error(f"--build={build} has no lib/{library}: build the targets mezzanine_rocksdb and "
                            "mezzanine_flash against RocksDB 11")
        if not os.access(self.program, os.X_OK) or self.program.is_dir():
            raise Error(f"--db-bench={program} is no program")
        if not self.work.is_dir():
            raise Error(f"--work={work} is no folder")
        self.made_by = provenance.of(self.program, *(self.build / "lib" / library for library in LIBRARIES))

    def folder(self, name="db"):
        """Of this process; what is in it goes when the process calls remove()."""
        return self.work / f"mezz-db-bench-{os.getpid()}-{name}"

    def remove(self):
        for folder in self.work.glob(f"mezz-db-bench-{os.getpid()}-*"):
            if folder.is_dir():
                shutil.rmtree(folder)
            else:
                folder.unlink()

    def run(self, benchmarks, flags=(), *, device=None, fs_uri=None, cache=None, companions=None, environment=None,
            folder=None, keep=False, seed=None, timeout=None, kill_after=None):
        """Runs db_bench and parses what it prints.

        benchmarks  of --benchmarks, in order
        flags       further flags, as a command line has them
        device      modelled: sata_ssd, nvme_flash, xpoint_ssd. Or fs_uri, verbatim. Neither: the work folder's own
        cache       of --cache_uri
        companions  MEZZANINE_COMPANIONS; those of the caller's own environment are not passed on
        environment further variables
        folder      of the database, made empty before and removed after; keep=True leaves it be both times, for what
                    is filled once and run often (--use_existing_db=true)
        kill_after  SIGKILL after so many seconds, which it must not end before; what it had printed is parsed
        """
        if device is not None and fs_uri is not None:
            raise Error("device and fs_uri are both given: a device is a file system")
        if device is not None:
            fs_uri = f"mezzanine_flash://{device}"
        folder = pathlib.Path(folder) if folder else self.folder()
        if not keep:
            shutil.rmtree(folder, ignore_errors=True)
        variables = {key: value for key, value in os.environ.items() if not key.startswith("MEZZANINE_")}
        variables.update(environment or {})
        variables["LD_PRELOAD"] = " ".join(str((self.build / "lib" / name).resolve()) for name in LIBRARIES)
        if companions:
            variables["MEZZANINE_COMPANIONS"] = companions
        command = [str(self.program), f"--benchmarks={','.join(benchmarks)}", f"--db={folder}",
                   f"--seed={self.seed if seed is None else seed}"]
        command += [f"--fs_uri={fs_uri}"] if fs_uri else []
        command += [f"--cache_uri={cache}"] if cache else []
        command += flags
        try:
            done = ending.run(command, env=variables, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              errors="replace", timeout=timeout if kill_after is None else kill_after)
            text, ended_well = done.stdout, done.returncode == 0 and kill_after is None
        except subprocess.TimeoutExpired as late:  # killed
            if kill_after is None:
                raise Error(f"{' '.join(command)} did not end within {timeout} s") from late
            text, ended_well = (late.stdout or b"").decode(errors="replace"), True
        finally:
            if not keep:
                shutil.rmtree(folder, ignore_errors=True)
        run = parse(text)
        if not ended_well or not run.phases:
            raise Error(f"{' '.join(command)} failed:\n{text[-2000:]}")
        if "mezzanine_flash://" in (fs_uri or "") and not run.emulated:
            raise Error(f"{' '.join(command)} did not say that its device is emulated: {LIBRARIES[1]} is not loaded")
        return run


def interleaved(rounds, names):
    """(round, name): every name in each round, and who comes first moves on, so that drift falls on all alike."""
    names = list(names)
    for number in range(rounds):
        first = number % len(names) if names else 0
        for name in names[first:] + names[:first]:
            yield number, name


@dataclasses.dataclass
class Spread:
    """Of the rounds of one figure."""
    median: float
    least: float
    most: float

    def __str__(self):
        return f"{self.median:.4g} ({self.least:.4g}-{self.most:.4g})"


def spread(values):
    values = list(values)
    return Spread(statistics.median(values), min(values), max(values))


def ratios(values, base):
    """The spread of one over the other, formed within each round: {round: value} both."""
    return spread(values[number] / base[number] for number in values if number in base and base[number])


def manifest(question, run, made_by, *, command, rounds, seed, date, **more):
    """What a results folder says of its runs. `run` is any of them; no path of this machine goes in."""
    command = [re.sub(r"(?<==)/\S+|^/\S+", lambda path: pathlib.PurePath(path[0]).name, str(word)) for word in command]
    model = next((line.split(":", 1)[1].strip() for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines()
                  if line.startswith("model name")), "unknown")
    return {"question": question, "date": date, **made_by, "command": command, "rocksdb": run.rocksdb,
            "processor": model, "processors": os.cpu_count(), "seed": seed, "rounds": rounds,
            "emulated": bool(run.emulated), "media": sorted(set(run.emulated))} | more


def bytes_of(folder):
    """Of a database's tables and blob files."""
    return sum(file.stat().st_size for file in pathlib.Path(folder).iterdir() if file.suffix in (".sst", ".blob"))


def write_json(path, value):
    pathlib.Path(path).write_text(json.dumps(value, indent=1) + "\n", encoding="ascii")


SAMPLE = """RocksDB:    version 11.8.1
mezzanine: xpoint_ssd: an emulated device
fillrandom   :      10.617 micros/op 94187 ops/sec 2.017 seconds 189998 operations;   20.8 MB/s
Microseconds per write:
Count: 10 Average: 10.6373  StdDev: 277.37
[       0,       1 ]    5   50.000%   50.000% #
(      10,      20 ]    4   40.000%   90.000% ########
(     100,     200 ]    1   10.000%  100.000%
2026/11/23-00:24:29  ... thread 0: (100,100) ops and (100.0,100.0) ops/second in (1.000000,1.000000) seconds
2026/11/23-00:24:29  ... thread 1: (300,300) ops and (100.0,100.0) ops/second in (3.000000,3.000000) seconds
2026/11/23-00:24:30  ... thread 0: (20,120) ops and (10.0,40.0) ops/second in (2.000000,3.000000) seconds
readwhilewriting :       8.372 micros/op 238008 ops/sec 1.008 seconds 239998 operations; ( reads:1 found:2)
Microseconds per read:
[       0,       1 ]    1  100.000%  100.000% ####
rocksdb.block.cache.miss COUNT : 17
rocksdb.db.get.micros P50 : 1.5 P95 : 2.5 P99 : 3.5 P100 : 9.0 COUNT : 4 SUM : 12
"""


def self_test():
    run = parse(SAMPLE)
    assert run.rocksdb == "11.8.1" and run.emulated == ["xpoint_ssd: an emulated device"], run
    assert [phase.name for phase in run.phases] == ["fillrandom", "readwhilewriting"]
    fill, mix = run.phases
    assert (fill.ops_per_s, fill.seconds, fill.operations, fill.intervals) == (94187, 2.017, 189998, [])
    assert fill.writes.count == 10 and fill.reads.p(90) is None
    assert (fill.writes.p(50), fill.writes.p(90), fill.writes.p(95)) == (1, 20, 150), "within the bucket, not its end"
    assert mix.reads.count == 1 and mix.writes.count == 0, "a histogram is its own benchmark's"
    assert mix.per_second() == [200, 110, 110], "intervals belong to the benchmark that ends after them"
    assert mix.per_second(0.5) == [200, 200, 110, 110, 110, 110]
    assert run.tickers == {"rocksdb.block.cache.miss": 17}
    gets = run.timings["rocksdb.db.get.micros"]
    assert gets == {"P50": 1.5, "P95": 2.5, "P99": 3.5, "P100": 9, "COUNT": 4, "SUM": 12}
    assert run.phase("fillrandom") is fill
    try:
        run.phase("overwrite")
        raise AssertionError("a phase that was not run was found")
    except Error as error:
        assert "overwrite" in str(error) and "fillrandom" in str(error)
    assert list(interleaved(2, ["a", "b"])) == [(0, "a"), (0, "b"), (1, "b"), (1, "a")]
    assert str(spread([3, 1, 2])) == "2 (1-3)"
    assert ratios({0: 2, 1: 9}, {0: 1, 1: 3}).median == 2.5, "within a round, not of medians"
    told = manifest("q", run, {"commit": "c"}, command=["/a/tool", "--build=/b/c", "-q"], rounds=1, seed=1, date="d")
    assert told["command"] == ["tool", "--build=c", "-q"] and told["emulated"] and told["commit"] == "c", told


if __name__ == "__main__":
    if sys.argv[1:] != ["--self-test"]:
        sys.exit(__doc__)
    self_test()
