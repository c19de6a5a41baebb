#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What tools/curve_error.py measured, as a CSV and as the tables of summary.md.

    table.py CSV JSON...
"""
import csv
import json
import statistics
import sys

FIELDS = "points", "mean", "worst", "worst_dram", "worst_scm", "bias", "in_band", "band", "dram_mean", "dram_worst"


def line(name, rate, rows, where=""):
    def mean(field):
        return statistics.mean(row[field] for row in rows)

    def worst(field):
        return max((row[field] for row in rows), key=abs)

    return (f"| {name} | {rate} | {mean('mean'):.2f} | {worst('worst'):+.2f} | {where} | {mean('bias'):+.2f} | "
            f"{mean('in_band'):.1%} | {mean('band'):.2f} | {mean('dram_mean'):.2f}, {worst('dram_worst'):+.2f} |")


def main():
    with open(sys.argv[1], "w", newline="", encoding="ascii") as file:
        out = csv.writer(file, lineterminator="\n")
        out.writerow(["flags", "trace", "rate", *FIELDS])
        for path in sys.argv[2:]:
            with open(path, encoding="utf-8") as found:
                run = json.load(found)
            flags = " ".join(run["flags"])
            print(f"### `{flags}`\n")
            print("| trace | rate | mean | worst | at DRAM + SCM, MiB | bias | in band | mean band | "
                  "DRAM share: mean, worst |\n|---|---:|---:|---:|---|---:|---:|---:|---|")
            for row in run["rows"]:
                values = (row[field] for field in FIELDS)
                out.writerow([flags, row["trace"], f"{row['rate']:.6g}",
                              *(f"{value:.4f}" if isinstance(value, float) else value for value in values)])
                print(line(row["trace"].split("/")[1].split(".")[0], f"{row['rate']:.3g}", [row],
                           f"{row['worst_dram'] >> 20} + {row['worst_scm'] >> 20}"))
            print(line("**all**", "", run["rows"]))
            print(line("**sampled**", "", [row for row in run["rows"] if row["rate"] < 1]) + "\n")


if __name__ == "__main__":
    main()
