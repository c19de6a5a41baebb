# SPDX-License-Identifier: Apache-2.0
"""libcachesim_caches.py TRACE CAPACITY...: the miss ratios of libcachesim's caches on an oracleGeneral trace, whose
objects all count as one. Prints name,capacity,ratio."""
import sys

import libcachesim

CACHES = ("FIFO", "LRU", "Clock", "ARC", "LIRS", "TwoQ", "Sieve", "S3FIFO", "WTinyLFU")


def main(path, *capacities):
    for capacity in map(int, capacities):
        for name in CACHES:
            reader = libcachesim.TraceReader(
                path, libcachesim.TraceType.ORACLE_GENERAL_TRACE,
                libcachesim.ReaderInitParam(ignore_obj_size=True))
            ratio, _ = getattr(libcachesim, name)(cache_size=capacity).process_trace(reader)
            print(f"libcachesim {name},{capacity},{ratio:.4f}")


main(*sys.argv[1:])
