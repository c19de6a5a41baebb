# SPDX-License-Identifier: Apache-2.0
"""What made these rows: case B of tools/ispass20.py at 90 % reads alone, with both caches, until it was stopped.

    PYTHONPATH=tools python3 run.py BUILD DB_BENCH ROWS.csv

The library was that of branch wt-ispass-level0, where dynamic_level0 asks the block cache first unless
level0_if_missed=false says what it does elsewhere; so it said.
"""
import csv
import signal
import sys

import db_bench
import ispass20

signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
bench = db_bench.Bench(sys.argv[1], sys.argv[2])
lab = ispass20.Laboratory(bench, ispass20.Scale(32, 5))
whos = {"stock": None, "listener": ispass20.COMPANIONS["listener"],
        "dynamic": f"{ispass20.DYNAMIC};level0_if_missed=false"}
try:
    with open(sys.argv[3], "w", encoding="ascii", newline="") as file:
        writer = csv.DictWriter(file, ispass20.FIELDS)
        writer.writeheader()
        for number in range(9):
            for cache in (ispass20.SMALL, ispass20.USUAL):
                for who in ispass20.in_turn(list(whos), number):
                    figures = ispass20.mixed(lab, ispass20.X, 90, seconds=5, cache_part=cache, companions=whos[who])
                    for figure, value in figures.items():
                        writer.writerow(dict(zip(ispass20.FIELDS, (
                            "mix", ispass20.X, cache, 90, who, number, figure, round(value, 4)))))
                    file.flush()
finally:
    bench.remove()
