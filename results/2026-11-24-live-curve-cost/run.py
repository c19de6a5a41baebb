#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""run.py OUT.json ROUNDS NAME=BENCH...: a DRAM hit's processor time with curve=off and on, each in a process of its own.

A process measures six times a quarter of a second, each with a new cache, and the least counts: this machine does other
work, too. In each round, of each program: off, each rate, each rate again in reverse order, off, and last a pair off, off. A
ratio is of two that stand in one round: the first run of a rate over the first off, the second over the second off.
"""
import json
import statistics
import subprocess
import sys

RATES = (1, 100)  # in parts of ten thousand


def ns_of(bench, rate):
    text = subprocess.run([bench, f"--benchmark_filter=BM_DramHit/curve_rate_10000:{rate}/threads:1$",
                           "--benchmark_repetitions=6", "--benchmark_min_time=0.25", "--benchmark_format=json"],
                          check=True, capture_output=True, text=True).stdout
    return min(run["cpu_time"] for run in json.loads(text)["benchmarks"] if run["run_type"] == "iteration")


def round_of(bench):
    order = [0, *RATES, *reversed(RATES), 0, 0, 0]
    return [{"rate": rate, "ns": round(ns_of(bench, rate), 2)} for rate in order]


def ratios(rounds, rate):
    found = []
    for runs in rounds:
        off = [run["ns"] for run in runs if run["rate"] == 0]
        if rate == 0:
            found.append(off[3] / off[2])
            continue
        on = [run["ns"] for run in runs if run["rate"] == rate]
        found += [on[0] / off[0], on[1] / off[1]]
    return found


def main(out, rounds, programs):
    raw = {name: [] for name, _ in programs}
    for _ in range(rounds):
        for name, bench in programs:
            raw[name].append(round_of(bench))
        with open(out, "w") as file:
            json.dump(raw, file, indent=0)
    for name, _ in programs:
        off = [run["ns"] for runs in raw[name] for run in runs if run["rate"] == 0]
        print(f"{name}: off {statistics.median(off):.1f} ns (least {min(off):.1f})")
        for rate in (0, *RATES):
            found = ratios(raw[name], rate)
            quarters = statistics.quantiles(found, n=4)
            least = min(run["ns"] for runs in raw[name] for run in runs if run["rate"] == rate)
            print(f"  {'off/off' if rate == 0 else rate / 10000}: median {statistics.median(found):.3f}, "
                  f"quartiles {quarters[0]:.3f} {quarters[2]:.3f}, {len(found)} pairs; "
                  f"least {least:.1f} ns, {least / min(off):.3f}")


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), [item.split("=", 1) for item in sys.argv[3:]])
