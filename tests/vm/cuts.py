# SPDX-License-Identifier: Apache-2.0
"""What the tests have in common that cut the power of a VM: options, the table of boots, and how they end."""
import argparse
import csv
import random
import tempfile
from pathlib import Path

import pmem_vm


class Wrong(Exception):
    """What the guest found wrong."""


def write_csv(path, rows):
    """A line for each boot; nothing without a path."""
    if not path:
        return
    with open(path, "w", newline="", encoding="utf-8") as file:
        table = csv.DictWriter(file, rows[0].keys(), lineterminator="\n")
        table.writeheader()
        table.writerows(rows)


def main(description, run, **canary):
    """Calls run(options, device), and returns the status: a canary must be found. `canary`: of its argument."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--writer", required=True, type=lambda path: Path(path).resolve())
    parser.add_argument("--cuts", type=int, default=20)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(1 << 32))
    parser.add_argument("--csv")
    parser.add_argument("--device")
    parser.add_argument("--canary", **canary)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        try:
            run(options, options.device or Path(folder) / "pmem")
        except pmem_vm.Unavailable as why:
            print(f"skipped: no VM here: {why}")
            return pmem_vm.SKIPPED
        except Wrong as wrong:
            print(f"{'found, as it had to be' if options.canary else 'FAILED'}: {wrong}")
            return 0 if options.canary else 1
    return 1 if options.canary else 0
