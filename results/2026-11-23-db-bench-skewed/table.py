#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The table of this folder: table.py FOLDER, which holds rangeR_SHARE_SEED.json and the same in dram_first/."""
import json
import pathlib
import statistics
import sys

STOCK = ("hcc+compressed", "lru+compressed", "tiered", "tiered:placeholder")
OURS = ("hybrid", "hybrid+raw", "hybrid:dram_first")


def reads_of(path):
    rows = json.loads(path.read_text())["rows"]
    return {row["cache"]: row["windows"][0]["flash_reads_per_op"] for row in rows}


def main():
    folder = pathlib.Path(sys.argv[1])
    cells = {}
    for path in sorted(folder.glob("range*.json")):
        exp_range, share, _ = path.stem.removeprefix("range").split("_")
        reads = reads_of(path)
        apart = path.parent / "dram_first" / path.name
        if apart.exists():
            reads["hybrid:dram_first"] = reads_of(apart)["hybrid:dram_first"]
        cells.setdefault((int(exp_range), int(share)), []).append(reads)
    print("| range, total | " + " | ".join(f"`{name}`" for name in STOCK + OURS) + " | " +
          " | ".join(f"`{name}` over the best stock tier" for name in OURS) + " |")
    print("|---|" + "---:|" * (len(STOCK) + 2 * len(OURS)))
    for (exp_range, share), draws in sorted(cells.items()):
        line = [f"{exp_range}, {share} %"]
        for name in STOCK + OURS:
            found = [reads[name] for reads in draws if name in reads]
            line.append(f"{statistics.mean(found):.4f}" if found else "")
        for name in OURS:
            found = [reads[name] / min(reads[stock] for stock in STOCK) for reads in draws if name in reads]
            line.append(f"{statistics.mean(found):.3f} ({', '.join(f'{ratio:.3f}' for ratio in found)})" if found else "")
        print("| " + " | ".join(line) + " |")


if __name__ == "__main__":
    main()
