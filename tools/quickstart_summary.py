#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Says in one sentence what a result of mezz_replay shows, and in one each what takes from its worth.

    tools/quickstart_summary.py RESULT.json
"""
import json
import statistics
import sys

# A median ratio nearer to 1 than this is no difference; nor is one whose windows disagree on who was faster.
NOISE = 0.03
# A cache whose flash reads an operation fell by more than this over the windows, and more than so many, was not warm.
FALLING = 0.1
FALLING_READS = 0.01
# An emulated device whose reads took so many times their time: something else had the processors.
BUSY = 1.15


def ratios(ours, theirs):
    """Window by window, from the least.

    The windows of all caches were interleaved, so those of the same number saw the same machine: they are compared.
    """
    return sorted(a["ops_per_s"] / b["ops_per_s"] for a, b in zip(ours["windows"], theirs["windows"]))


def compare(ours, theirs, name):
    """'1.80 times (1.71 to 1.84) as fast as NAME', and whether that is a win, a loss or neither (1, -1, 0)."""
    of = ratios(ours, theirs)
    ratio = statistics.median(of)
    spread = f"{of[0]:.2f} to {of[-1]:.2f}"
    if of[0] > 1 and ratio > 1 + NOISE:
        outcome = 1
    elif of[-1] < 1 and ratio < 1 - NOISE:
        outcome = -1
    else:
        return f"as fast as {name} within the spread ({spread} times)", 0
    return f"{ratio:.2f} times ({spread}) as fast as {name}", outcome


def measured(row):
    return row.get("available", True) and row.get("windows")


def still_warming(row):
    reads = [window.get("flash_reads_per_op", 0) for window in row["windows"]]
    return reads[0] - reads[-1] > max(FALLING * reads[0], FALLING_READS)


def caveats(rows):
    """What takes from the sentence's worth, one sentence each."""
    cold = [name for name in rows if still_warming(rows[name])]
    if cold:
        yield (f"This is no steady state: {', '.join(cold)} still warmed up, with fewer flash reads in the last window "
               "than in the first.")
    idle = [name for name in rows if rows[name].get("only_fills_memtables")]
    if idle:
        yield (f"The databases of {', '.join(idle)} were written to, and neither flushed nor compacted anything: that "
               "says nothing of a server's, whose caches lose blocks to both.")
    times = [row.get("flash", {}) for row in rows.values()]
    busy = max((t["took_us"] / t["asked_us"] for t in times if t.get("asked_us")), default=0)
    if busy > BUSY:
        yield (f"The machine was busy: reads of the emulated flash took up to {busy:.2f} times their time. A quiet one "
               "may say otherwise.")


def best_of(hybrid, rows, names):
    """The one of `names` that the hybrid cache leads by least, or None: a stock cache counts with its best warming."""
    there = [name for name in names if name in rows]
    return min(there, key=lambda name: statistics.median(ratios(hybrid, rows[name])), default=None)


def with_warming(name):
    return [name, f"{name}+warmflush", f"{name}+warm"]


def emulated(result):
    """What stood in for what, in brackets."""
    parts = []
    if result.get("emulated"):
        parts.append("other memory stood in for SCM")
    flash = result.get("flash")
    if isinstance(flash, dict) and flash.get("emulated"):
        parts.append(f"flash was emulated ({flash['name']})")
    return f" ({', '.join(parts)})" if parts else ""


def verdict(result):
    rows = {row["cache"]: row for row in result["rows"] if measured(row)}
    hybrid = rows.get("hybrid")
    if hybrid is None:
        return "The hybrid cache was not measured, so the table says nothing about it."
    parts, outcomes = [], []
    kind = next((kind for kind in ("hcc", "lru") if any(name in rows for name in with_warming(kind))), "")
    alone = best_of(hybrid, rows, with_warming(kind))
    if alone is not None:
        text, outcome = compare(hybrid, rows[alone], f"the same DRAM alone ({alone})")
        parts.append(text)
        outcomes.append(outcome)
    # A peer whose second tier never hit is not a peer.
    best = best_of(hybrid, rows, [name for name in rows
                                  if "+compressed" in name and not rows[name].get("second_tier_idle")])
    if best is not None:
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
    large = best_of(hybrid, rows, with_warming("all_dram"))
    if large is not None:
        of = ratios(hybrid, rows[large])
        sentence += (f"; it gave {statistics.median(of):.0%} ({of[0]:.0%} to {of[-1]:.0%}) of what a server with all "
                     "of that memory in DRAM gives")
    return " ".join([f"{sentence}{emulated(result)}.", *caveats(rows)])


def self_test():
    def rows(**medians):
        def row(name, median):
            windows = [{"ops_per_s": median * noise, "flash_reads_per_op": 0.2} for noise in (0.95, 1.0, 1.1)]
            return {"cache": name, "ops_per_s": {"median": median}, "windows": windows}
        return {"rows": [row(*item) for item in medians.items()]}

    stock = {"hcc": 100, "all_dram": 400, "lru+compressed": 150, "hcc+compressed_lz4": 140}
    assert verdict(rows(hybrid=300, **stock)) == (
        "The hybrid cache won: 3.00 times (3.00 to 3.00) as fast as the same DRAM alone (hcc) and 2.00 times (2.00 to "
        "2.00) as fast as RocksDB's own best second tier (lru+compressed); it gave 75% (75% to 75%) of what a server "
        "with all of that memory in DRAM gives.")
    assert verdict(rows(hybrid=120, **stock)).startswith("The hybrid cache won in part only: 1.20 times (")
    assert verdict(rows(hybrid=101, hcc=100)).startswith("The hybrid cache did NOT win: as fast as")
    assert verdict(rows(hybrid=50, hcc=100)).startswith("The hybrid cache did NOT win: 0.50 times")
    noisy = rows(hybrid=120, hcc=100)
    noisy["rows"][0]["windows"][0]["ops_per_s"] = 90
    assert verdict(noisy).startswith("The hybrid cache did NOT win: as fast as"), verdict(noisy)
    noisy = rows(hybrid=90, hcc=100)
    noisy["rows"][0]["windows"][0]["ops_per_s"] = 100
    assert verdict(noisy).startswith("The hybrid cache did NOT win: as fast as"), verdict(noisy)
    assert "not measured" in verdict(rows(hcc=100))
    assert "not measured" in verdict({"rows": [{"cache": "hybrid", "available": False}]})
    cold = rows(hybrid=120, **stock)
    cold["rows"][3]["windows"][-1]["flash_reads_per_op"] = 0.1
    assert "no steady state: lru+compressed still warmed up" in verdict(cold), verdict(cold)
    busy = rows(hybrid=120, hcc=100)
    busy["rows"][1]["flash"] = {"asked_us": 100, "took_us": 130}
    assert "up to 1.30 times their time" in verdict(busy), verdict(busy)
    idle = rows(hybrid=120, hcc=100)
    idle["rows"][1]["only_fills_memtables"] = True
    assert "The databases of hcc were written to, and neither flushed nor" in verdict(idle), verdict(idle)
    assert "written to" not in verdict(rows(hybrid=120, hcc=100))
    warm = {"hcc+warm": 200, "lru+compressed+warm": 250, "all_dram+warm": 600}
    warmed = verdict(rows(hybrid=300, **stock, **warm))
    assert "1.50 times (1.50 to 1.50) as fast as the same DRAM alone (hcc+warm)" in warmed, warmed
    assert "1.20 times (1.20 to 1.20) as fast as RocksDB's own best second tier (lru+compressed+warm)" in warmed, warmed
    assert "it gave 50% (50% to 50%)" in warmed, warmed
    slowed = verdict(rows(hybrid=300, hcc=100, **{"hcc+warm": 50}))
    assert "3.00 times (3.00 to 3.00) as fast as the same DRAM alone (hcc)" in slowed, slowed
    modelled = {**rows(hybrid=120, hcc=100), "emulated": True, "flash": {"emulated": True, "name": "nvme_flash"}}
    assert verdict(modelled).endswith("(other memory stood in for SCM, flash was emulated (nvme_flash)).")


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
