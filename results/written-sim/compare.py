#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""One line of rows.csv: what the live cache found of its data blocks in the measured window, and what mezz_sim finds in
the recording, with the parents of blocks and without.

    compare.py MEZZ_SIM RECORDING OUT NAME     of OUT/NAME.json and OUT/NAME.txt, which mezz_replay wrote
"""
import json
import pathlib
import re
import subprocess
import sys

MIB = 1 << 20
SCM_MIB = 128

sim, recording, out, name = sys.argv[1:]
out = pathlib.Path(out)
row = json.loads((out / f"{name}.json").read_text())["rows"][0]
text = (out / f"{name}.txt").read_text()
dram = float(re.search(r"of its DRAM ([\d.]+) MiB are the DRAM tier", text).group(1))
pack_ratio = re.search(r"([\d.]+) times smaller", text).group(1)
window = row["windows"][-1]["roles"]["data"]
reads = int(subprocess.check_output(["grep", "-c", "^read,[^,]*,data,", recording]))
total = int((dram + SCM_MIB) * MIB)


def simulated(heirs):
    path = out / f"{name}.heirs_{heirs}.json"
    subprocess.run([sim, f"--trace={recording}", "--policies=adaptive", f"--total={total}",
                    f"--dram_share={dram * MIB / total}", "--sizes=bytes", "--pack=lz4", f"--pack_ratio={pack_ratio}",
                    f"--warmup={1 - window['lookups'] / reads}", f"--heirs={heirs}", f"--json={path}"],
                   check=True, stdout=subprocess.DEVNULL)
    return 1 - json.loads(path.read_text())["rows"][0]["miss"]


ours, new = simulated("true"), simulated("false")
load, seed = name.rsplit("-", 1)
per_op = row["flash_reads_per_op"]
print(f"{load},{seed},{window['hit']:.4f},{ours:.4f},{new:.4f},{per_op:.4f},"
      f"{per_op * (1 - ours) / (1 - window['hit']):.4f},{per_op * (1 - new) / (1 - window['hit']):.4f}")
