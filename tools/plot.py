#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Draws results as SVG: those of mezz_sim as curves, one file a trace; those of mezz_replay, and of db_bench as
tools/reproduce-trocksdb leaves them, as bars, one file each.

    tools/plot.py RESULT.json... [--out=FOLDER] [--value=NAME] [--policies=lru,opt,...]

--out        where the SVG files go; next to the first RESULT.json if it is left out
--value      mezz_sim, over the capacity: miss (if it is left out), dram_hit, scm_hit, scm_writes_per_access,
             promotions_per_access, gap_closed, amat_ns.optane100, amat_ns.cxl; with --fast_share scm_fast_hit,
             level_demotions_per_access, amat_ns.cxl>optane100
             mezz_replay, for each cache: ops_per_s (if it is left out), p50_us, p95_us, p99_us, flash_reads_per_op,
             cpu_s_per_mop, scm_bytes_written_per_op, flash_write_amplification (db_bench)
--policies   mezz_sim: only these, in this order; all if it is left out

Several results of mezz_sim are drawn as one; a policy at a capacity that two of them have is taken from the last.
Caches that a result calls not available are left out, and named. tools/claims.py draws the pictures of README.
"""
import argparse
import json
import re
import statistics
import sys
from pathlib import Path

LABELS = {
    "miss": "miss ratio",
    "dram_hit": "DRAM hits per access",
    "scm_hit": "SCM hits per access",
    "scm_writes_per_access": "SCM writes per access, second chances included",
    "promotions_per_access": "promotions per access",
    "gap_closed": "share of the way from LRU to OPT",
    "amat_ns.optane100": "mean access time under optane100, us",
    "amat_ns.cxl": "mean access time under cxl, us",
    "scm_fast_hit": "hits on the fast SCM level per access",
    "level_demotions_per_access": "demotions from the fast SCM level to the slow one per access",
    "amat_ns.cxl>optane100": "mean access time, the fast SCM level under cxl, the slow one under optane100, us",
}
REPLAY_LABELS = {
    "ops_per_s": "operations/s",
    "p50_us": "P50, us",
    "p95_us": "P95, us",
    "p99_us": "P99, us",
    "flash_reads_per_op": "flash reads per operation",
    "cpu_s_per_mop": "CPU seconds per million operations",
    "flash_write_amplification": "bytes written to flash per byte that was put",
    "scm_bytes_written_per_op": "bytes written to the second tier per operation",
}
NS_PER_US = 1000


def die(message):
    sys.exit(f"tools/plot.py: {message}")


def load(path):
    try:
        result = json.loads(Path(path).read_text())
    except OSError as error:
        die(f"{path}: {error.strerror}")
    except (UnicodeDecodeError, json.JSONDecodeError) as error:
        die(f"{path} is not JSON: {error}")
    programs = ("mezz_sim", "mezz_replay", "db_bench")
    known = isinstance(result, dict) and result.get("program") in programs
    if not known or not isinstance(result.get("rows"), list):
        die(f"{path} is not a result of mezz_sim --json, mezz_replay --json or tools/reproduce-trocksdb")
    return result


def leave_unavailable_out(path, result):
    """Their windows, if they have any, mean nothing."""
    for row in result["rows"]:
        if not row.get("available", True):
            print(f"tools/plot.py: {path}: {row['cache']} is left out: {row.get('reason', 'not available')}",
                  file=sys.stderr)
    result["rows"] = [row for row in result["rows"] if row.get("available", True)]


def value_of(row, name):
    for part in name.split("."):
        row = row.get(part) if isinstance(row, dict) else None
    return row / NS_PER_US if row is not None and name.startswith("amat_ns") else row


def curves(results, name, wanted):
    """{trace: {policy: {share of the footprint: value}}}"""
    traces = {}
    for result in results:
        for row in result["rows"]:
            value = value_of(row, name)
            if value is not None and (not wanted or row["policy"] in wanted):
                traces.setdefault(row["trace"], {}).setdefault(row["policy"], {})[row["total_share"]] = value
    return traces


def draw(pyplot, trace, policies, name, one_tier, path):
    figure, axes = pyplot.subplots(figsize=(7, 4.5))
    for policy, points in policies.items():
        shares = sorted(points)
        style = "--" if policy in one_tier else "-"
        axes.plot([100 * share for share in shares], [points[share] for share in shares], style, marker="o",
                  markersize=3, linewidth=1.2, label=policy)
    axes.set_xscale("log")
    axes.set_xlabel("total capacity, % of the footprint (dashed: one tier)")
    axes.set_ylabel(LABELS[name])
    axes.set_title(trace)
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:g}")
    axes.grid(True, which="both", linewidth=0.3)
    axes.legend(fontsize="small")
    figure.tight_layout()
    figure.savefig(path, metadata={"Date": None})
    pyplot.close(figure)


def draw_caches(pyplot, result, name, path):
    """A bar for each cache: the median of its windows, and their extremes."""
    windows = {row["cache"]: [window[name] for window in row.get("windows", [])] for row in result["rows"]}
    caches = [cache for cache, values in windows.items() if values]
    medians = [statistics.median(windows[cache]) for cache in caches]
    spread = [[median - min(windows[cache]) for cache, median in zip(caches, medians)],
              [max(windows[cache]) - median for cache, median in zip(caches, medians)]]
    ours = ["hybrid" in cache or cache.startswith("scm_secondary") for cache in caches]
    figure, axes = pyplot.subplots(figsize=(7, 1.2 + 0.3 * len(caches)))
    axes.barh(range(len(caches)), medians, 0.7, xerr=spread, color=["#35c79a" if one else "#c9ced6" for one in ours],
              edgecolor="black", linewidth=0.5, error_kw={"linewidth": 1, "capsize": 2})
    axes.set_yticks(range(len(caches)), caches)
    axes.invert_yaxis()
    axes.set_xlabel(f"{REPLAY_LABELS[name]}: median of {len(windows[caches[0]])} windows, least and most")
    axes.set_title(f"{result['workload']}; model {result['model']}", fontsize="small")
    axes.grid(True, axis="x", linewidth=0.3)
    axes.set_axisbelow(True)
    figure.tight_layout()
    figure.savefig(path, metadata={"Date": None})
    pyplot.close(figure)


def main():
    parser = argparse.ArgumentParser(usage=__doc__, add_help=False)
    parser.add_argument("results", nargs="*")
    parser.add_argument("--out")
    parser.add_argument("--value")
    parser.add_argument("--policies", default="")
    args = parser.parse_args()
    if not args.results:
        sys.exit(__doc__)
    results = [load(path) for path in args.results]
    if len({result["program"] for result in results}) > 1:
        die("these are results of several programs: draw them one after the other")
    replayed = results[0]["program"] != "mezz_sim"
    labels = REPLAY_LABELS if replayed else LABELS
    args.value = args.value or next(iter(labels))
    if args.value not in labels:
        die(f"--value={args.value} is not known; one of {', '.join(labels)}")
    wanted = [policy for policy in args.policies.split(",") if policy]
    traces = {} if replayed else curves(results, args.value, wanted)
    known = {row["policy"] for result in results for row in result["rows"] if not replayed}
    for policy in wanted:
        if policy not in known:
            die(f"--policies names \"{policy}\"; the results have {', '.join(sorted(known)) or 'none'}")
    if not traces and not replayed:
        die(f"no row has --value={args.value}")
    for path, result in zip(args.results, results) if replayed else ():
        leave_unavailable_out(path, result)
        if not any(row.get("windows") for row in result["rows"]):
            die(f"{path}: no cache has a window to draw")
        if any(args.value not in window for row in result["rows"] for window in row.get("windows", [])):
            die(f"{path} has no --value={args.value}")
    try:
        import matplotlib
    except ImportError:
        die(f"matplotlib is missing for {sys.executable}: tools/install_deps plot installs Debian's")
    matplotlib.use("svg")
    matplotlib.rcParams["svg.hashsalt"] = "mezz"  # the same input gives the same file
    from matplotlib import pyplot

    out = Path(args.out) if args.out else Path(args.results[0]).resolve().parent
    out.mkdir(parents=True, exist_ok=True)
    for path, result in zip(args.results, results) if replayed else ():
        path = out / f"{Path(path).stem}.{args.value}.svg"
        draw_caches(pyplot, result, args.value, path)
        print(path)
    one_tier = {row["policy"] for result in results for row in result["rows"] if row.get("tiers") == 1}
    for trace, policies in traces.items():
        if wanted:
            policies = {policy: policies[policy] for policy in wanted if policy in policies}
        path = out / re.sub(r"[^A-Za-z0-9_.-]", "_", f"{trace}.{args.value}.svg")
        draw(pyplot, trace, policies, args.value, one_tier, path)
        print(path)


if __name__ == "__main__":
    main()
