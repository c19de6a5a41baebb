#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tables, CSV and a summary of what tools/reproduce-atc21 measured, each figure beside the published one.

    tools/atc21.py FOLDER          makes rows.csv, tables.md and summary.md of FOLDER again from its
                                   WORKLOAD.MODEL.LOOP.json
    tools/atc21.py --self-test

What stands below the marker in summary.md, the account of whoever looked at the figures, is kept.
"""
import csv
import itertools
import json
import pathlib
import re
import statistics
import sys

# Of the published experiment, in GB of DRAM and SCM. In the order in which mezz_replay is given the caches.
CONFIGS = ((64, 0), (64, 128), (32, 128), (32, 256), (256, 0))
BASE, HYBRID, SMALL_HYBRID, LARGE = (64, 0), (64, 128), (32, 256), (256, 0)
NAMES = [f"{dram}-{scm}" for dram, scm in CONFIGS]
PUBLISHED_AS = {"messaging": "WhatsApp", "blob_metadata": "Tectonic metadata", "laser": "Laser"}
LOOPS = ("closed", "open")  # each request follows the last one of its thread; all are due at one rate
RATE_SHARE = 0.5  # of what the 64-0 server serves in the closed loop: every configuration can serve that
MARKER = "<!-- The account below this line is written by hand, and kept when the figures are made again. -->"
NO_ACCOUNT = "## What to make of it\n\nNot written yet.\n"


class Metric:
    """One measure of a window. `change` tells how a hybrid's window differs from that of the baseline."""

    def __init__(self, name, unit, of, text, change, change_text, published, bounds=None, loop="closed"):
        self.name, self.unit, self.of, self.text, self.loop = name, unit, of, text, loop
        self.change, self.change_text = change, change_text
        self.published, self.bounds = published, bounds  # bounds: of the published change; None: it was not published


def relative(base, other):
    return other / base - 1 if base else 0.0


def difference(base, other):
    return other - base


def flash_mb_per_s(window, run):
    if "flash_bytes_per_s" in window:
        return window["flash_bytes_per_s"] / 1e6
    return window["flash_reads_per_op"] * window["ops_per_s"] * run["mean_block_bytes"] / 1e6


def percent(value):
    return f"{value:+.0%}".replace("%", " %")


def latencies(suffix="", loop="closed"):
    published = (("P50", "flat", (-0.05, 0.05)), ("P95", "about -20 %", (-0.25, -0.15)),
                 ("P99", "about -10 %", (-0.15, -0.05)))
    return tuple(Metric(name + suffix, "us", lambda w, run, field=f"{name.lower()}_us": w[field], "{:.1f}".format,
                        relative, percent, text, bounds, loop) for name, text, bounds in published)


# The bounds are wide by 5 points, or 5 %, where the publication names one figure: it gives no spread.
METRICS = (
    Metric("throughput", "thousands of operations/s", lambda w, run: w["ops_per_s"] / 1e3, "{:.1f}".format, relative,
           percent, "+25 to +80 %", (0.25, 0.80)),
    *latencies(),
    *latencies(" at one rate", "open"),
    Metric("hit rate", "% of block look-ups", lambda w, run: 100 * (w["dram_hit"] + w["scm_hit"]), "{:.1f}".format,
           difference, "{:+.1f} points".format, "up to +30 points", (0, 30)),
    Metric("I/O bandwidth", "MB/s read from flash", flash_mb_per_s, "{:.1f}".format, difference,
           "{:+.1f} MB/s".format, "down by as much as 800 MB/s, on their machine", (-800, 0)),
    Metric("CPU", "s per million operations", lambda w, run: w["cpu_s_per_mop"], "{:.1f}".format, relative, percent,
           "not at hand"),
)
OF_LARGE_PUBLISHED, OF_LARGE_BOUNDS = "about 95 %", (0.90, 1.00)


class Run:
    """One workload under one model: the windows of each configuration, in the order of CONFIGS."""

    def __init__(self, workload, model, results):
        self.workload, self.model, self.results = workload, model, results  # by loop
        self.windows, self.why_empty = {}, {}
        for loop, result in results.items():
            rows = result["rows"]
            if len(rows) != len(CONFIGS):
                raise SystemExit(f"tools/atc21.py: {workload}.{model}.{loop}.json has {len(rows)} caches, "
                                 f"not {len(CONFIGS)}")
            for config, row in zip(CONFIGS, rows):
                self.windows[loop, config] = row.get("windows", []) if row.get("available", True) else []
                self.why_empty[loop, config] = row.get("reason", "no window was finished")

    def values(self, metric, config):
        return [metric.of(window, self.results[metric.loop]) for window in self.windows[metric.loop, config]]

    def cell(self, metric, config):
        values = self.values(metric, config)
        if not values:
            return "-"
        return f"{metric.text(statistics.median(values))} ({metric.text(min(values))}-{metric.text(max(values))})"

    def changes(self, metric, base, other):
        """Window by window: both ran it one after the other, on the same requests."""
        return [metric.change(a, b) for a, b in zip(self.values(metric, base), self.values(metric, other))]

    def complete(self):
        return all(result["complete"] for result in self.results.values()) and all(self.windows.values())


def open_rate(closed):
    """What the open loop offers, in operations a second: two digits of RATE_SHARE."""
    rates = [window["ops_per_s"] for window in closed["rows"][0].get("windows", [])]
    return float(f"{RATE_SHARE * statistics.median(rates):.1e}") if rates else 0


def medium_of(result):
    """Without the folder, which is gone."""
    return re.sub(r"\bfile /\S+", "a file", result["medium"]).partition(", model")[0]


def load(folder):
    runs = []
    for path in sorted(folder.glob("*.*.closed.json")):
        workload, model = path.name.split(".")[:2]
        if workload in PUBLISHED_AS:
            paths = {loop: folder / f"{workload}.{model}.{loop}.json" for loop in LOOPS}
            if not paths["open"].exists():
                raise SystemExit(f"tools/atc21.py: {paths['open']} is missing; run tools/reproduce-atc21 again, "
                                 "it goes on where it was")
            runs.append(Run(workload, model, {loop: json.loads(of.read_text()) for loop, of in paths.items()}))
    if not runs:
        raise SystemExit(f"tools/atc21.py: {folder} has no WORKLOAD.MODEL.LOOP.json; tools/reproduce-atc21 makes them")
    order = list(PUBLISHED_AS)
    return sorted(runs, key=lambda run: (run.model != "none", run.model, order.index(run.workload)))


def spread_text(values, text):
    return f"{text(statistics.median(values))} ({text(min(values))} to {text(max(values))})" if values else "-"


def metric_table(metric, runs):
    lines = [f"### {metric.name}, {metric.unit}", "",
             f"| workload | model | {' | '.join(NAMES)} | 64-128 against 64-0 | published |",
             "|---|---|" + "---:|" * len(NAMES) + "---:|---|"]
    for run in runs:
        change = spread_text(run.changes(metric, BASE, HYBRID), metric.change_text)
        cells = " | ".join(run.cell(metric, config) for config in CONFIGS)
        lines.append(f"| {run.workload} | {run.model} | {cells} | {change} | {metric.published} |")
    return "\n".join(lines) + "\n"


def of_large(run):
    throughput = METRICS[0]
    return [1 + change for change in run.changes(throughput, LARGE, SMALL_HYBRID)]


def large_table(runs):
    lines = ["### 32-256 beside the large server, 256-0: throughput", "", "| workload | model | share | published |",
             "|---|---|---:|---|"]
    for run in runs:
        share = spread_text(of_large(run), "{:.0%}".format)
        lines.append(f"| {run.workload} | {run.model} | {share} | {OF_LARGE_PUBLISHED} |")
    return "\n".join(lines) + "\n"


def tables(runs):
    head = ("Medians of the windows, in brackets the least and the most. Changes are taken window by window: all "
            "configurations\nran each window one after the other, on the same requests.\n\n")
    return head + "\n".join([metric_table(metric, runs) for metric in METRICS] + [large_table(runs)])


def judged(value, bounds):
    low, high = bounds
    if low <= value <= high:
        return "as published"
    return "lower than published" if value < low else "higher than published"


def claim(title, published, bounds, values, text):
    """One line: what was published, what was measured per workload, and whether they agree."""
    def one(name, of):
        verdict = f", {judged(statistics.median(of), bounds)}" if bounds else ""
        if bounds and not bounds[0] < 0 < bounds[1] and min(of) < 0 < max(of):
            verdict += ", but its windows disagree on the direction"
        return f"{name} {spread_text(of, text)}{verdict}"

    measured = "; ".join(one(name, of) for name, of in values if of)
    return f"- **{title}** (published: {published}): {measured or 'not measured'}."


def account(runs):
    lines = []
    for model in dict.fromkeys(run.model for run in runs):
        those = [run for run in runs if run.model == model]
        lines += [f"### Model {model}", ""]
        for metric in METRICS:
            values = [(run.workload, run.changes(metric, BASE, HYBRID)) for run in those]
            lines.append(claim(metric.name, metric.published, metric.bounds, values, metric.change_text))
        values = [(run.workload, of_large(run)) for run in those]
        lines.append(claim("32-256 of 256-0, throughput", OF_LARGE_PUBLISHED, OF_LARGE_BOUNDS, values, "{:.0%}".format))
        lines.append("")
    return "\n".join(lines)


def gaps(runs, quick):
    lines = ["- The whole was a miniature, to see that it works: its figures mean nothing."] if quick else []
    for run, loop in ((run, loop) for run in runs for loop in LOOPS):
        result, what = run.results[loop], f"- {run.workload}, {run.model}, {loop} loop"
        if not result["complete"]:
            lines.append(f"{what}: interrupted.")
        lines += [f"{what}, {name}: {run.why_empty[loop, config]}."
                  for name, config in zip(NAMES, CONFIGS) if not run.windows[loop, config]]
        if result.get("asserts"):
            lines.append(f"{what}: a debug build; its figures mean nothing.")
        if result.get("noisy"):
            lines.append(f"{what}: the machine was too noisy.")
    return "Not every figure is sound:\n\n" + "\n".join(lines) + "\n\n" if lines else ""


def summary(runs, manifest, plots):
    scale = manifest["scale"]
    first = runs[0].results["closed"]
    option, host = first["options"], first["host"]
    emulated = any(run.results["closed"].get("emulated") for run in runs)
    workloads = "\n".join(
        f"- {run.workload} for {PUBLISHED_AS[run.workload]}: {run.results['closed']['workload']}; "
        f"{run.results['closed']['database_bytes'] / 2**20:.0f} MiB of data" for run in runs
        if run.model == runs[0].model)
    rates = ", ".join(f"{run.workload} {run.results['open']['options']['rate']:,.0f}" for run in runs
                      if run.model == runs[0].model)
    rates += f"; of {runs[0].model}" if len({run.model for run in runs}) > 1 else ""
    threads = f"{option['threads']} threads over {option['dbs']} databases that share the cache"
    write_buffer = option["write_buffer_bytes"] >> 10
    memtables = f", memtables to {write_buffer} KiB a database" if write_buffer < 64 << 10 else " but the memtables"
    medium = medium_of(first) + (", emulated" if emulated else "")
    pictures = "".join(f"![{plot.stem}]({plot.name})\n" for plot in plots)
    return f"""# The experiment of ATC'21 at 1/{scale}

Kassa et al., "Improving Performance of Flash Based Key-Value Stores Using Storage Class Memory as a Volatile Memory
Extension", USENIX ATC 2021: servers of 64-0, 64-128, 32-128, 32-256 and, with two sockets, 256-0 GB of DRAM-SCM, here
{', '.join(f'{dram * 1024 / scale:g}-{scm * 1024 / scale:g}' for dram, scm in CONFIGS)} MiB. RocksDB {first['rocksdb']},
{threads}, {host['cpu']}, {host['cores']} cores; SCM: {medium}.
All five configurations ran side by side, window by window, on the same requests: once in a closed loop, and once in an
open one that offers each of them {100 * RATE_SHARE:.0f} % of what 64-0 serves in the closed one
(operations a second: {rates}), with latency counted from when a request was due ("at one rate").

{workloads}

{gaps(runs, manifest.get("quick"))}## Beside the published figures

What adding SCM to the 64 GB server changes (64-128 against 64-0). "As published" is said of a median within the
published range, or within 5 points of a single published figure.

{account(runs)}
[tables.md](tables.md) has every cell, [rows.csv](rows.csv) every window.

{pictures}
## What is not as it was there

- Scale: everything in memory is divided by {scale}{memtables}.
  The device that stands for flash and the processor are not, so absolute throughput, latency and I/O bandwidth are
  another machine's. Only ratios and hit rates can be compared.
- The workloads are generated from what was published about them; the traces are not public.
- {'Other memory stands for SCM; model none adds no latency, optane100 and cxl add that of the devices.' if emulated
       else 'The medium is another one.'}

"""


def write_csv(path, runs):
    with open(path, "w", newline="", encoding="utf-8") as file:
        out = csv.writer(file, lineterminator="\n")
        out.writerow(["workload", "model", "dram_gb", "scm_gb", "window"] + [f"{m.name} [{m.unit}]" for m in METRICS])
        for run in runs:
            for config in CONFIGS:
                columns = [run.values(metric, config) for metric in METRICS]
                for number, values in enumerate(itertools.zip_longest(*columns), 1):
                    cells = ["" if value is None else f"{value:.4f}" for value in values]
                    out.writerow([run.workload, run.model, *config, number] + cells)


def write_summary(path, text):
    kept = NO_ACCOUNT
    if path.exists():
        _, found, below = path.read_text().partition(MARKER)
        kept = below.lstrip("\n") if found else kept
    path.write_text(f"{text}{MARKER}\n\n{kept}")


def write_all(folder):
    runs = load(folder)
    manifest = json.loads((folder / "manifest.json").read_text())
    write_csv(folder / "rows.csv", runs)
    (folder / "tables.md").write_text(tables(runs))
    write_summary(folder / "summary.md", summary(runs, manifest, sorted(folder.glob("*.svg"))))
    return runs


def self_test():
    import tempfile

    def window(factor, hit):
        return {"ops_per_s": 1000 * factor, "p50_us": 10, "p95_us": 100 / factor, "p99_us": 200 / factor,
                "dram_hit": hit, "scm_hit": 0.1, "flash_reads_per_op": 0.5, "cpu_s_per_mop": 20}

    def row(factor, hit):
        windows = [window(factor * noise, hit) for noise in (0.98, 1, 1.04)]
        return {"cache": "any", "available": True, "windows": windows}

    result = {"complete": True, "workload": "w", "database_bytes": 1 << 30, "mean_block_bytes": 4096, "rocksdb": "x",
              "options": {"threads": 8, "dbs": 4, "rate": 500, "write_buffer_bytes": 4 << 20},
              "host": {"cpu": "c", "cores": 2}, "medium": "file /m/n (tmpfs), model cxl",
              "emulated": True,
              "rows": [row(1, 0.4), row(1.5, 0.6), row(1.2, 0.5), row(1.9, 0.7), row(2, 0.8)]}
    assert open_rate(result) == 500
    assert medium_of(result) == "a file (tmpfs)"
    assert judged(0.5, (0.25, 0.8)) == "as published" and judged(0.1, (0.25, 0.8)) == "lower than published"
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        (folder / "manifest.json").write_text('{"scale": 256, "quick": true}')
        for loop in LOOPS:
            (folder / f"laser.none.{loop}.json").write_text(json.dumps(result))
            (folder / f"messaging.none.{loop}.json").write_text(json.dumps(result))
        result["rows"][1] = {"cache": "any", "available": False, "reason": "no room", "windows": []}
        (folder / "messaging.none.closed.json").write_text(json.dumps(result))
        (folder / "report.other.json").write_text("{}")
        write_all(folder)
        text = (folder / "summary.md").read_text()
        for expected in ("laser +50 % (+50 % to +50 %), as published", "laser +20.0 points", "256-512, 128-512",
                         "laser 95% (95% to 95%), as published", "messaging, none, closed loop, 64-128: no room",
                         "laser 500", "Not written yet",
                         "miniature",
                         "P95** (published: about -20 %): laser -33 % (-33 % to -33 %), lower than published",
                         "P95 at one rate** (published: about -20 %): messaging -33 %"):
            assert expected in text, (expected, text)
        assert "| laser | none | 1.0 (1.0-1.0) |" in (folder / "tables.md").read_text()
        assert len((folder / "rows.csv").read_text().splitlines()) == 1 + 5 * 3 + 5 * 3
        (folder / "summary.md").write_text(text.replace("Not written yet", "Seen by a person"))
        write_all(folder)
        assert "Seen by a person" in (folder / "summary.md").read_text(), "the account is kept"


def main():
    if sys.argv[1:] == ["--self-test"]:
        self_test()
        return 0
    if len(sys.argv) != 2 or not pathlib.Path(sys.argv[1]).is_dir():
        print(__doc__.strip(), file=sys.stderr)
        return 2
    write_all(pathlib.Path(sys.argv[1]))
    return 0


if __name__ == "__main__":
    sys.exit(main())
