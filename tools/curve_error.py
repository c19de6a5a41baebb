#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Sampled curves against exact ones: how far off each point is, and whether its band says so.

    tools/curve_error.py --traces=FOLDER [--mezz_plan=PATH] [--json=FILE] [TRACE...] [-- FLAGS of mezz_plan curve]

For each trace the grid that mezz_plan chooses, once with --exact and once without. Points are percentage points of hit
ratio. Without TRACE: all real traces of the folder that are long enough for a sample.
"""
import argparse
import json
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

TRACES = ("arc/OLTP.lis.zst", "arc/P3.lis.zst", "arc/P12.lis.zst", "cloudphysics/cloudPhysicsIO.csv.zst",
          "scarab/scarab-recs.trace.xz", "cache2k/orm-busy.trace.xz", "cache2k/web07.trace.xz",
          "lirs/sprite.trace.gz", "lirs/loop.trace.gz", "lirs/multi1.trace.gz", "mqsim/tpcc-small.trace")
# As workloads/plan/curve.cc has them.
STUDENT = (12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262)
COMMON_BAND = 0.0015


def make(arguments, trace, out, flags):
    command = [arguments.mezz_plan, "curve", str(Path(arguments.traces) / trace), f"--out={out}", *flags]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(done.stderr.strip())
    return json.loads(Path(out).read_text())["curve"]


def points(curve):
    """(dram, scm): share of DRAM hits, of all hits, and the band of these."""
    requests = curve["sums"]["counted_requests"]
    found = {}
    for point in curve["points"]:
        rows = [dict(zip(curve["fields"], row)) for row in point["seeds"]]
        dram = [row["dram_hits"] / requests for row in rows]
        both = [(row["dram_hits"] + row["scm_in_place"] + row["scm_unpacked"] + row["promotions"]) / requests
                for row in rows]
        band = 0
        if curve["rate_min"] < 1:
            student = STUDENT[min(len(both) - 1, len(STUDENT)) - 1]
            band = student * statistics.stdev(both) / len(both) ** 0.5 + COMMON_BAND
        found[point["dram"], point["scm"]] = statistics.mean(dram), statistics.mean(both), band
    return found


def compare(arguments, trace, flags):
    with tempfile.TemporaryDirectory() as folder:
        kept = [flag for flag in flags if not flag.startswith(("--rate", "--blocks", "--seeds"))]
        exact = make(arguments, trace, f"{folder}/exact", ["--exact", *kept])
        grid = [f"--{tier}={','.join(map(str, exact['form'][tier]))}" for tier in ("dram", "scm")
                if exact["form"][tier] != [0]]
        sampled = make(arguments, trace, f"{folder}/sampled", [*flags, *grid])
    of, truth = points(sampled), points(exact)
    off = [100 * (of[at][1] - truth[at][1]) for at in truth]
    split = [100 * (of[at][0] - truth[at][0]) for at in truth]
    worst = max(truth, key=lambda at: abs(of[at][1] - truth[at][1]))
    return {"trace": trace, "rate": sampled["rate_min"], "points": len(off),
            "mean": statistics.mean(map(abs, off)), "worst": 100 * (of[worst][1] - truth[worst][1]),
            "worst_dram": worst[0], "worst_scm": worst[1], "bias": statistics.mean(off),
            "in_band": sum(abs(of[at][1] - truth[at][1]) <= of[at][2] + 1e-9 for at in truth) / len(off),
            "band": statistics.mean(100 * of[at][2] for at in of),
            "dram_mean": statistics.mean(map(abs, split)), "dram_worst": max(split, key=abs)}


def main():
    own, flags = sys.argv[1:], []
    if "--" in own:
        own, flags = own[:own.index("--")], own[own.index("--") + 1:]
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--traces", required=True)
    parser.add_argument("--mezz_plan", default="build/release/bin/mezz_plan")
    parser.add_argument("--json")
    parser.add_argument("trace", nargs="*")
    arguments = parser.parse_args(own)
    rows = []
    print("| trace | rate | mean | worst | at DRAM, SCM (MiB) | bias | in band | mean band | DRAM share: mean, worst |")
    print("|---|---:|---:|---:|---|---:|---:|---:|---|")
    for trace in arguments.trace or TRACES:
        try:
            row = compare(arguments, trace, flags)
        except RuntimeError as error:
            print(f"| {trace} | {error} |")
            continue
        rows.append(row)
        print(f"| {trace} | {row['rate']:.3g} | {row['mean']:.2f} | {row['worst']:+.2f} | {row['worst_dram'] >> 20}, "
              f"{row['worst_scm'] >> 20} | {row['bias']:+.2f} | {row['in_band']:.0%} | {row['band']:.2f} | "
              f"{row['dram_mean']:.2f}, {row['dram_worst']:+.2f} |", flush=True)
    sampled = [row for row in rows if row["rate"] < 1]
    if sampled:
        print(f"\nsampled traces: mean {statistics.mean(row['mean'] for row in sampled):.3f} points, "
              f"worst {max((row['worst'] for row in sampled), key=abs):+.2f}, "
              f"in their bands {statistics.mean(row['in_band'] for row in sampled):.1%} of the points")
    if arguments.json:
        Path(arguments.json).write_text(json.dumps({"flags": flags, "rows": rows}, indent=2) + "\n")
    return 0 if rows else 1


if __name__ == "__main__":
    sys.exit(main())
