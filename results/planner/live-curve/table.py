#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Live curves beside exact ones.

    table.py grid LIVE             the sizes of a live curve, as flags of mezz_plan curve
    table.py header                of the CSV
    table.py rows NAME LIVE EXACT  a line a point
    table.py tables CSV            what the summary shows
"""
import csv
import json
import statistics
import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parent.parent.parent / "tools"))
from curve_error import points

COLUMNS = ("workload", "policy", "dram_bytes", "scm_bytes", "rate", "live_dram", "live_both", "band", "exact_dram",
           "exact_both", "difference")


def read(path):
    return json.loads(Path(path).read_text())["curve"]


def grid(live):
    form = read(live)["form"]
    print(*(f"--{tier}={','.join(map(str, form[tier]))}" for tier in ("dram", "scm")))


def rows(name, live, exact):
    live, exact = read(live), read(exact)
    assert live["form"]["warmup"] == exact["form"]["warmup"]
    of, truth = points(live), points(exact)
    writer = csv.writer(sys.stdout, lineterminator="\n")
    for (dram, scm), (dram_hits, both, _) in truth.items():
        live_dram, live_both, band = of[dram, scm]
        writer.writerow([name, live["form"]["policy"], dram, scm, f"{5 * live['rate_min']:.4f}",
                         *(f"{100 * x:.3f}" for x in (live_dram, live_both, band, dram_hits, both, live_both - both))])


def tables(path):
    with open(path, encoding="ascii") as file:
        by_name = {}
        for row in csv.DictReader(file):
            by_name.setdefault(row["workload"], []).append(row)
    print("| workload | share looked at | points | mean | worst | at DRAM + SCM | within its band | within 1 point |")
    print("|---|---|---|---|---|---|---|---|")
    for name, of in by_name.items():
        off = [abs(float(row["difference"])) for row in of]
        worst = max(of, key=lambda row: abs(float(row["difference"])))
        inside = sum(x <= float(row["band"]) for x, row in zip(off, of))
        print(f"| {name} | {100 * float(of[0]['rate']):.0f} % | {len(of)} | {statistics.mean(off):.2f} | "
              f"{float(worst['difference']):+.2f} | {int(worst['dram_bytes']) / 2**20:.1f} + "
              f"{int(worst['scm_bytes']) / 2**20:.0f} MiB | {inside} | {sum(x <= 1 for x in off)} |")


if __name__ == "__main__":
    command, *arguments = sys.argv[1:]
    if command == "header":
        print(",".join(COLUMNS))
    else:
        {"grid": grid, "rows": rows, "tables": tables}[command](*arguments)
