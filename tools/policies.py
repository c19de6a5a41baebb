#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What a policy is worth over many traces, from the JSON of mezz_sim, as Markdown.

    tools/policies.py RESULT.json [--policy=adaptive]

Gap closed is (miss of LRU - miss of X) / (miss of LRU - miss of OPT), LRU and OPT as one tier of the same total. The
result must hold lru, opt, dram_first, scm_first, bidirectional and the policy, over all its traces and totals.
"""
import argparse
import json
import pathlib
from statistics import mean

PUBLISHED = ("dram_first", "scm_first", "bidirectional")
MODELS = ("optane100", "cxl")


def gap(rows, trace, total, policy):
    lru, opt, own = (rows[trace, total, p]["miss"] for p in ("lru", "opt", policy))
    return (lru - own) / (lru - opt) if lru != opt else 0.0


def over_all(rows, cells, policy, what):
    return mean(rows[trace, total, policy][what] for trace, total in cells)


def access_times(rows, cells, policy, model):
    """Over the best of the published policies, by cell."""

    def best(cell):
        return min(rows[*cell, p]["amat_ns"][model] for p in PUBLISHED)

    return {cell: rows[*cell, policy]["amat_ns"][model] / best(cell) for cell in cells}


def print_gaps(rows, traces, totals, policies):
    print("| policy | " + " | ".join(totals) + " | worst | DRAM hits | SCM writes |")
    print("|---|" + "---:|" * (len(totals) + 3))
    for policy in policies:
        gaps = {(t, s): gap(rows, t, s, policy) for t in traces for s in totals}
        worst = min(gaps, key=gaps.get)
        cells = [f"{mean(gaps[t, s] for t in traces):.3f}" for s in totals]
        if rows[worst[0], worst[1], policy]["tiers"] == 2:
            tiers = [f"{over_all(rows, gaps, policy, what):.4f}" for what in ("dram_hit", "scm_writes_per_access")]
        else:
            tiers = ["", ""]
        print(f"| `{policy}` | " + " | ".join(cells + [f"{gaps[worst]:.2f} ({worst[0]}, {worst[1]})"] + tiers) + " |")


def print_policy(rows, traces, totals, policy):
    cells = [(t, s) for t in traces for s in totals]
    print(f"\n`{policy}`, miss ratio (gap closed)\n")
    print("| trace | " + " | ".join(totals) + " |\n|---|" + "---:|" * len(totals))
    for t in traces:
        print(f"| {t} | " + " | ".join(f"{rows[t, s, policy]['miss']:.4f} ({gap(rows, t, s, policy):+.2f})"
                                      for s in totals) + " |")
    dram = over_all(rows, cells, policy, "dram_hit") / over_all(rows, cells, "bidirectional", "dram_hit")
    writes = (over_all(rows, cells, policy, "scm_writes_per_access") /
              over_all(rows, cells, "dram_first", "scm_writes_per_access"))
    print(f"\n- DRAM hits, of `bidirectional`'s: {dram:.3f}")
    print(f"- SCM writes, of `dram_first`'s: {writes:.3f}")
    for model in MODELS:
        ratios = access_times(rows, cells, policy, model)
        worst = sorted(ratios, key=ratios.get)[-3:][::-1]
        print(f"- mean access time, {model}, over the best published policy: mean {mean(ratios.values()):.3f}; "
              "worst " + ", ".join(f"{ratios[cell]:.3f} ({cell[0]}, {cell[1]})" for cell in worst))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("result", type=pathlib.Path)
    parser.add_argument("--policy", default="adaptive")
    args = parser.parse_args()
    rows = {}
    for row in json.loads(args.result.read_text())["rows"]:
        rows[row["trace"].split(".")[0], row["total"], row["policy"]] = row
    traces = list(dict.fromkeys(key[0] for key in rows))
    totals = list(dict.fromkeys(key[1] for key in rows))
    policies = [p for p in dict.fromkeys(key[2] for key in rows) if p not in ("lru", "opt")]
    print_gaps(rows, traces, totals, policies)
    print_policy(rows, traces, totals, args.policy)


if __name__ == "__main__":
    main()
