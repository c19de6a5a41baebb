#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Of each CSV of run.sh: how often each cache is faster than Memory Mode and than DRAM alone, and by how much.

    table.py CSV...

A ratio is of mean access times (`amat_ns`), each access alone on an idle device; its geometric mean over traces and
totals, and in parentheses the least and the most.
"""
import csv
import math
import sys

MODELS = {"optane100": "amat_ns_optane100", "cxl": "amat_ns_cxl"}


def cases(path):
    """By trace and total: the row of each policy."""
    found = {}
    with open(path, encoding="ascii") as file:
        for row in csv.DictReader(file):
            found.setdefault((row["trace"], row["total"]), {})[row["policy"]] = row
    return found


def ratio(found, column, policy, against):
    ratios = [float(rows[against][column]) / float(rows[policy][column]) for rows in found.values()]
    mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
    wins = sum(one > 1 for one in ratios)
    return f"{mean:.2f} ({min(ratios):.2f}-{max(ratios):.2f}), {wins} of {len(ratios)}"


def main():
    for path in sys.argv[1:]:
        found = cases(path)
        policies = list(next(iter(found.values())))
        print(f"### {path.rsplit('/', 1)[-1]}\n")
        print("| policy | misses | " + " | ".join(
            f"{model}: to DRAM alone | to Memory Mode" for model in MODELS) + " |")
        print("|---|---|" + "---|---|" * len(MODELS))
        for policy in policies:
            miss = sum(float(rows[policy]["miss"]) for rows in found.values()) / len(found)
            cells = [ratio(found, column, policy, against) for column in MODELS.values()
                     for against in ("dram_only", "memory_mode")]
            print(f"| `{policy}` | {miss:.3f} | " + " | ".join(cells) + " |")
        print()


if __name__ == "__main__":
    main()
