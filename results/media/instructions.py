"""Instructions of a look-up or an insert of bench_tiers_bench, by callgrind, of two builds: instructions.py BEFORE AFTER.
Medians of five runs by turns, of all that runs and of ours alone. What the C library's allocator does is left out: it
depends on what was freed before. RocksDB's part differs between runs by its table's hash seed."""
import collections
import json
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile

RUNS = 5
ALLOCATOR = re.compile(r"malloc|memalign|_int_free|^free$|cfree|unlink_chunk|consolidate|calloc|sysmalloc|systrim|brk")
# Of a benchmark: the calls whose instructions count, and what each of interest calls once.
KINDS = {"BM_HitInDram": ("mezz::BlockCache::Lookup*", r"HybridCache::Lookup"),
         "BM_HitInScm": ("mezz::BlockCache::Lookup*", r"^mezz::ScmTier::Find"),
         "BM_InsertAndDemote": ("mezz::BlockCache::Insert*", r"HybridCache::Insert")}


def instructions(bench, name):
    """Of a call: all, and ours."""
    counted, once = KINDS[name]
    with tempfile.TemporaryDirectory() as folder:
        out = pathlib.Path(folder) / "out"
        subprocess.run(["valgrind", "--tool=callgrind", f"--callgrind-out-file={out}", "--collect-atstart=no",
                        f"--toggle-collect={counted}", bench, f"--benchmark_filter=^{name}$",
                        "--benchmark_min_time=0.3"], capture_output=True, check=True)
        names, spent, calls, function, called, inclusive = {}, collections.Counter(), 0, "", "", False
        for line in out.read_text().splitlines():
            if at := re.match(r"(c?fn)=\((\d+)\)(?: (.*))?", line):
                if at[3]:
                    names[at[2]] = at[3]
                if at[1] == "fn":
                    function = names[at[2]]
                else:
                    called = names[at[2]]
            elif at := re.match(r"calls=(\d+)", line):
                calls += int(at[1]) if re.search(once, called) else 0
                inclusive = True
            elif at := re.match(r"[+\-*\d]\S* (\d+)$", line):
                if not inclusive:
                    spent[function] += int(at[1])
                inclusive = False
    every = sum(count for of, count in spent.items() if not ALLOCATOR.search(of))
    return every / calls, sum(count for of, count in spent.items() if of.startswith("mezz::")) / calls


for name in KINDS:
    runs = [[instructions(bench, name) for bench in sys.argv[1:3]] for _ in range(RUNS)]
    row = {"benchmark": name}
    for part, what in enumerate(("all", "ours")):
        before, after = (statistics.median(run[build][part] for run in runs) for build in range(2))
        row[what] = {"before": round(before, 1), "after": round(after, 1), "ratio": round(after / before, 4)}
    print(json.dumps(row), flush=True)
