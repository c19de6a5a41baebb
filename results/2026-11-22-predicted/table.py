#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Predicted beside measured, and which plan would have been bought. Usage: table.py FOLDER [WORKLOAD...]

Reads what run.sh left in FOLDER; writes rows.csv (each configuration), plans.csv (each decision), and prints the tables.
Times are medians of the windows. Hit ratios are of all windows together, as the curve's are of all requests: a compaction
takes a tenth of a window's hits (since 25 November; 22 November's tables have medians, too).
"""
import csv
import json
import pathlib
import statistics
import sys

MODELS = ("none", "optane100", "cxl")
# A GB of SCM in GB of DRAM: the paper's for Optane (atc21.yaml); 2026.yaml's for recycled and for new CXL modules.
SCM_PRICE = {"none": (0.25, 1.18), "optane100": (0.38,), "cxl": (0.25, 1.18)}
DRAM_PRICE = 885 / 64  # USD a GB: rdimm_64 of 2026.yaml
TARGETS = (0.5, 0.6, 0.7, 0.8, 0.9, 0.95)  # of the throughput of the most DRAM
BOUNDS = {"hit": 1.0, "ops": 10.0, "p95": 20.0}  # points, %, %
MIB = 1 << 20


def sizes_of(name):
    dram, _, scm = name.partition("@")[2].partition("+")
    number = lambda text: int(text[:-1]) if text else 0
    return number(dram), number(scm)


def middle_of(key, values):
    return statistics.mean(values) if key in ("hit", "dram") else statistics.median(values)


def measured(folder, workload, model):
    rows = {}
    for row in json.loads((folder / f"{workload}.{model}.json").read_text())["rows"]:
        windows = {
            "hit": [100 * (w["dram_hit"] + w["scm_hit"]) for w in row["windows"]],
            "dram": [100 * w["dram_hit"] for w in row["windows"]],
            "ops": [w["ops_per_s"] for w in row["windows"]],
            "p95": [w["latency_us"]["p95"] for w in row["windows"]],
        }
        rows[sizes_of(row["cache"])] = {
            key: (middle_of(key, values), max(values) - min(values)) for key, values in windows.items()
        }
    return rows


def predicted(folder, workload, model):
    rows = {}
    for row in json.loads((folder / f"{workload}.{model}.predicted.json").read_text())["rows"]:
        rows[(row["dram_bytes"] // MIB, row["scm_bytes"] // MIB)] = {
            "hit": 100 * (row["dram_hit"] + row["scm_hit"]),
            "dram": 100 * row["dram_hit"],
            "ops": row["throughput"]["value"],
            "p95": row["p95_us"]["value"],
        }
    return rows


def compare(folder, workloads):
    lines = []
    for workload in workloads:
        for model in MODELS:
            said = predicted(folder, workload, model)
            for sizes, found in measured(folder, workload, model).items():
                line = {"workload": workload, "model": model, "dram_mib": sizes[0], "scm_mib": sizes[1]}
                for key in ("dram", "hit", "ops", "p95"):
                    value, spread = found[key]
                    points = key in ("dram", "hit")
                    scale = 1 if points else 100 / value
                    line[f"{key}_predicted"] = round(said[sizes][key], 3)
                    line[f"{key}_measured"] = round(value, 3)
                    line[f"{key}_error"] = round((said[sizes][key] - value) * scale, 2)
                    line[f"{key}_spread"] = round(spread * scale, 2)
                for key, bound in BOUNDS.items():
                    line[f"{key}_ok"] = abs(line[f"{key}_error"]) <= max(bound, line[f"{key}_spread"])
                lines.append(line)
    return lines


def decide(lines, workload, model, price):
    """For each target: what the model would have bought, and what the measurements say is right."""
    plans = [l for l in lines if l["workload"] == workload and (l["model"] == model or l["scm_mib"] == 0)]
    cost = lambda l: DRAM_PRICE * (l["dram_mib"] + price * l["scm_mib"])
    baseline = max((l for l in plans if l["scm_mib"] == 0), key=lambda l: l["dram_mib"])
    name = lambda l: "none" if l is None else f"{l['dram_mib']}+{l['scm_mib']}" if l["scm_mib"] else f"{l['dram_mib']}"
    for target in TARGETS:
        best = {}
        for how in ("predicted", "measured"):
            bound = target * baseline[f"ops_{how}"]
            best[how] = min((l for l in plans if l[f"ops_{how}"] >= bound), key=cost, default=None)
        chosen, right = best["predicted"], best["measured"]
        yield {
            "workload": workload, "model": model, "scm_price": price, "target": target,
            "predicted": name(chosen), "measured": name(right),
            "cost_ratio": round(cost(chosen) / cost(right), 3),
            "reaches": round(chosen["ops_measured"] / (target * baseline["ops_measured"]), 3),
            "ok": chosen is right or abs(cost(chosen) / cost(right) - 1) <= 0.02,
        }  # fmt: skip


def write(path, lines):
    with path.open("w", newline="") as file:
        out = csv.DictWriter(file, lines[0].keys(), lineterminator="\n")
        out.writeheader()
        out.writerows(lines)


def main():
    folder = pathlib.Path(sys.argv[1])
    known = [n for n in ("zipf", "packed", "scarab", "query", "production") if (folder / f"{n}.none.predicted.json").exists()]
    workloads = sys.argv[2:] or known
    lines = compare(folder, workloads)
    write(folder / "rows.csv", lines)
    print("| workload | SCM | MiB | hit % | measured | off | ops/s | measured | off (repeats) | P95 us | measured | off (repeats) |")
    print("|---|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|")
    for l in lines:
        scm = f"{l['dram_mib']}+{l['scm_mib']}" if l["scm_mib"] else str(l["dram_mib"])
        mark = lambda key: "" if l[f"{key}_ok"] else " **!**"
        print(f"| {l['workload']} | {l['model'] if l['scm_mib'] else '-'} | {scm} "
              f"| {l['hit_predicted']:.1f} | {l['hit_measured']:.1f} | {l['hit_error']:+.1f}{mark('hit')} "
              f"| {l['ops_predicted'] / 1e3:.1f}k | {l['ops_measured'] / 1e3:.1f}k "
              f"| {l['ops_error']:+.0f} % ({l['ops_spread']:.0f}){mark('ops')} "
              f"| {l['p95_predicted']:.0f} | {l['p95_measured']:.0f} "
              f"| {l['p95_error']:+.0f} % ({l['p95_spread']:.0f}){mark('p95')} |")  # fmt: skip
    print(f"\n{len(lines)} held configurations")
    for key, unit in (("hit", "points"), ("ops", "%"), ("p95", "%")):
        errors = [abs(l[f"{key}_error"]) for l in lines]
        print(f"{key}: mean error {statistics.mean(errors):.2f} {unit}, worst {max(errors):.2f}; within the bound "
              f"{sum(e <= BOUNDS[key] for e in errors)} of {len(lines)}, "
              f"or the repeats {sum(l[f'{key}_ok'] for l in lines)}")  # fmt: skip
    plans = [p for w in workloads for m in MODELS for price in SCM_PRICE[m] for p in decide(lines, w, m, price)]
    write(folder / "plans.csv", plans)
    right = sum(p["ok"] for p in plans)
    print(f"plans: {right} of {len(plans)} ({100 * right / len(plans):.0f} %) are the measured cheapest, or within 2 %")
    for p in plans:
        if not p["ok"]:
            print(f"  {p['workload']} {p['model']} SCM at {p['scm_price']}: {p['target']:.0%} of the baseline: {p['predicted']} "
                  f"instead of {p['measured']}, {p['cost_ratio']:.2f} of its cost, reaches {p['reaches']:.2f} of the bound")  # fmt: skip


if __name__ == "__main__":
    main()
