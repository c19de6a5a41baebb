# SPDX-License-Identifier: Apache-2.0
"""The workloads of the RoF paper (3) over an unmodified db_bench, and what they did to the database.

populate     every key once, in random order, by one thread, into an empty database
read         reads of keys drawn at random, as many as `share` of the keys; `times` times, of which the mean counts
mixed        reads and writes of keys drawn at random, `reads` of them reads, as many as `share` of the keys
replication  the whole database is read by one db_bench while another writes as much into a second database, as their
             master and slave did: by iterator and in the order of keys, or by key at random. It ends with the later of
             the two. Nothing passes between them, as if the network between the two buffered without bound; the writer
             makes up values of the same size
"""
import concurrent.futures
import dataclasses
import pathlib
import shutil
import statistics

import db_bench
from tuning import options_file

PROBE = ["overwrite"]


@dataclasses.dataclass
class Effects:
    """What the paper watches beside throughput (2.3.2), of all workloads of a round together; by RocksDB's statistics
    but for the space, which is that of the database's files after populate."""
    write_amplification: float
    read_amplification: float
    space_amplification: float
    stall_s: float


def amplifications(runs, files_bytes, data_bytes):
    def total(*names):
        return sum(run.tickers.get(name, 0) for run in runs for name in names)
    written, read = total("rocksdb.bytes.written"), total("rocksdb.bytes.read", "rocksdb.db.iter.bytes.read")
    return Effects(
        total("rocksdb.flush.write.bytes", "rocksdb.compact.write.bytes", "rocksdb.wal.bytes") / max(1, written),
        total("rocksdb.last.level.read.bytes", "rocksdb.non.last.level.read.bytes") / max(1, read),
        files_bytes / data_bytes, total("rocksdb.stall.micros") / 1e6)


def latest_options(folder):
    return max(pathlib.Path(folder).glob("OPTIONS-*"), key=lambda path: int(path.name.split("-")[1])).read_text()


class Database:
    """Runs workloads with some settings. `known`: the options that RocksDB writes, or None to find out."""

    def __init__(self, bench, plan):
        self.bench, self.plan = bench, plan
        self.device = None if plan.device == "none" else plan.device
        self.known, self.version = None, ""

    def flags(self, settings, options_path):
        return [f"--options_file={options_path}", f"--num={self.plan.keys}", f"--key_size={self.plan.key_bytes}",
                f"--value_size={self.plan.value_bytes}", "--statistics=true", "--compression_ratio=1",
                *(f"--{name}={given.value}" for name, given in settings.flags.items())]

    def write_options(self, settings, name):
        path = self.bench.folder(f"{name}.options")
        path.write_text(options_file.from_settings(settings, self.known, self.version))
        return path

    def learn(self):
        """Which options there are: those that RocksDB writes of its own accord."""
        folder, path = self.bench.folder("probe"), self.bench.folder("probe.options")
        path.write_text(options_file.render({}, "11.0.0"))
        run = self.bench.run(PROBE, [f"--options_file={path}", "--num=1"], device=self.device, folder=folder, keep=True)
        self.version, self.known = run.rocksdb, options_file.parse(latest_options(folder))
        shutil.rmtree(folder)

    def probe(self, settings):
        """The OPTIONS that RocksDB writes as it opens a small database, made by whoever probed first."""
        folder = self.bench.folder("probe")
        flags = [*self.flags(settings, self.write_options(settings, "probe")), "--writes=1", "--use_existing_db=true"]
        self.bench.run(PROBE, flags, device=self.device, folder=folder, keep=True)
        return latest_options(folder)

    def run(self, benchmark, settings, options_path, folder, *extra, seed):
        return self.bench.run([benchmark], [*self.flags(settings, options_path), *extra], device=self.device,
                              folder=folder, keep=True, seed=seed)

    def replicate(self, settings, options_path, master, slave, seed):
        """(keys a second, the runs)."""
        keys, how = self.plan.keys, settings.workloads["replication"]
        in_order = how["order"] == "sequential"
        reading = (["readseq", f"--reads={keys}"] if in_order else
                   ["readrandom", f"--reads={max(1, keys // how['readers'])}", f"--threads={how['readers']}"])
        writing = "fillseq" if in_order else "filluniquerandom"
        shutil.rmtree(slave, ignore_errors=True)
        with concurrent.futures.ThreadPoolExecutor(2) as both:
            started = [both.submit(self.run, reading[0], settings, options_path, master, *reading[1:],
                                   "--use_existing_db=true", seed=seed),
                       both.submit(self.run, writing, settings, options_path, slave, seed=seed + 1)]
            runs = [one.result() for one in started]
        shutil.rmtree(slave, ignore_errors=True)
        return keys / max(run.phases[-1].seconds for run in runs), runs

    def round(self, settings, seed, only=None):
        """({workload: operations a second}, Effects) of each workload once, or of those in `only`; a new database."""
        keys = self.plan.keys
        workloads = {name: how for name, how in settings.workloads.items() if only is None or name in only}
        master, slave = self.bench.folder("master"), self.bench.folder("slave")
        path = self.write_options(settings, "round")
        shutil.rmtree(master, ignore_errors=True)
        runs = [self.run("filluniquerandom", settings, path, master, seed=seed)]
        rates = {"populate": runs[0].phases[-1].ops_per_s} if "populate" in workloads else {}
        space = db_bench.bytes_of(master)
        try:
            if how := workloads.get("read"):
                runs.append(self.run(f"readrandom[X{how['times']}]", settings, path, master, "--use_existing_db=true",
                                     f"--threads={how['threads']}",
                                     f"--reads={max(1, int(keys * how['share']) // how['threads'])}", seed=seed + 2))
                rates["read"] = statistics.harmonic_mean([phase.ops_per_s for phase in runs[-1].phases])
            if "replication" in workloads:
                rates["replication"], both = self.replicate(settings, path, master, slave, seed + 3)
                runs += both
            if how := workloads.get("mixed"):  # the last: it changes the database
                runs.append(self.run("readrandomwriterandom", settings, path, master, "--use_existing_db=true",
                                     f"--threads={how['threads']}", f"--readwritepercent={how['reads'] * 100:.0f}",
                                     f"--reads={max(1, int(keys * how['share']) // how['threads'])}", seed=seed + 5))
                rates["mixed"] = runs[-1].phases[-1].ops_per_s
        finally:
            shutil.rmtree(master, ignore_errors=True)
        return rates, amplifications(runs, space, keys * (self.plan.key_bytes + self.plan.value_bytes))
