#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Markdown tables from the JSON files that mezz_replay left in a folder.

    tools/results.py FOLDER                    one table for each file
    tools/results.py FOLDER --ratio A B FILE   median and spread of cache A over cache B, window by window
    tools/results.py FOLDER --across A FILE BASE_FILE
                                               the same of cache A in one run over itself in another
    tools/results.py --check                   whether results/ is what its README says: a folder a question
    tools/results.py --self-test

Ratios are formed within a window (the caches ran it one after the other), then their median and extremes are taken.
Across runs they are formed of the windows of the same number and of nothing else: to divide each by another cache of
its run would hide, or make up, what the runs differ in.
"""
import argparse
import json
import pathlib
import re
import statistics
import sys

import pages

ROOT = pathlib.Path(__file__).resolve().parent.parent
FOLDERS_MAX = 30
BYTES_MAX = 8 << 20
SUMMARY_LINES_MAX = 80  # a page
PATHS_BYTES_MAX = 64 << 10  # larger files are runs as they came
DAY = re.compile(r"\d{4}-\d{2}-\d{2}")


def windows(run, cache):
    for row in run["rows"]:
        if row["cache"] == cache and row["available"]:
            return [window["ops_per_s"] for window in row["windows"]]
    raise SystemExit(f"{cache} is not in this run")


def spread(values):
    return f"{statistics.median(values):.2f} ({min(values):.2f}-{max(values):.2f})"


def ratio(run, a, b):
    return spread([x / y for x, y in zip(windows(run, a), windows(run, b))])


def across(run, base, cache):
    return spread([x / y for x, y in zip(windows(run, cache), windows(base, cache))])


def thousands(spread_of):
    return f"{spread_of['median'] / 1e3:.1f}k ({spread_of['min'] / 1e3:.1f}-{spread_of['max'] / 1e3:.1f})"


def table(name, run):
    option = run["options"]
    flash = run.get("flash", {"name": "disk"})["name"]
    lines = [
        f"### {name}",
        "",
        f"{run['workload']}; {option['dram_bytes'] >> 20} MiB DRAM + {option['scm_bytes'] >> 20} MiB SCM, "
        f"{run['database_bytes'] >> 20} MiB of data, model {run['model']}, flash {flash}, "
        f"RocksDB {run['rocksdb']}, "
        f"{option['threads']} threads",
        "",
        "| cache | ops/s | ratio to the first | P50 / P95 / P99 us | DRAM hit | 2nd hit | flash reads/op | SCM B/op |"
        " CPU s/Mop | |",
        "|---|---:|---:|---:|---:|---:|---:|---:|---:|---|",
    ]
    for row in run["rows"]:
        if not row["available"]:
            lines.append(f"| {row['cache']} | {row['reason']} |" + " |" * 8)
            continue
        r = row["ratio"]
        lines.append(
            f"| {row['cache']} | {thousands(row['ops_per_s'])} | {r['median']:.2f} ({r['min']:.2f}-{r['max']:.2f}) | "
            f"{row['p50_us']:.1f} / {row['p95_us']:.1f} / {row['p99_us']:.0f} | {row['dram_hit']:.1%} | "
            f"{row['scm_hit']:.1%} | {row['flash_reads_per_op']:.3f} | {row['scm_bytes_written_per_op']:.0f} | "
            f"{row['cpu_s_per_mop']:.1f} | {'emulated' if row['emulated'] else ''} |"
        )
    cold = [row for row in run["rows"] if row["available"] and len(row.get("cold_ops_per_s", [])) > 1]
    if cold:
        lines += ["", "From cold, thousands of ops/s by window: " + "; ".join(
            f"{row['cache']} " + " / ".join(f"{ops / 1e3:.0f}" for ops in row["cold_ops_per_s"]) for row in cold) + "."]
    return "\n".join(lines) + "\n"


def check_folder(folder):
    name = f"results/{folder.name}"
    if DAY.match(folder.name):
        yield f"{name}: is named by a day; a folder is named by its question"
    for needed in ("manifest.json", "summary.md"):
        if not (folder / needed).is_file():
            yield f"{name}: has no {needed}"
    summary = folder / "summary.md"
    if summary.is_file() and summary.read_text(encoding="utf-8").count("\n") > SUMMARY_LINES_MAX:
        yield f"{name}/summary.md: more than {SUMMARY_LINES_MAX} lines, a page"


def check_paths(folder):
    """A manifest or a script that names another file of results/ names one that is there."""
    results = folder.parent
    for path in sorted(folder.rglob("*")):
        if path.suffix not in (".json", ".md", ".py", ".sh") or path.stat().st_size > PATHS_BYTES_MAX:
            continue
        for name in re.findall(r"\bresults/([a-z0-9][\w./-]*\w)", path.read_text(encoding="utf-8")):
            if not (results / name).exists():
                yield f"{path.relative_to(results.parent)}: results/{name} is not there"


def check_row(cells, folder):
    """Date and commit are those of the manifest, and the answer's figures are in the summary."""
    name = f"results/README.md: {folder.name}"
    _, answer, date, commit, _ = cells
    try:
        manifest = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return  # told of already
    if manifest.get("date") != date:
        yield f"{name}: date {date}, of its manifest {manifest.get('date')}"
    if not re.search(rf"\b{commit}", str(manifest.get("commit"))):
        yield f"{name}: commit {commit} is not that of its manifest, {manifest.get('commit')}"
    for figure in pages.figures(answer):
        if pages.digits(figure) not in pages.carried(folder):
            yield f"{name}: {figure} is not in {folder.name}"


def check(root):
    """What is wrong with results/, a line each."""
    results = root / "results"
    folders = sorted(path for path in results.iterdir() if path.is_dir())
    wrong = [line for folder in folders for line in (*check_folder(folder), *check_paths(folder))]
    rows = {}
    for line in (results / "README.md").read_text(encoding="utf-8").split("\n"):
        link = re.search(r"\]\(([\w-]+)/summary\.md\) \|$", line)
        if link and line.startswith("|"):
            rows.setdefault(link.group(1), []).append([cell.strip() for cell in line.strip("|").split("|")])
    for folder in folders:
        its = rows.get(folder.name, [])
        if len(its) != 1:
            wrong.append(f"results/{folder.name}: is not in results/README.md" if not its else
                         f"results/{folder.name}: is in results/README.md {len(its)} times")
        for cells in its:
            whole = len(cells) == 5
            wrong += check_row(cells, folder) if whole else [f"results/README.md: {folder.name}: five columns"]
    if len(folders) > FOLDERS_MAX:
        wrong.append(f"results: {len(folders)} folders, at most {FOLDERS_MAX}")
    if (size := sum(path.stat().st_size for path in results.rglob("*") if path.is_file())) > BYTES_MAX:
        wrong.append(f"results: {size} bytes, at most {BYTES_MAX}")
    return wrong


def self_test():
    def run(**speeds):
        rows = [{"cache": cache, "available": True, "windows": [{"ops_per_s": speed * noise} for noise in (1, 2, 4)]}
                for cache, speed in speeds.items()]
        return {"rows": rows}
    fast, slow = run(hybrid=100, hcc=50), run(hybrid=80, hcc=25)
    assert ratio(fast, "hybrid", "hcc") == "2.00 (2.00-2.00)"
    assert across(slow, fast, "hybrid") == "0.80 (0.80-0.80)", "the slower run is not made fast by its own hcc"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path, nargs="?")
    parser.add_argument("--ratio", nargs=3, metavar=("A", "B", "FILE"))
    parser.add_argument("--across", nargs=3, metavar=("A", "FILE", "BASE_FILE"))
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--self-test", action="store_true")
    arguments = parser.parse_args()
    if arguments.self_test:
        self_test()
        return
    if arguments.check:
        wrong = check(ROOT)
        print("\n".join([*wrong, f"{len(wrong)} violations in results/"]))
        sys.exit(1 if wrong else 0)
    if arguments.folder is None:
        parser.error("name the FOLDER of the results")
    if arguments.across:
        a, name, base = arguments.across
        run, base_run = (json.loads((arguments.folder / file).read_text()) for file in (name, base))
        print(across(run, base_run, a))
        return
    if arguments.ratio:
        a, b, name = arguments.ratio
        print(ratio(json.loads((arguments.folder / name).read_text()), a, b))
        return
    for path in sorted(arguments.folder.glob("*.json")):
        run = json.loads(path.read_text())
        if run.get("program") == "mezz_replay":
            print(table(path.stem, run))


if __name__ == "__main__":
    main()
