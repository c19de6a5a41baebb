#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Cuts the power of a VM under a database whose logs lie on its persistent memory, again and again.

    tests/vm/power_cut.py --writer=PROGRAM [--cuts=N] [--seed=N] [--csv=FILE] [--device=FILE] [--canary]

PROGRAM is tests/vm/power_cut_writer. Each boot on the device checks that every write that was told to be durable
before the cut is there, and nothing that nobody wrote; then it writes on, and QEMU is killed after a random number of
writes, or while the database is being opened. Writes that are told before the cut count also if they are read after.

--canary tells writes as durable that are not: the loss must be found (status 0 if it is).
"""
import random
import re
import sys
import time

import cuts
import pmem_vm

WRITERS = 2
BOOT_SECONDS_MAX = 240


def run_once(device, writer, mode, told, keep, when):
    """One boot, and one cut: `when` is ("writing", writes) or ("opening", seconds) or None for an orderly end."""
    vm = pmem_vm.Vm([writer, "/mnt/pmem", mode, *told], device, keep=keep, timeout=BOOT_SECONDS_MAX)
    checked = None
    cut = ""
    writes = 0
    tail = []
    for line in vm.lines():
        tail = [*tail[-20:], line]
        if line.startswith("wrong: "):
            vm.cut()
            raise cuts.Wrong(line)
        if line == "opening" and when is not None and when[0] == "opening":
            time.sleep(when[1])
            vm.cut()
            cut = "opening"
        if match := re.fullmatch(r"checked (\d+)", line):
            checked = int(match[1])
        if match := re.fullmatch(r"(kept|told) (\d+) (\d+)", line):
            told[int(match[2])] = int(match[3])
            writes += match[1] == "told"
            if when is not None and writes == when[1] and when[0] == "writing":
                vm.cut()
                cut = "writing"
    if when is None and vm.status != 0 or when is not None and not cut:
        raise cuts.Wrong("\n".join([f"the guest ended with status {vm.status}:", *tail]))
    if cut:
        cut = "opening" if checked is None else "writing"  # the guest may have come further than when it was killed
    return {"cut": cut or "none", "checked": "" if checked is None else checked, "writes": writes}


def draw(chance):
    if chance.random() < 0.25:
        return ("opening", chance.random())
    return ("writing", chance.choice((chance.randint(1, 20), chance.randint(20, 400))))


def run(options, device):
    chance = random.Random(options.seed)
    print(f"seed {options.seed}", flush=True)
    told = [0] * WRITERS
    rows = []
    for boot in range(options.cuts + 1):
        last = boot == options.cuts
        when = None if last else ("writing", 40) if boot == 0 or options.canary else draw(chance)
        mode = "unsynced" if options.canary else "check" if last else "scm"
        before = sum(told)
        begun = time.monotonic()
        row = run_once(device, options.writer, mode, told, boot > 0, when)
        rows.append({"boot": boot, "told_before": before, **row, "seconds": round(time.monotonic() - begun, 1)})
        print(rows[-1], flush=True)
    cuts.write_csv(options.csv, rows)
    print(f"{options.cuts} cuts, {sum(told)} writes told: every one is there, and nothing else")


if __name__ == "__main__":
    sys.exit(cuts.main(__doc__, run, action="store_true"))
