# SPDX-License-Identifier: Apache-2.0
"""The experiments of ISPASS'20 (Jia and Chen, "From Flash to 3D XPoint"): what runs, what was published, the tables.

tools/reproduce-ispass20 is the command. An experiment is a list of points, each with the variants (`who`) that are run
one after the other in every round; a run gives figures. Rows: experiment, device, cache, point, who, round, figure,
value. `cache` is the part of the data that DRAM's block cache has.
"""
import csv
import dataclasses
import json
import re
import shutil
import statistics

import db_bench
import progress

MIB = 1 << 20
VALUE_BYTES = 1024
X = "xpoint_ssd"
DEVICES = ("sata_ssd", "nvme_flash", X)
DYNAMIC = "dynamic_level0=true;level0_half_life_ms=3000"
COMPANIONS = {"two_stage": "write_throttle=true", "dynamic": DYNAMIC,
              # Listens and counts, and never comes to few files: below 1 % of writes.
              "listener": f"{DYNAMIC};level0_write_percent=2;level0_band_percent=1",
              "adoc": "adoc=true", "two_stage+adoc": "write_throttle=true;adoc=true"}
FIELDS = ("experiment", "device", "cache", "point", "who", "round", "figure", "value")
# Parts of the data: at 1/16 the cache is larger than all of Level 0, whatever --scale is (but for --quick); at 1/128
# much smaller.
USUAL, SMALL = 16, 128
BURST_STEP = 0.1  # seconds
READ_SHARES, MOSTLY_READ = (5, 25, 50, 75, 90), 90  # percent
# Microseconds of one kind of operation, from db_bench's own histogram.
P90 = {"p90_read_us": "reads", "p90_write_us": "writes"}


@dataclasses.dataclass(frozen=True)
class Scale:
    """`by`: what RocksDB's default sizes are divided by, so that seconds show what minutes would."""
    by: int
    seconds: int
    quick: bool = False

    @property
    def keys(self):
        return 20_000 if self.quick else 6_400_000 // self.by

    def shape(self):
        buffer = 64 * MIB // self.by
        return [f"--write_buffer_size={buffer}", f"--target_file_size_base={buffer}",
                f"--max_bytes_for_level_base={4 * buffer}", "--level0_file_num_compaction_trigger=4",
                "--level0_slowdown_writes_trigger=20", "--level0_stop_writes_trigger=36",
                f"--delayed_write_rate={16 * MIB}", "--max_background_jobs=2", "--compression_type=none",
                "--use_direct_reads=true", "--statistics=true", "--histogram=true", f"--num={self.keys}",
                f"--value_size={VALUE_BYTES}"]

    def some(self, values):
        """Of points: the last is enough to see that it works."""
        return values[-1:] if self.quick else values

    def longer(self, times):
        return self.seconds if self.quick else times * self.seconds

    def cache_bytes(self, part=USUAL):
        """Of DRAM: that part of the data."""
        return self.keys * VALUE_BYTES // part

    def scm_bytes(self):
        """Of the hybrid cache's second tier: half of the data, and no less than it takes."""
        return max(self.keys * VALUE_BYTES // 2, 16 * MIB)


class Laboratory:
    """Runs points over databases that were filled once for each device and shape, then settled."""

    def __init__(self, bench, scale):
        self.bench, self.scale = bench, scale
        self.filled, self.last, self.media = {}, None, set()

    def fill(self, key, flags, benchmark="fillrandom"):
        """A folder with a database that has no compaction to do."""
        if key not in self.filled:
            folder = self.bench.folder(f"filled-{len(self.filled)}")
            # Nothing waits for a device here: where the files come from is not measured.
            self.bench.run([benchmark, "waitforcompaction"], [*self.scale.shape(), *flags], folder=folder, keep=True)
            self.filled[key] = folder
        return self.filled[key]

    def measure(self, benchmark, flags, *, filled=None, device=None, fs_uri=None, companions=None, hybrid=False,
                seconds=None, cache_part=USUAL, more_cache=0):
        """A run on a copy of a filled database, which is left in bench.folder(). `more_cache`: bytes of DRAM on top."""
        folder = self.bench.folder()
        shutil.rmtree(folder, ignore_errors=True)
        if filled:
            shutil.copytree(filled, folder)
        else:
            folder.mkdir()
        cache, dram = None, self.scale.cache_bytes(cache_part) + more_cache
        if hybrid:
            tier = self.bench.folder("tier")
            tier.unlink(missing_ok=True)
            # heirs=off: what warms a cache is added to it as well, and blocks added stand for blocks read (counts_of).
            cache = f"mezzanine://dram={dram};scm={self.scale.scm_bytes()}@{tier};recovery=discard;heirs=off"
        run = self.bench.run(
            benchmark, [*self.scale.shape(), f"--duration={seconds or self.scale.seconds}",
                        f"--use_existing_db={'true' if filled else 'false'}",
                        *([] if hybrid else [f"--cache_size={dram}", "--cache_type=hyper_clock_cache"]), *flags],
            device=device, fs_uri=fs_uri, cache=cache, companions=companions, folder=folder, keep=True)
        self.last = run
        self.media.update(run.emulated)
        return run


def figures_of(phase, run):
    figures = {"ops_per_s": phase.ops_per_s, "stall_s": run.tickers.get("rocksdb.stall.micros", 0) / 1e6}
    for name, kind in P90.items():
        if (value := getattr(phase, kind).p(90)) is not None:
            figures[name] = value
    return figures


EVENT = re.compile(r"EVENT_LOG_v1 (\{.*\})")


def mean_level0_files(log):
    """Over time, of the text of RocksDB's LOG: each flush and compaction tells what it left. None: there were none."""
    states = []
    for match in EVENT.finditer(log):
        event = json.loads(match[1])
        if "lsm_state" in event:
            states.append((event["time_micros"], event["lsm_state"][0]))
    passed = states[-1][0] - states[0][0] if states else 0
    if not passed:
        return None
    return sum(files * (end - begin) for (begin, files), (end, _) in zip(states, states[1:])) / passed


def counts_of(lab, run):
    """What does not depend on who else had the processors: blocks of a Get, and the files of Level 0."""
    gets = run.tickers.get("rocksdb.number.keys.read", 0)
    misses, read = (run.tickers.get(f"rocksdb.block.cache.data.{what}", 0) for what in ("miss", "add"))
    figures = {"data_misses_per_get": misses / gets, "blocks_read_per_get": read / gets} if gets else {}
    files = mean_level0_files((lab.bench.folder() / "LOG").read_text(encoding="ascii", errors="replace"))
    return figures | ({"level0_files": files} if files is not None else {})


def mixed(lab, device, read_percent, *, threads=2, key="stock", fill=(), flags=(), **more):
    filled = lab.fill(key, fill)
    # db_bench takes 1 to 99 for a mix.
    benchmark = {0: "overwrite", 100: "readrandom"}.get(read_percent, "readrandomwriterandom")
    run = lab.measure([benchmark], [*fill, f"--threads={threads}", *flags,
                                    *([f"--readwritepercent={read_percent}"] if 0 < read_percent < 100 else [])],
                      filled=filled, device=device, **more)
    return figures_of(run.phase(benchmark), run) | counts_of(lab, run)


def insertion(lab):
    """Finding 1: the share of writes."""
    for device in lab.scale.some(DEVICES):
        for writes in lab.scale.some((0, 25, 50, 75, 100)):
            yield device, USUAL, writes, {
                "stock": lambda d=device, w=writes: mixed(lab, d, 100 - w),
                "hybrid": lambda d=device, w=writes: mixed(lab, d, 100 - w, hybrid=True)}


def level0(lab):
    """Finding 2: the same bytes of Level 0 in 2, 4 or 8 files."""
    volume = 4 * 64 * MIB // lab.scale.by
    for device in lab.scale.some(("nvme_flash", X)):
        for cache in lab.scale.some((USUAL, SMALL)):
            for files in lab.scale.some((2, 4, 8)):
                fill = (f"--write_buffer_size={volume // files}", f"--level0_file_num_compaction_trigger={files}",
                        f"--level0_slowdown_writes_trigger={5 * files}", f"--level0_stop_writes_trigger={9 * files}")
                yield device, cache, files, {"stock": lambda d=device, c=cache, f=fill: mixed(
                    lab, d, 50, fill=f, key=f, cache_part=c, seconds=lab.scale.longer(2))}


def parallel(lab):
    """Finding 3: threads."""
    for device in lab.scale.some(("nvme_flash", X)):
        for threads in lab.scale.some((1, 2, 4, 8, 16, 32)):
            yield device, USUAL, threads, {
                "stock": lambda d=device, t=threads: mixed(lab, d, 50, threads=t),
                "hybrid": lambda d=device, t=threads: mixed(lab, d, 50, threads=t, hybrid=True)}


def wal(lab):
    """Finding 4: with a log, and without."""
    yield X, USUAL, "", {"on": lambda: mixed(lab, X, 50, threads=4),
                         "off": lambda: mixed(lab, X, 50, threads=4, flags=["--disable_wal=true"])}


def judge_burst(rates):
    """Rates of the steps in which there was a burst: total, median, the seconds below a tenth of it, and below what the
    paper calls near to a stop."""
    if not rates:
        raise db_bench.Error("db_bench reported nothing of a burst: give it more seconds")
    median = statistics.median(rates)
    return {"ops_per_s": statistics.fmean(rates), "median_ops_per_s": median,
            "near_stop_s": BURST_STEP * sum(rate < median / 10 for rate in rates),
            "below_10k_s": BURST_STEP * sum(rate < 10_000 for rate in rates), "least_ops_per_s": min(rates)}


def burst(lab):
    """Case A: a burst of writes each so often, over time."""
    seconds, bursts = (3, 1) if lab.scale.quick else (8, 2)
    # Level 0 is compacted into all of the data, which takes about as long as 20 files take to come: files that come
    # then, on top, are what RocksDB slows writes for, one factor a file.
    flags = ["--max_bytes_for_level_base=1073741824", f"--num={lab.scale.keys * 5 // 8}"]

    def run_of(companions, **more):
        run = lab.measure(["overwrite", "waitforcompaction"] * bursts, [*flags, "--threads=4", "--stats_interval=100"],
                          filled=lab.fill("burst", flags, "fillseq"), device=X, companions=companions,
                          seconds=seconds, **more)
        rates = [rate for phase in run.phases if phase.name == "overwrite" for rate in phase.per_second(BURST_STEP)]
        figures = judge_burst(rates)
        figures["stall_s"] = run.tickers.get("rocksdb.stall.micros", 0) / 1e6
        figures.update({f"step_{i:04}_ops_per_s": rate for i, rate in enumerate(rates)})
        return figures
    yield X, USUAL, "", {"stock": lambda: run_of(None)} | {
        who: lambda who=who: run_of(COMPANIONS[who]) for who in ("two_stage", "adoc", "two_stage+adoc")} | {
        "hybrid": lambda: run_of(None, hybrid=True),
        "hybrid+two_stage": lambda: run_of(COMPANIONS["two_stage"], hybrid=True)}


def mix(lab):
    """Case B: the share of reads. Few large files take memory for memtables: stock with as much more for its cache."""
    def variants(cache, reads):
        def run_of(who=None, **more):
            return mixed(lab, X, reads, seconds=lab.scale.longer(3), cache_part=cache, companions=COMPANIONS.get(who),
                         **more)
        more = 2 * 3 * 64 * MIB // lab.scale.by  # two memtables, four times as large
        whos = {"stock": run_of, "listener": lambda: run_of("listener"), "dynamic": lambda: run_of("dynamic"),
                "hybrid": lambda: run_of(hybrid=True)}
        if reads != MOSTLY_READ:  # where dynamic_level0 changes nothing
            return whos
        return whos | {"hybrid+dynamic": lambda: run_of("dynamic", hybrid=True),
                       "stock_same_dram": lambda: run_of(more_cache=more)}
    for reads in reversed(lab.scale.some(READ_SHARES)):
        for cache in lab.scale.some((USUAL, SMALL)):
            yield X, cache, reads, variants(cache, reads)


def log(lab):
    """Case C: synced writes, where the log lies. Beside memory: the log in memory as the paper had it."""
    tier = lab.bench.folder("log")
    size = 256 * MIB

    def run_of(device=None, fs_uri=None, flags=("--sync=true",)):
        tier.unlink(missing_ok=True)
        run = lab.measure(["fillrandom"], ["--threads=1", *flags], device=device, fs_uri=fs_uri)
        return figures_of(run.phase("fillrandom"), run)
    for device in lab.scale.some(("nvme_flash", X)):
        yield device, USUAL, "", {
            "flash": lambda d=device: run_of(d),
            "scm": lambda d=device: run_of(fs_uri=f"mezzanine_wal://path={tier};size={size};model=optane100;"
                                                  f"base=mezzanine_flash://{d}"),
            "off": lambda d=device: run_of(d, flags=["--disable_wal=true"])}
    wal_dir = lab.bench.folder("wal-dir")
    yield "memory", USUAL, "", {
        "tmpfs": lambda: run_of(flags=["--sync=true", f"--wal_dir={wal_dir}"]),
        "scm": lambda: run_of(fs_uri=f"mezzanine_wal://path={tier};size={size}")}


EXPERIMENTS = {"insertion": insertion, "level0": level0, "parallel": parallel, "wal": wal, "burst": burst, "mix": mix,
               "log": log}


def in_turn(who, number):
    """The variants in the order of that round: every second one backwards, and who comes first moves on."""
    first = number // 2 % len(who)
    who = who[first:] + who[:first]
    return who[::-1] if number % 2 else who


def run_all(lab, names, rounds, tell):
    """Rows of every run, as they come."""
    for name in names:
        points = list(EXPERIMENTS[name](lab))
        turns = [(number, device, cache, point, one, variants[one]) for number in range(rounds)
                 for device, cache, point, variants in points for one in in_turn(list(variants), number)]
        tool = f"tools/reproduce-ispass20 {name}"
        for number, device, cache, point, one, measure in progress.each(turns, tool, "runs"):
            figures = measure()
            tell(f"{name} {device} 1/{cache} {point} {one} {number}: " + ", ".join(
                f"{figure} {value:.4g}" for figure, value in figures.items() if "step_" not in figure))
            for figure, value in figures.items():
                yield dict(zip(FIELDS, (name, device, cache, point, one, number, figure, round(value, 4))))


def load(path):
    with open(path, encoding="ascii", newline="") as file:
        rows = list(csv.DictReader(file))
    for row in rows:
        row["value"], row["round"], row["cache"] = float(row["value"]), int(row["round"]), int(row["cache"])
    return rows


class Table:
    """Of rows: spreads by experiment, device, cache, point, who and figure."""

    def __init__(self, rows):
        self.rounds = {}
        for row in rows:
            key = (row["experiment"], row["device"], str(row["cache"]), str(row["point"]), row["who"], row["figure"])
            self.rounds.setdefault(key, {})[row["round"]] = row["value"]

    def has(self, experiment):
        return any(key[0] == experiment for key in self.rounds)

    def places(self, experiment):
        """Device and cache."""
        return list(dict.fromkeys(key[1:3] for key in self.rounds if key[0] == experiment))

    def points(self, experiment, place):
        return list(dict.fromkeys(key[3] for key in self.rounds if (key[0], key[1:3]) == (experiment, place)))

    def whos(self, experiment):
        return list(dict.fromkeys(key[4] for key in self.rounds if key[0] == experiment))

    def get(self, *key):
        values = self.rounds.get(tuple(map(str, key)))
        return db_bench.spread(values.values()) if values else None

    def ratio(self, above, below):
        """Of two keys, formed within each round; None if either is missing."""
        a, b = (self.rounds.get(tuple(map(str, key)), {}) for key in (above, below))
        return db_bench.ratios(a, b) if any(number in b and b[number] for number in a) else None


@dataclasses.dataclass(frozen=True)
class Figure:
    """A line of the table: what was measured, beside what was published or asked for."""
    what: str
    measured: object  # db_bench.Spread, or None: not run
    published: str
    asked: str = ""

    def cells(self, percent=False):
        return f"| {self.what} | {self.measured or 'not run'} | {self.published} | {self.asked} |"


def level0_figures(table):
    """Of finding 2, by cache: a count beside each time."""
    def of(device, cache, files, figure):
        return ("level0", device, cache, files, "stock", figure)
    lines = []
    for cache in (USUAL, SMALL):
        for device, published in ((X, "0.80 (-19.9 %)"), ("nvme_flash", "0.88 (-12.3 %)")):
            for what, figure, beside in (("throughput", "ops_per_s", published),
                                         ("P90 of reads", "p90_read_us", "rises"),
                                         ("blocks read a Get", "blocks_read_per_get", "-")):
                lines.append(Figure(f"2: {what}, 8 files in Level 0 over 2, {device}, cache 1/{cache}",
                                    table.ratio(of(device, cache, 8, figure), of(device, cache, 2, figure)), beside))
    return lines


def mix_figures(table):
    """Of case B, by cache."""
    def of(cache, reads, who, figure="ops_per_s"):
        return ("mix", X, cache, reads, who, figure)

    def line(what, cache, reads, who, beside, published, asked, figure="ops_per_s"):
        return Figure(f"B: {what}, {reads} % reads, cache 1/{cache}",
                      table.ratio(of(cache, reads, who, figure), of(cache, reads, beside, figure)), published, asked)
    lines = []
    for cache in (SMALL, USUAL):
        lines += [line("dynamic over stock", cache, reads, "dynamic", "stock",
                       "1.13" if reads == MOSTLY_READ else "-", ">= 1.08" if reads == MOSTLY_READ else ">= 0.98")
                  for reads in READ_SHARES]
        lines += [line("listening alone over stock", cache, reads, "listener", "stock", "-", ">= 0.98")
                  for reads in READ_SHARES]
        lines += [line(f"{who} over {beside}", cache, MOSTLY_READ, who, beside, "-", "report")
                  for who, beside in (("dynamic", "stock_same_dram"), ("hybrid", "stock"),
                                      ("hybrid+dynamic", "hybrid"))]
        lines += [line(f"{what}, dynamic over stock", cache, MOSTLY_READ, "dynamic", "stock", "-", "report", figure)
                  for what, figure in (("blocks read a Get", "blocks_read_per_get"),
                                       ("mean files of Level 0", "level0_files"))]
    return lines


def ratio_figures(table):
    """Every figure of which the paper states one."""
    def of(experiment, device, point, who, figure="ops_per_s", cache=USUAL):
        return (experiment, device, cache, point, who, figure)

    def line(what, above, below, published, asked=""):
        return Figure(what, table.ratio(above, below), published, asked)
    x = X
    lines = [line(f"1: throughput of writes alone over reads alone, {device}", of("insertion", device, 100, "stock"),
                  of("insertion", device, 0, "stock"), "45/115 kop/s = 0.39" if device == x else "rises: > 1")
             for device in DEVICES]
    lines += [line(f"1: hybrid cache over stock, reads alone, {device}", of("insertion", device, 0, "hybrid"),
                   of("insertion", device, 0, "stock"), "-") for device in DEVICES]
    lines += level0_figures(table)
    lines += [line(f"3: {what}, 32 threads over 1, {x}", of("parallel", x, 32, "stock", figure),
                   of("parallel", x, 1, "stock", figure), published)
              for what, figure, published in (("throughput", "ops_per_s", "rises, then flat"),
                                              ("P90 of reads", "p90_read_us", "rises"),
                                              ("P90 of writes", "p90_write_us", "rises"))]
    lines += [line("4: P90 of writes, log off over on", of("wal", x, "", "off", "p90_write_us"),
                   of("wal", x, "", "on", "p90_write_us"), "22/54 us = 0.41")]
    theirs = {"stock": ("near-stops below 10 kop/s", "more than 0"), "two_stage": ("gone", "0")}
    lines += [Figure(f"A: seconds below a tenth of the median, {who}",
                     table.get(*of("burst", x, "", who, "near_stop_s")), *theirs.get(who, ("not theirs", "report")))
              for who in ("stock", "two_stage", "adoc", "two_stage+adoc", "hybrid", "hybrid+two_stage")]
    lines += [line("A: seconds below 10 kop/s, two-stage over stock", of("burst", x, "", "two_stage", "below_10k_s"),
                   of("burst", x, "", "stock", "below_10k_s"), "0")]
    lines += [line("A: throughput of the bursts, two-stage over stock", of("burst", x, "", "two_stage"),
                   of("burst", x, "", "stock"), "-", ">= 1.0")]
    lines += [line(f"A: throughput of the bursts, {who} over stock", of("burst", x, "", who),
                   of("burst", x, "", "stock"), "-", "report")
              for who in ("adoc", "two_stage+adoc", "hybrid", "hybrid+two_stage")]
    lines += mix_figures(table)
    p90 = "p90_write_us"
    lines += [line(f"C: P90 of synced writes, log on SCM (optane100) over {device}",
                   of("log", device, "", "scm", p90), of("log", device, "", "flash", p90), published, asked)
              for device, published, asked in (("nvme_flash", "-", "<= 0.5"), (x, "0.81 (-18.8 %)", "<= 0.85"))]
    lines += [line(f"C: P90 of writes, log on SCM, synced, over no log, {device}", of("log", device, "", "scm", p90),
                   of("log", device, "", "off", p90), "-", "report") for device in ("nvme_flash", x)]
    lines += [line("C: P90 of synced writes, log on SCM over wal_dir on tmpfs, both in memory",
                   of("log", "memory", "", "scm", p90), of("log", "memory", "", "tmpfs", p90), "-", "<= 0.9")]
    return lines


def figure_table(lines):
    return "\n".join(["| figure: median (least-most) of the rounds | measured | published | asked |",
                      "|---|---:|---:|---:|", *(line.cells() for line in lines)])


# What a table of an experiment shows: (figure, its heading).
COLUMNS = {"wal": (("p90_write_us", "P90 of writes, us"),), "log": (("p90_write_us", "P90 of writes, us"),
                                                                   ("ops_per_s", "op/s")),
           "burst": (("ops_per_s", "op/s"), ("median_ops_per_s", "median"), ("near_stop_s", "below a tenth of it, s"),
                     ("below_10k_s", "below 10 kop/s, s"), ("least_ops_per_s", "least"), ("stall_s", "stalled, s"))}
DEFAULT_COLUMNS = (("ops_per_s", "op/s"), ("p90_read_us", "P90 of reads, us"), ("p90_write_us", "P90 of writes, us"))
COUNTS = (("blocks_read_per_get", "blocks read a Get"), ("data_misses_per_get", "with compactions'"),
          ("level0_files", "files of Level 0"))
COLUMNS |= {name: DEFAULT_COLUMNS + COUNTS for name in ("level0", "mix")}
POINT_IS = {"insertion": "% writes", "level0": "files", "parallel": "threads", "mix": "% reads"}


def point_table(table, experiment):
    columns = COLUMNS.get(experiment, DEFAULT_COLUMNS)
    lines = [f"| device | cache | {POINT_IS.get(experiment, '')} | who | " + " | ".join(head for _, head in columns) +
             " |", "|---|---:|---:|---|" + "---:|" * len(columns)]
    for place in table.places(experiment):
        for point in table.points(experiment, place):
            for who in table.whos(experiment):
                cells = [table.get(experiment, *place, point, who, figure) for figure, _ in columns]
                if any(cells):
                    lines.append(f"| {place[0]} | 1/{place[1]} | {point} | {who} | " +
                                 " | ".join(str(cell or "-") for cell in cells) + " |")
    return "\n".join(lines)


def tables(rows):
    table = Table(rows)
    parts = ["## Beside the paper", figure_table(ratio_figures(table))]
    for experiment, run in EXPERIMENTS.items():
        if table.has(experiment):
            parts += [f"## {experiment}: {run.__doc__}", point_table(table, experiment)]
    return "\n\n".join(parts) + "\n"


def draw(rows, out):
    """An SVG an experiment; none for those that are two bars."""
    import matplotlib
    matplotlib.use("svg")
    matplotlib.rcParams["svg.hashsalt"] = "mezz"  # the same input gives the same file
    from matplotlib import pyplot
    table, made = Table(rows), []
    for experiment in EXPERIMENTS:
        if not table.has(experiment) or experiment in ("wal", "log"):
            continue
        figure, axes = pyplot.subplots(figsize=(7, 4))
        (draw_burst if experiment == "burst" else draw_points)(axes, table, experiment)
        axes.set_ylim(bottom=0)
        axes.set_ylabel("thousand operations/s")
        axes.grid(True, linewidth=0.3)
        axes.legend(fontsize="small")
        figure.tight_layout()
        made.append(out / f"{experiment}.svg")
        figure.savefig(made[-1], metadata={"Date": None})
        pyplot.close(figure)
    return made


def draw_points(axes, table, experiment):
    for place in table.places(experiment):
        for who in table.whos(experiment):
            points = [(float(point), spread) for point in table.points(experiment, place)
                      if (spread := table.get(experiment, *place, point, who, "ops_per_s"))]
            if len(points) < 2:
                continue
            x, middle = [point for point, _ in points], [spread.median / 1e3 for _, spread in points]
            around = [[(spread.median - spread.least) / 1e3 for _, spread in points],
                      [(spread.most - spread.median) / 1e3 for _, spread in points]]
            axes.errorbar(x, middle, around, fmt="-" if who == "stock" else "--", marker="o", markersize=3,
                          linewidth=1.2, capsize=2, label=f"{place[0]}, cache 1/{place[1]}, {who}")
    if experiment == "parallel":
        axes.set_xscale("log", base=2)
    axes.set_xlabel(POINT_IS[experiment])
    axes.set_title(f"{experiment}: median of the rounds, least and most (emulated devices)", fontsize="small")


def draw_burst(axes, table, experiment):
    for who in table.whos(experiment):
        steps = sorted(key[5] for key in table.rounds if key[4] == who and key[5].startswith("step_"))
        first = [table.rounds[experiment, X, str(USUAL), "", who, step].get(0) for step in steps]
        rates = [rate / 1e3 for rate in first if rate is not None]
        axes.plot([BURST_STEP * step for step in range(len(rates))], rates, "-" if who == "stock" else "--",
                  linewidth=1, label=who)
    axes.set_xlabel("seconds of bursts, what is between them left out; the first round")
    axes.set_title("burst: rate in each tenth of a second (emulated xpoint_ssd)", fontsize="small")


def self_test():
    def row(who, number, value, figure="ops_per_s"):
        return dict(zip(FIELDS, ("mix", X, SMALL, "90", who, number, figure, value)))
    rows = [row("stock", 0, 100.0), row("dynamic", 0, 110.0), row("stock", 1, 10.0), row("dynamic", 1, 12.0)]
    table = Table(rows)
    key = ("mix", X, SMALL, 90)
    assert str(table.ratio((*key, "dynamic", "ops_per_s"), (*key, "stock", "ops_per_s"))) == "1.15 (1.1-1.2)", \
        "within each round, not of medians"
    assert table.ratio((*key, "dynamic", "p90_read_us"), (*key, "stock", "ops_per_s")) is None
    text = tables(rows)
    assert "| B: dynamic over stock, 90 % reads, cache 1/128 | 1.15 (1.1-1.2) | 1.13 | >= 1.08 |" in text, text
    assert "| B: dynamic over stock, 90 % reads, cache 1/16 | not run | 1.13 | >= 1.08 |" in text, text
    assert "| B: dynamic over stock, 5 % reads, cache 1/128 | not run | - | >= 0.98 |" in text, text
    assert "## mix" in text and "## burst" not in text, "only what was run has a table"
    judged = judge_burst([100, 100, 9, 100, 11])
    assert (judged["near_stop_s"], judged["median_ops_per_s"], judged["ops_per_s"]) == (0.1, 100, 64), judged
    log = "".join(f'... EVENT_LOG_v1 {{"time_micros": {time}, "lsm_state": [{files}, 3]}}\n'
                  for time, files in ((10, 1), (20, 4), (50, 0)))
    assert mean_level0_files(log + 'EVENT_LOG_v1 {"time_micros": 70}\n') == (1 * 10 + 4 * 30) / 40, "over time"
    assert mean_level0_files("") is None
    assert [in_turn(["a", "b", "c"], number) for number in range(3)] == [
        ["a", "b", "c"], ["c", "b", "a"], ["b", "c", "a"]]
    assert Scale(32, 1).cache_bytes(SMALL) < 4 * 64 * MIB // 32 < Scale(32, 1).cache_bytes(), "Level 0 is between them"
    found = {figure.what.partition(":")[0] for figure in ratio_figures(table)}
    assert found == set("1234ABC"), "findings and cases"


if __name__ == "__main__":
    self_test()
