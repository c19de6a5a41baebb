#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Cuts the power of a VM under a database whose hybrid cache lies on its persistent memory, again and again.

    tests/vm/cache_power_cut.py --writer=PROGRAM [--cuts=N] [--seed=N] [--csv=FILE] [--device=FILE]
                                [--canary=cold|forged]

PROGRAM is tests/vm/cache_cut_writer. Each boot opens the database and the same medium (recovery=warm, and options that
are drawn), reads every value, beside the recovery and after it, then reads and writes on; QEMU is killed at a random
instant of that, of the opening, or while or after the cache is closed. A value that is wrong, a read that fails, a
write that is lost, or a boot that finds hardly a block again is a failure.

--canary=forged changes each block that the first life left and makes its checksums anew, --canary=cold has the second
life forget all: either must be found (status 0 if it is).
"""
import random
import re
import sys
import time

import cuts
import pmem_vm

BOOT_SECONDS_MAX = 240
CLOSED_AFTER_WRITES = 300
BLOCKS_MIN = 100  # of more than a thousand


def run_once(device, writer, mode, options, told, when):
    """One boot, and one cut: `when` is (the guest's word, seconds after it), or None for an orderly end."""
    writes = CLOSED_AFTER_WRITES if when is not None and when[0] == "closing" else 0
    vm = pmem_vm.Vm([writer, "/mnt/pmem", mode, options, str(told), str(writes)], device, keep=told > 0,
                    timeout=BOOT_SECONDS_MAX)
    row = {"options": options, "recovered": "", "from": "", "writes_found": "", "scm_hits": "", "misses": "",
           "damaged": ""}
    at = ""
    tail = []
    was_cut = False
    for line in vm.lines():
        tail = [*tail[-20:], line]
        if line.startswith("wrong: "):
            vm.cut()
            raise cuts.Wrong(line)
        if line in ("opening", "loading", "closing"):
            at = line
            if when is not None and at == when[0]:
                time.sleep(when[1])
                vm.cut()
                was_cut = True
        if match := re.fullmatch(r"recovered (\d+) (\w+)", line):
            row["recovered"], row["from"] = int(match[1]), match[2]
        if match := re.fullmatch(r"checked (\d+) (\d+) (\d+) (\d+)", line):
            row["writes_found"], row["scm_hits"], row["misses"], row["damaged"] = map(int, match.groups())
        if match := re.fullmatch(r"told (\d+)", line):
            told = int(match[1])
    ended = vm.status == 0
    if not was_cut and not (when is None and ended):
        raise cuts.Wrong("\n".join([f"the guest ended with status {vm.status}:", *tail]))
    # The guest may have come further than when it was killed.
    row["cut"] = "none" if when is None else f"{at}, over" if ended else at
    row["told"] = told
    return row


def draw(chance):
    if chance.random() < 0.2:
        return ("opening", chance.random() * 1.5)
    if chance.random() < 0.3:
        return ("closing", chance.random() * 0.6)
    return ("loading", chance.choice((chance.random() / 2, chance.random() * 6)))


def run(options, device):
    chance = random.Random(options.seed)
    print(f"seed {options.seed}", flush=True)
    rows = []
    told = 0
    for boot in range(options.cuts + 1):
        last = boot == options.cuts
        when = None if last else ("closing", 0) if boot == 0 else draw(chance)
        if options.canary:
            when = ("loading", 0) if boot > 0 else when
        mode = options.canary if boot > 0 and options.canary else "check" if last else "load"
        # Packed records come after the others: pack=off does not read them.
        cache_options = ("pack=off" if options.canary or 2 * boot < options.cuts else "pack=lz4") + \
            chance.choice((";erase=volatile", ";erase=durable"))
        begun = time.monotonic()
        row = run_once(device, options.writer, mode, cache_options, told, when)
        told = row["told"]
        rows.append({"boot": boot, **row, "seconds": round(time.monotonic() - begun, 1)})
        print(rows[-1], flush=True)
        if boot > 0 and row["recovered"] != "" and row["recovered"] < BLOCKS_MIN:
            raise cuts.Wrong(f"{row['recovered']} blocks were found again")
    cuts.write_csv(options.csv, rows)
    found = [row["recovered"] for row in rows[1:] if row["recovered"] != ""]
    print(f"{options.cuts} cuts, {told} writes: every value read was right, and {min(found)} to {max(found)} blocks "
          "were found again")


if __name__ == "__main__":
    sys.exit(cuts.main(__doc__, run, choices=("cold", "forged")))
