#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Draws README's claims from the results as they came, as SVG: narrow enough for a phone, light or dark as its reader
has it. Needs no library, and the same results give the same bytes.

    tools/claims.py            draws docs/claims/*.svg again
    tools/claims.py --check    fails if one is not what the results give
"""
import csv
import json
import math
import statistics
import sys
from pathlib import Path
from xml.sax.saxutils import escape

ROOT = Path(__file__).resolve().parent.parent
FOLDER = Path("docs/claims")
WIDTH, MARGIN, TEXT = 420, 10, 14  # a phone shows it at three quarters: 11 pixels a letter's height
BAR, ROW = 14, 44
STYLE = """  <style>
    .page { fill: #ffffff; }
    text { fill: #1f2328; }
    .small { fill: #57606a; }
    .name { font-weight: 600; }
    .ours { fill: #4ac26b; }
    .other { fill: #afb8c1; }
    .line { stroke: #1f2328; stroke-width: 1.5; }
    .grid { stroke: #d0d7de; }
    @media (prefers-color-scheme: dark) {
      .page { fill: #0d1117; }
      text { fill: #e6edf3; }
      .small { fill: #9da7b3; }
      .ours { fill: #2ea043; }
      .other { fill: #59636e; }
      .line { stroke: #f0f6fc; }
      .grid { stroke: #30363d; }
    }
  </style>"""


class Spread:
    """Median, least and most of what repeats gave."""

    def __init__(self, values):
        self.median, self.least, self.most = statistics.median(values), min(values), max(values)


class Picture:
    def __init__(self, title):
        self.title, self.body, self.y = title, [], MARGIN

    def text(self, x, y, text, kind="", anchor=""):
        more = (f' class="{kind}"' if kind else "") + (f' text-anchor="{anchor}"' if anchor else "")
        self.body.append(f'  <text{more} x="{x:g}" y="{y:g}">{escape(text)}</text>')

    def line(self, x1, y1, x2, y2, kind="line"):
        self.body.append(f'  <line class="{kind}" x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}"/>')

    def heading(self, *lines):
        self.y += 8
        for number, line in enumerate(lines):
            self.y += 18
            self.text(MARGIN, self.y, line, "small" if number else "name")
        self.y += 6

    def bars(self, rows, most, mark=None):
        """A row: (label, Spread, what stands at its right, whether it is ours). `mark`: where a line goes down."""
        scale = (WIDTH - 2 * MARGIN) / most
        top = self.y
        for label, spread, said, ours in rows:
            self.text(MARGIN, self.y + 16, label, "name" if ours else "")
            self.text(WIDTH - MARGIN, self.y + 16, said, "name" if ours else "small", "end")
            kind, y = "ours" if ours else "other", self.y + 22
            self.body.append(f'  <rect class="{kind}" x="{MARGIN}" y="{y}" width="{scale * spread.median:.1f}" '
                             f'height="{BAR}" rx="2"/>')
            if spread.least < spread.most:
                least, far = MARGIN + scale * spread.least, MARGIN + scale * spread.most
                self.line(least, y + BAR / 2, far, y + BAR / 2)
                for end in (least, far):
                    self.line(end, y + 3, end, y + BAR - 3)
            self.y += ROW
        if mark:
            for row in range(len(rows)):
                y = top + row * ROW + 20
                self.line(MARGIN + scale * mark, y, MARGIN + scale * mark, y + BAR + 4)

    def svg(self):
        height = self.y + MARGIN
        return "\n".join([
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}" '
            f'font-family="system-ui, sans-serif" font-size="{TEXT}" role="img" aria-labelledby="title">',
            f'  <title id="title">{escape(self.title)}</title>', STYLE,
            f'  <rect class="page" width="{WIDTH}" height="{height}"/>', *self.body, "</svg>", ""])


def windows(name):
    rows = json.loads((ROOT / "results" / name).read_text())["rows"]
    return {row["cache"]: [window["ops_per_s"] for window in row["windows"]] for row in rows if row["available"]}


def over(run, cache, base):
    return Spread([one / other for one, other in zip(run[cache], run[base])])


def rows_of(name):
    with (ROOT / "results" / name).open(newline="") as file:
        return list(csv.DictReader(file))


def speed():
    picture = Picture("Requests a second, over RocksDB's HyperClockCache of 32 MiB")
    for heading, name, caches in (
            ("A database that is flushed", "written/text.json",
             (("hcc", "HyperClockCache, 32 MiB"), ("all_dram+warm", "HyperClockCache, 160 MiB, warmed"),
              ("lru+compressed_lz4+warm", "RocksDB's 32 + 128 MiB, LZ4, warmed"),
              ("lru+compressed_zstd+warm", "RocksDB's 32 + 128 MiB, zstd, warmed"),
              ("hybrid", "Mezzanine, 32 + 128 MiB"))),
            ("One that is not", "flash-bound/text.json",
             (("hcc", "HyperClockCache, 32 MiB"), ("all_dram", "HyperClockCache, 160 MiB"),
              ("lru+compressed_lz4", "RocksDB's 32 + 128 MiB, LZ4"),
              ("lru+compressed_zstd", "RocksDB's 32 + 128 MiB, zstd"),
              ("hybrid", "Mezzanine, 32 + 128 MiB")))):
        run = windows(name)
        picture.heading(heading, "times the requests of the first; least and most")
        picture.bars([(label, over(run, cache, "hcc"), f"{over(run, cache, 'hcc').median:.2f}", cache == "hybrid")
                      for cache, label in caches], most=5.8)
    return picture


def best():
    """Over whichever other cache is the best of the run: no variant of ours, all DRAM included."""
    picture = Picture("Requests a second, over the best other cache of each load")
    for heading, folder, loads in (
            ("Files are flushed and compacted", "written",
             (("source text, one put in seven", "text"), ("the same, three million requests", "text3"),
              ("production, values pack to half", "pro64"), ("the same, three million requests", "pro64x3"),
              ("production, small memtable", "pro4"), ("messaging, small memtable", "mes"),
              ("Zipf, half puts", "z50"), ("Zipf, a tenth puts", "z10"), ("YCSB A", "ya"))),
            ("Nothing is flushed", "flash-bound",
             (("source text", "text"), ("production, values pack to half", "production"),
              ("the same, as slow as CXL", "production.cxl"), ("the same, as slow as Optane", "production.optane100"),
              ("skewed reads, values pack to half", "b_half"), ("Zipf reads of these", "zipf_half"),
              ("skewed reads, nothing packs", "b"), ("Zipf reads of these", "zipf"),
              ("a real trace, nothing packs", "scarab-recs"), ("all fits both tiers", "a")))):
        picture.heading(heading, "times the requests of the best other; least and most")
        bars = []
        for label, name in loads:
            run = windows(f"{folder}/{name}.json")
            ratio, other = min(((over(run, "hybrid", cache), cache) for cache in run if not cache.startswith("hybrid")),
                               key=lambda pair: pair[0].median)
            against = " (all DRAM)" if other.startswith("all_dram") else ""
            bars.append((label, ratio, f"{ratio.median:.2f}{against}", True))
        picture.bars(bars, most=2.3, mark=1)
    return picture


def restart():
    picture = Picture("Throughput of the first ten seconds after a restart")
    picture.heading("The first ten seconds after a restart", "of the throughput before; least and most")
    ways = {}
    for row in rows_of("restart/restarts.csv") + rows_of("restart/restarts-again.csv"):
        ways.setdefault(row["way"], []).append(float(row["ratio"]))
    picture.bars([(label, Spread(ways[way]), f"{Spread(ways[way]).median:.2f}", way != "discarded")
                  for way, label in (("closed", "closed, and warm"), ("killed", "killed (kill -9), and warm"),
                                     ("discarded", "closed, and begun cold"))], most=1.12, mark=1)
    return picture


def predicted():
    """Each configuration a point; within the two lines the prediction is at most a tenth off."""
    picture = Picture("Throughput, predicted and then measured")
    rows = rows_of("predicted/rows.csv")
    points = [(float(row["ops_measured"]), float(row["ops_predicted"])) for row in rows]
    near = sum(abs(float(row["ops_error"])) <= 10 for row in rows)
    picture.heading("Throughput: predicted, and then measured", f"{near} of {len(rows)} points lie between the lines, "
                    "within 10 %")
    low, high, left, side = 2e4, 1.2e6, 62, WIDTH - MARGIN - 62
    top = picture.y + 6

    def at(value):
        return side * math.log(value / low) / math.log(high / low)

    for tick, said in ((5e4, "50k"), (1e5, "100k"), (2e5, "200k"), (5e5, "500k"), (1e6, "1M")):
        picture.line(left + at(tick), top, left + at(tick), top + side, "grid")
        picture.line(left, top + side - at(tick), left + side, top + side - at(tick), "grid")
        picture.text(left + at(tick), top + side + 18, said, "small", "middle")
        picture.text(left - 6, top + side - at(tick) + 5, said, "small", "end")
    for share in (0.9, 1.1):
        begin, end = low / min(share, 1), high / max(share, 1)
        picture.line(left + at(begin), top + side - at(begin * share), left + at(end), top + side - at(end * share))
    for measured, told in points:
        picture.body.append(f'  <circle class="ours" cx="{left + at(measured):.1f}" '
                            f'cy="{top + side - at(told):.1f}" r="4" fill-opacity="0.7"/>')
    picture.text(left + side, top + side + 38, "measured, requests a second", "small", "end")
    picture.text(left + 6, top + 16, "predicted", "small")
    picture.y = top + side + 40
    return picture


def figure(rows, name, **wanted):
    """{who or system: Spread over the rounds} of one figure."""
    found = {}
    for row in rows:
        if row["figure"] == name and all(row[key] == value for key, value in wanted.items()):
            found.setdefault(row.get("who") or row["system"], {})[row["round"]] = float(row["value"])
    return found


def ratio(found, one, other):
    return Spread([found[one][number] / found[other][number] for number in found[one]])


def beside():
    picture = Picture("Four things beside the cache, over RocksDB as it is")
    fast, values = rows_of("ispass20/rows.csv"), rows_of("trocksdb/rows.csv")
    log = figure(rows_of("ispass20/threads-and-log/rows.csv"), "p90_write_us", experiment="log", device="memory")
    flash = figure(values, "flash_write_amplification", test="overwrite")
    space = figure(values, "space_amplification", test="overwrite")
    read = figure(values, "ops_per_s", test="read")
    tuned = json.loads((ROOT / "results/tune/tune.json").read_text())["confirmed"]["ratios"]
    stops = figure(fast, "near_stop_s", experiment="burst")
    stock, staged = (Spread(list(stops[who].values())) for who in ("stock", "two_stage"))
    mixes = {cache: figure(fast, "ops_per_s", experiment="mix", device="xpoint_ssd", cache=cache, point="90")
             for cache in ("16", "128")}

    def bar(label, spread, ours=True):
        return label, spread, f"{spread.median:.2g}" if spread.median >= 2 else f"{spread.median:.2f}", ours

    picture.heading("Less is better", "times RocksDB's own; least and most of the rounds")
    picture.bars([bar("P90 of synced writes: log on SCM, not tmpfs", ratio(log, "scm", "tmpfs")),
                  bar("bytes of overwrites: keys apart", ratio(flash, "blobdb_hybrid", "stock")),
                  bar("their space", ratio(space, "blobdb_hybrid", "stock"))], most=3.4, mark=1)
    picture.heading("Seconds of near-stop in a burst")
    picture.bars([("RocksDB's throttling", stock, f"{stock.median:.1f}", False),
                  ("in two stages", staged, f"{staged.median:.0f}", True)], most=2)
    picture.heading("More is better", "times RocksDB's own")
    picture.bars([bar(f"90 % reads: Level 0 adapts, cache of 1/{cache}", ratio(rates, "dynamic", "stock"))
                  for cache, rates in mixes.items()]
                 + [bar("reads: keys in DRAM, values in SCM", ratio(read, "blobdb_hybrid", "stock"))], most=1.7, mark=1)
    picture.heading("Tuned", "times the same without the tuned options")
    picture.bars([bar("replication", Spread(tuned["replication"])),
                  bar("mixed, which gains least", Spread(tuned["mixed"]))], most=13, mark=1)
    return picture


PICTURES = {"speed": speed, "best": best, "restart": restart, "predicted": predicted, "beside": beside}


def main():
    wrong = 0
    for name, draw in PICTURES.items():
        path, svg = ROOT / FOLDER / f"{name}.svg", draw().svg()
        if "--check" not in sys.argv[1:]:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(svg)
            print(FOLDER / path.name)
        elif not path.exists() or path.read_text() != svg:
            wrong += 1
            print(f"{FOLDER / path.name} is not what the results give: tools/claims.py draws it again")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
