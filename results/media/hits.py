"""bench_tiers_bench of two builds by turns, and two of its benchmarks of one build: hits.py BEFORE AFTER > hits.json"""
import json
import subprocess
import sys

NAMES = ("BM_HitInDram", "BM_HitInDramOfADatabase", "BM_HitInScm", "BM_InsertAndDemote", "BM_HitInScmOfFiles/1",
         "BM_HitInScmOfFiles/2")


def nanoseconds(bench, name):
    out = subprocess.run([bench, f"--benchmark_filter=^({name})$", "--benchmark_format=json",
                          "--benchmark_min_time=0.4"], check=True, capture_output=True, text=True).stdout
    return json.loads(out)["benchmarks"][0]["cpu_time"]


rounds = []
for number in range(14):
    turn = [("before", sys.argv[1]), ("after", sys.argv[2])][:: -1 if number % 2 else 1]
    rounds.append({f"{which} {name}": nanoseconds(bench, name) for name in NAMES for which, bench in turn})
json.dump(rounds, sys.stdout, indent=0)
