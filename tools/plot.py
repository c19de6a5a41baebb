#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Draws the JSON of mezz_sim as SVG: one file a trace.

    tools/plot.py RESULT.json... [--out=FOLDER] [--value=miss] [--policies=lru,opt,...]

--out        where the SVG files go; next to the first RESULT.json if it is left out
--value      what is drawn over the capacity: miss, dram_hit, scm_hit, scm_writes_per_access, promotions_per_access,
             gap_closed, amat_ns.optane100, amat_ns.cxl
--policies   only these, in this order; all if it is left out

Several results are drawn as one; a policy at a capacity that two of them have is taken from the last.
"""
import argparse
import json
import re
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
    if not isinstance(result, dict) or result.get("program") != "mezz_sim" or not isinstance(result.get("rows"), list):
        die(f"{path} is not a result of mezz_sim --json")
    return result


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


def main():
    parser = argparse.ArgumentParser(usage=__doc__, add_help=False)
    parser.add_argument("results", nargs="*")
    parser.add_argument("--out")
    parser.add_argument("--value", default="miss")
    parser.add_argument("--policies", default="")
    args = parser.parse_args()
    if not args.results:
        sys.exit(__doc__)
    if args.value not in LABELS:
        die(f"--value={args.value} is not known; one of {', '.join(LABELS)}")
    results = [load(path) for path in args.results]
    wanted = [policy for policy in args.policies.split(",") if policy]
    traces = curves(results, args.value, wanted)
    known = {row["policy"] for result in results for row in result["rows"]}
    for policy in wanted:
        if policy not in known:
            die(f"--policies names \"{policy}\"; the results have {', '.join(sorted(known))}")
    if not traces:
        die(f"no row has --value={args.value}")
    try:
        import matplotlib
    except ImportError:
        die(f"matplotlib is missing for {sys.executable}: tools/install_deps plot installs Debian's")
    matplotlib.use("svg")
    matplotlib.rcParams["svg.hashsalt"] = "mezz"  # the same input gives the same file
    from matplotlib import pyplot

    out = Path(args.out) if args.out else Path(args.results[0]).resolve().parent
    out.mkdir(parents=True, exist_ok=True)
    one_tier = {row["policy"] for result in results for row in result["rows"] if row["tiers"] == 1}
    for trace, policies in traces.items():
        if wanted:
            policies = {policy: policies[policy] for policy in wanted if policy in policies}
        path = out / re.sub(r"[^A-Za-z0-9_.-]", "_", f"{trace}.{args.value}.svg")
        draw(pyplot, trace, policies, args.value, one_tier, path)
        print(path)


if __name__ == "__main__":
    main()
