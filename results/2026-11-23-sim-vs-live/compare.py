#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Sets what mezz_sim said beside what the live cache did.

    compare.py FOLDER    FOLDER/TRACE_PERCENT_DRAM_PACK_SEED.{sim,live}.json -> FOLDER/agreement.csv, runs.csv (each draw), and a table in Markdown

The means over the seeds are compared. Differences are in points: 0.5 is half a hundredth of all accesses.
"""
import csv
import json
import pathlib
import statistics
import sys

AGREE_WITHIN = 0.5
MEASURES = ["dram_hit", "scm_hit", "miss", "scm_writes_per_access", "promotions_per_access"]


def runs_of(folder):
    """(trace, percent, DRAM cache, pack, policy) -> its runs."""
    runs = {}
    for live_path in sorted(folder.glob("*.live.json")):
        trace, percent, dram_cache, pack, _ = live_path.name.removesuffix(".live.json").rsplit("_", 4)
        live = json.loads(live_path.read_text())
        simulated = json.loads(live_path.with_name(live_path.name.replace(".live.", ".sim.")).read_text())
        by_policy = {row["policy"]: row for row in simulated["rows"]}
        for row in live["rows"]:
            policy = row["cache"].removeprefix("hybrid:")
            runs.setdefault((trace, int(percent), dram_cache, pack, policy), []).append((live, row, by_policy[policy]))
    return runs


def rows_of(folder):
    for (trace, percent, dram_cache, pack, policy), runs in runs_of(folder).items():
        live, first, _ = runs[0]
        one = {"trace": trace, "percent": percent, "dram_cache": dram_cache, "pack": pack,
               "policy": policy, "seeds": len(runs),
               "blocks": live["unique"], "block_bytes": live["options"]["unit_bytes"],
               "dram_bytes": live["options"]["dram_bytes"],
               "dram_tier_bytes": first["dram_tier_bytes"], "scm_bytes": live["options"]["scm_bytes"],
               "accesses": first["accesses"]}
        for measure in MEASURES:
            for side, values in (("sim", [simulated[measure] for _, _, simulated in runs]),
                                 ("live", [row[measure] for _, row, _ in runs])):
                one[f"{measure}_{side}"] = round(statistics.mean(values), 6)
                one[f"{measure}_{side}_spread"] = round(max(values) - min(values), 6)
        yield one


def draws_of(folder):
    """Every run of every cell, one a row."""
    for (trace, percent, dram_cache, pack, policy), runs in runs_of(folder).items():
        for live, row, simulated in runs:
            one = {"trace": trace, "percent": percent, "dram_cache": dram_cache, "pack": pack, "policy": policy,
                   "seed": live["seed"], "dram_tier_bytes": row["dram_tier_bytes"]}
            for measure in MEASURES:
                one[f"{measure}_sim"] = round(simulated[measure], 6)
                one[f"{measure}_live"] = round(row[measure], 6)
            yield one


def write(path, rows):
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, rows[0].keys(), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def points(row, measure):
    return 100 * (row[f"{measure}_live"] - row[f"{measure}_sim"])


def off(row):
    return max(abs(points(row, measure)) for measure in ("dram_hit", "scm_hit"))


def worst_table(rows):
    policies = list(dict.fromkeys(row["policy"] for row in rows))
    lines = ["| trace, total, DRAM tier, pack | " + " | ".join(policies) + " |", "|---|" + "---:|" * len(policies)]
    cells = {}
    for row in rows:
        key = (row["trace"], row["percent"], row["dram_cache"], row["pack"])
        text = f"{points(row, 'dram_hit'):+.2f} / {points(row, 'scm_hit'):+.2f}"
        cells.setdefault(key, {})[row["policy"]] = f"**{text}**" if off(row) > AGREE_WITHIN else text
    for (trace, percent, dram_cache, pack), by_policy in cells.items():
        lines.append(f"| {trace}, {percent} %, {dram_cache}, {pack} | " +
                     " | ".join(by_policy.get(policy, "") for policy in policies) + " |")
    return "\n".join(lines)


def main():
    folder = pathlib.Path(sys.argv[1])
    rows = list(rows_of(folder))
    if not rows:
        raise SystemExit(f"{folder} holds no results")
    write(folder / "agreement.csv", rows)
    write(folder / "runs.csv", list(draws_of(folder)))
    print("Points of DRAM hit / SCM hit, live less simulated:\n")
    print(worst_table(rows))
    bad = [row for row in rows if off(row) > AGREE_WITHIN]
    worst = max(rows, key=off)
    print(f"\n{len(rows) - len(bad)} of {len(rows)} within {AGREE_WITHIN} points; the worst is {worst['trace']} "
          f"{worst['percent']} % {worst['dram_cache']} {worst['pack']} {worst['policy']}: {off(worst):.2f}")


if __name__ == "__main__":
    main()
