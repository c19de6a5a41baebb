#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs mezz_sim for each cache of a live result, with the DRAM that it had for blocks and the ratio its blocks packed to.

    simulate.py MEZZ_SIM NAME PACK FLAGS...    NAME.live.json -> NAME.sim.json
"""
import json
import pathlib
import subprocess
import sys
import tempfile


def counters(row):
    return dict(line.split(": ", 1) for line in row["counters"].splitlines() if ": " in line)


def number(row, name):
    return int(counters(row).get(name, "0").split()[0])


def main():
    sim, name, pack, flags = sys.argv[1], sys.argv[2], sys.argv[3], sys.argv[4:]
    live = json.loads(pathlib.Path(f"{name}.live.json").read_text())
    rows = []
    for row in live["rows"]:
        dram, scm = row["dram_tier_bytes"], live["options"]["scm_bytes"]
        run = [sim, *flags, f"--policies={row['cache'].removeprefix('hybrid:')}", f"--total={dram + scm}",
               f"--dram_share={dram / (dram + scm):.12f}", f"--pack={pack}"]
        if pack != "off":
            stored = number(row, "scm.packed_put_stored")  # 0: nothing was packed, and any ratio will do
            run.append(f"--pack_ratio={number(row, 'scm.packed_put_bytes') / stored if stored else 2:.6f}")
        with tempfile.NamedTemporaryFile(suffix=".json") as out:
            subprocess.run([*run, f"--json={out.name}"], check=True, stdout=subprocess.DEVNULL)
            rows += json.loads(pathlib.Path(out.name).read_text())["rows"]
    pathlib.Path(f"{name}.sim.json").write_text(json.dumps({"rows": rows}))


if __name__ == "__main__":
    main()
