#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""instructions.py NAME=BENCH...: instructions of a DRAM hit and its release, of curve=off and on, as callgrind counts."""
import re
import subprocess
import sys
import tempfile
from pathlib import Path


def per_hit(bench, rate):
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "out"
        subprocess.run(["valgrind", "--tool=callgrind", f"--callgrind-out-file={out}", "--compress-strings=no",
                        "--toggle-collect=*BM_DramHit*", bench, "--benchmark_min_time=3",
                        f"--benchmark_filter=BM_DramHit/curve_rate_10000:{rate}/threads:1$"],
                       check=True, capture_output=True)
        text = out.read_text()
    total = int(re.search(r"^(?:summary|totals): (\d+)", text, re.M).group(1))
    hits = sum(int(calls) for calls in re.findall(r"^cfn=.*HybridCache::Lookup\(.*\n(?:c.*\n)*?calls=(\d+)", text, re.M))
    return total / hits, hits


for name, bench in (item.split("=", 1) for item in sys.argv[1:]):
    for rate in (0, 1, 100):
        instructions, hits = per_hit(bench, rate)
        print(f"{name} {rate / 10_000}: {instructions:.1f} instructions a hit, of {hits} hits", flush=True)
