# SPDX-License-Identifier: Apache-2.0
"""python3 cache.py FOLDER"""
import sys

import mezzanine

with mezzanine.Cache("mezzanine://dram=4M;scm=64M@dram") as cache:
    with mezzanine.Database(sys.argv[1], cache=cache) as db:
        for i in range(40000):
            db[b"key%08d" % i] = bytes(1000)
        db.compact()
        for i in range(80000):
            assert db[b"key%08d" % (i * 7919 % 40000)] == bytes(1000)
        print(cache.report())
