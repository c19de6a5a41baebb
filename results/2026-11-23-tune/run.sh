#!/usr/bin/env bash
# BUILD: a release build against RocksDB 11.8.1; DB_BENCH: of the same. Three and a half, three and a half, and two minutes.
set -euo pipefail
tune=(tools/tune "--build=$BUILD" "--db-bench=$DB_BENCH" --keys=32000)
"${tune[@]}" --workloads=tools/knobs/rof17_workloads.yaml --knobs=tools/knobs/rof17.yaml --out=out/tune/rof17
"${tune[@]}" --workloads=tools/knobs/hybrid_workloads.yaml --knobs=tools/knobs/hybrid.yaml --out=out/tune/hybrid
# rof17_first: both lists of knobs, when reads ran once instead of three times, and slowdowns and stops were two knobs.
"${tune[@]}" --workloads=tools/knobs/rof17_workloads.yaml --knobs=tools/knobs/rof17.yaml --knobs=tools/knobs/hybrid.yaml \
  --out=out/tune/rof17_and_hybrid
