#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The ATC'21 price book under the paper's three workloads, as modelled. Usage: run.sh MEZZ_PLAN OUT_FOLDER, in the tree's
# root. Nothing is measured: half a minute of one core, the same figures on every machine.
# --without=rdimm_16: the paper's single-socket server has 32 GB of DRAM at least.
set -euo pipefail
plan=$1 out=$2
mkdir -p "$out"
books=workloads/plan/prices
for workload in messaging blob_metadata laser; do
  "$plan" curve gen:$workload --keys=400000 --ops=1000000 --warmup=0.3 \
    --dram=16M,32M,64M,128M,256M,512M --scm=0,128M,256M,512M --out="$out/$workload.curve" >"$out/$workload.curve.txt"
  for growth in 500 1000; do
    "$plan" --curve="$out/$workload.curve" --growth=$growth --prices=$books/atc21.yaml --baseline=dram:256G \
      --target='throughput>=0.95*baseline' --without=rdimm_16 --json="$out/$workload.$growth.json" \
      >"$out/$workload.$growth.txt"
  done
done
python3 - "$out" <<'EOF'
import json, pathlib, sys
print("| workload | data, GiB | 1P 32-256 costs | 2P 256 costs | saving | its throughput, of 2P's | low-high of 1P |")
print("|---|---:|---:|---:|---:|---:|---|")
for workload in ("messaging", "blob_metadata", "laser"):
    for growth in (500, 1000):
        answer = json.loads((pathlib.Path(sys.argv[1]) / f"{workload}.{growth}.json").read_text())
        base = answer["plans"][answer["baseline"]]
        for plan in answer["plans"]:
            if plan["name"].startswith("one_socket 32 GiB + 256 GiB") and plan["flash"]["count"] == 1:
                low, value, high = (plan["throughput"][k] / base["throughput"]["value"] for k in ("low", "value", "high"))
                print(f"| {workload} | {answer['workload']['footprint_bytes'] * growth / 2**30:.0f} | {plan['cost']['total']:.2f} | {base['cost']['total']:.2f} | "
                      f"{1 - plan['cost']['total'] / base['cost']['total']:.1%} | {value:.0%} | {low:.0%}-{high:.0%} |")
                if workload == "messaging" and growth == 500:
                    steps = [f"    {p['name']}\n" + "".join(f"    {s['amount']:9.2f}  {s['text']}\n" for s in p["cost"]["steps"])
                             for p in (plan, base)]
print("\n" + "\n".join(steps))
EOF
