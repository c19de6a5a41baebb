#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Says in one sentence what a result of mezz_replay shows.

    tools/verdict.py RESULT.json
"""
import json
import statistics
import sys

# A median ratio nearer to 1 than this is no difference; nor is one whose windows disagree on who was faster.
NOISE = 0.03


def speed(row):
    return row["ops_per_s"]["median"]


def compare(ours, theirs, name):
    """'1.80 times as fast as NAME', and whether that is a win, a loss or neither (1, -1, 0).

    The windows of all caches were interleaved, so those of the same number saw the same machine: they are compared.
    """
    ratios = sorted(a["ops_per_s"] / b["ops_per_s"] for a, b in zip(ours["windows"], theirs["windows"]))
    ratio = statistics.median(ratios)
    if ratios[0] > 1 and ratio > 1 + NOISE:
        outcome = 1
    elif ratios[-1] < 1 and ratio < 1 - NOISE:
        outcome = -1
    else:
        return f"as fast as {name} within the spread ({ratios[0]:.2f} to {ratios[-1]:.2f} times)", 0
    return f"{ratio:.2f} times as fast as {name}", outcome


def measured(row):
    return row.get("available", True) and row.get("windows")


def verdict(result):
    rows = {row["cache"]: row for row in result["rows"] if measured(row)}
    hybrid = rows.get("hybrid")
    if hybrid is None:
        return "The hybrid cache was not measured, so the table says nothing about it."
    parts, outcomes = [], []
    alone = next((name for name in ("hcc", "lru") if name in rows), None)
    if alone is not None:
        text, outcome = compare(hybrid, rows[alone], f"the same DRAM alone ({alone})")
        parts.append(text)
        outcomes.append(outcome)
    # A peer whose second tier never hit is not a peer.
    stock = [name for name in rows if "+compressed" in name and not rows[name].get("second_tier_idle")]
    if stock:
        best = max(stock, key=lambda name: speed(rows[name]))
        text, outcome = compare(hybrid, rows[best], f"RocksDB's own best second tier ({best})")
        parts.append(text)
        outcomes.append(outcome)
    if not parts:
        return "Only the hybrid cache was measured: nothing to compare it with."
    if min(outcomes) > 0:
        lead = "The hybrid cache won"
    elif max(outcomes) > 0:
        lead = "The hybrid cache won in part only"
    else:
        lead = "The hybrid cache did NOT win"
    sentence = f"{lead}: {' and '.join(parts)}"
    if "all_dram" in rows:
        share = speed(hybrid) / speed(rows["all_dram"])
        sentence += f"; it gave {share:.0%} of what a server with all of that memory in DRAM gives"
    if result.get("emulated"):
        sentence += " (other memory stood in for SCM)"
    return sentence + "."


def self_test():
    def rows(**medians):
        def row(name, median):
            windows = [{"ops_per_s": median * noise} for noise in (0.95, 1.0, 1.1)]
            return {"cache": name, "ops_per_s": {"median": median}, "windows": windows}
        return {"rows": [row(*item) for item in medians.items()]}

    stock = {"hcc": 100, "all_dram": 400, "lru+compressed": 150}
    assert verdict(rows(hybrid=300, **stock)) == (
        "The hybrid cache won: 3.00 times as fast as the same DRAM alone (hcc) and 2.00 times as fast as RocksDB's own"
        " best second tier (lru+compressed); it gave 75% of what a server with all of that memory in DRAM gives.")
    assert verdict(rows(hybrid=120, **stock)).startswith("The hybrid cache won in part only: 1.20 times")
    assert verdict(rows(hybrid=101, hcc=100)).startswith("The hybrid cache did NOT win: as fast as")
    assert verdict(rows(hybrid=50, hcc=100)).startswith("The hybrid cache did NOT win: 0.50 times")
    noisy = rows(hybrid=120, hcc=100)
    noisy["rows"][0]["windows"][0]["ops_per_s"] = 90
    assert verdict(noisy).startswith("The hybrid cache did NOT win: as fast as"), verdict(noisy)
    assert "not measured" in verdict(rows(hcc=100))
    assert "not measured" in verdict({"rows": [{"cache": "hybrid", "available": False}]})


def main():
    if sys.argv[1:] == ["--self-test"]:
        self_test()
        return 0
    if len(sys.argv) != 2:
        print(__doc__.strip(), file=sys.stderr)
        return 2
    with open(sys.argv[1], encoding="utf-8") as file:
        print(verdict(json.load(file)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
