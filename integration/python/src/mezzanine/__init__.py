# SPDX-License-Identifier: Apache-2.0
"""A block cache of two tiers for RocksDB, and as much of RocksDB as a program needs to use it.

    import mezzanine

    with mezzanine.Cache("mezzanine://dram=256M;scm=1G@/dev/shm/mezz") as cache:
        with mezzanine.Database("/var/lib/db", cache=cache) as db:
            db[b"key"] = b"value"
        print(cache.report())

What is no good is a MezzanineError with a sentence. Caches and databases may be used by many threads, and closed while
others use them: who is inside ends what it does first.
"""
from ._cache import Cache
from ._database import Database
from ._library import MezzanineError, rocksdb_release

__all__ = ["Cache", "Database", "MezzanineError", "rocksdb_release"]
__version__ = "0.1.0"
