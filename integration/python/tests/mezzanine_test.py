# SPDX-License-Identifier: Apache-2.0
"""python3 -m unittest, with the package installed."""
import gc
import os
import subprocess
import sys
import tempfile
import threading
import unittest
from pathlib import Path

import mezzanine
from mezzanine import Cache, Database, MezzanineError

URI = "mezzanine://dram=4M;scm=64M@dram"
OPTIONS = "compression=kNoCompression;write_buffer_size=4M"


def key(i):
    return b"key%08d" % i


def value(i):
    return bytes([97 + i % 26]) * 1000 + key(i)


def write(db, keys):
    for i in [*range(keys), *range(keys // 8)]:  # some twice: there is something to compact, and a file to delete
        db[key(i)] = value(i)
    db.compact()


class MezzanineTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="mezz_py.")
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def read_all(self, db, keys):
        for n in range(keys):
            i = n * 7919 % keys  # not in the order of the blocks
            if db[key(i)] != value(i):
                self.fail(f"{key(i)} is wrong")

    def assert_refused(self, part, function, *arguments, **named):
        with self.assertRaises(MezzanineError) as raised:
            function(*arguments, **named)
        self.assertIn(part, str(raised.exception))

    def test_a_database_has_all_of_it(self):
        with Cache(URI) as cache, Database(self.folder, cache=cache, options=OPTIONS) as db:
            write(db, 16000)
            self.read_all(db, 16000)
            self.read_all(db, 16000)
            counters = cache.statistics()
            self.assertGreater(counters["scm.hit"], 1000, cache.report())
            self.assertGreater(counters["scm.file_forgotten"], 0)
            self.assertEqual(counters["scm.checksum_mismatch"], 0)
            self.assertIn("heirs: on", cache.report())

    def test_a_database_is_a_mapping(self):
        with Cache(URI) as cache, Database(self.folder, cache=cache) as db:
            db[b"b\0c"], db[b"a"], db[b"d"] = b"2\0", b"1", b""
            self.assertEqual(list(db.items()), [(b"a", b"1"), (b"b\0c", b"2\0"), (b"d", b"")])
            self.assertEqual(list(db.items(b"b")), [(b"b\0c", b"2\0"), (b"d", b"")])
            del db[b"a"], db[b"none"]
            self.assertIsNone(db.get(b"a"))
            self.assertEqual(db[b"d"], b"")
            self.assertRaises(KeyError, lambda: db[b"a"])
            self.assert_refused("bytes", db.get, "text")
            self.assert_refused("bytes", db.__setitem__, b"k", 7)

    def test_a_database_keeps_the_cache_that_is_closed_before_it(self):
        uri = f"mezzanine://dram=4M;scm=64M@{self.folder / 'medium'}"
        cache = Cache(uri)
        db = Database(self.folder / "db", cache=cache, options=OPTIONS)
        write(db, 8000)
        cache.close()
        cache.close()
        self.read_all(db, 8000)
        self.assert_refused("medium", Cache, uri)  # in use
        db.close()
        db.close()
        with Cache(uri) as again:
            self.assertIn("recovery.", again.report())

    def test_what_is_closed_is_an_error(self):
        cache = Cache(URI)
        db = Database(self.folder, cache=cache)
        cache.close()
        db.close()
        for ask in (cache.report, cache.statistics, lambda: cache.policy, lambda: cache.dram_bytes, db.compact,
                    lambda: cache.scm_bytes, lambda: db.get(b"a"), lambda: list(db.items())):
            self.assert_refused("is closed", ask)
        self.assert_refused("is closed", setattr, cache, "policy", "adaptive")
        self.assert_refused("is closed", Database, self.folder, cache=cache)

    def test_what_is_never_closed_goes_with_its_last_name(self):
        uri = f"mezzanine://dram=4M;scm=64M@{self.folder / 'medium'}"
        cache = Cache(uri)
        db = Database(self.folder / "db", cache=cache)
        del cache, db
        gc.collect()
        Cache(uri).close()

    def test_what_is_never_closed_harms_nobody(self):
        program = ("import mezzanine, sys; cache = mezzanine.Cache(sys.argv[1]); "
                   "db = mezzanine.Database(sys.argv[2], cache=cache); db[b'a'] = b'1'; "
                   "items = db.items(); next(items)")
        ended = subprocess.run([sys.executable, "-c", program, URI, str(self.folder)], capture_output=True, text=True)
        self.assertEqual((ended.returncode, ended.stderr), (0, ""))

    def test_an_iterator_keeps_its_database(self):
        db = Database(self.folder)
        db[b"a"], db[b"b"] = b"1", b"2"
        items = db.items()
        self.assertEqual(next(items), (b"a", b"1"))
        db.close()
        self.assertEqual(next(items), (b"b", b"2"))
        self.assertEqual(list(items), [])
        Database(self.folder).close()  # it is free

    def test_closing_while_others_ask_harms_nobody(self):
        cache = Cache(URI)
        db = Database(self.folder, cache=cache)

        def ask():
            with self.assertRaises(MezzanineError):
                while True:
                    db[b"a"] = cache.report().encode()

        threads = [threading.Thread(target=ask) for _ in range(4)]
        for thread in threads:
            thread.start()
        cache.close()
        db.close()
        for thread in threads:
            thread.join()

    def test_what_may_change_does(self):
        with Cache(URI) as cache:
            cache.policy = "dram_first"
            self.assertEqual(cache.policy, "dram_first")
            cache.dram_bytes = 2 << 20
            self.assertEqual(cache.dram_bytes, 2 << 20)
            cache.scm_bytes = 32 << 20
            self.assertLessEqual(cache.scm_bytes, 32 << 20)
            self.assert_refused("wise", setattr, cache, "policy", "wise")
            self.assert_refused("67108864", setattr, cache, "scm_bytes", 1 << 40)
            self.assert_refused("-1", setattr, cache, "dram_bytes", -1)
            self.assert_refused("number", setattr, cache, "dram_bytes", "4M")

    def test_what_is_no_good_is_a_sentence(self):
        self.assert_refused("mezzanine://", Cache, "")
        self.assert_refused("no text", Cache, None)
        self.assert_refused('"speed"', Cache, URI + ";speed=fast")
        self.assert_refused("/no/such/folder", Cache, "mezzanine://dram=4M;scm=64M@/no/such/folder/mezz")
        self.assert_refused("no text", Cache, URI + ";policy=\ud800")
        self.assert_refused("NUL", Cache, "mezzanine://dram=4M;scm=64M@/dev/shm/a\0b")
        self.assert_refused("policy", Cache, (URI + ";policy=").encode() + b"\xff\xfe")
        self.assert_refused("dram=4000000T", Cache, "mezzanine://dram=4000000T;scm=64M@dram")
        self.assert_refused("no pointer", Cache(URI).use, None)
        self.assert_refused("no options", Cache(URI).use, 0)
        self.assert_refused("NUL", Database, "a\0b")
        self.assert_refused("speed", Database, self.folder, options="speed=fast")
        self.assert_refused("missing", Database, self.folder / "none", create_if_missing=False)

    def test_a_medium_without_room_is_a_sentence(self):
        if not os.path.isdir("/dev/shm"):
            self.skipTest("there is no /dev/shm")
        there = os.statvfs("/dev/shm")
        megabytes = (there.f_blocks * there.f_frsize >> 20) + 1024
        medium = Path(f"/dev/shm/mezz_py_{os.getpid()}")
        self.addCleanup(medium.unlink, missing_ok=True)
        self.assert_refused("scm", Cache, f"mezzanine://dram=4M;scm={megabytes}M@{medium}")

    def test_a_library_that_is_not_there_is_a_sentence(self):
        self.assertIn("/no/such/lib.so cannot be used", self.asked(MEZZANINE_LIBRARY="/no/such/lib.so"))

    def test_another_release_is_refused(self):
        other = os.environ.get("MEZZANINE_OTHER_RELEASE")
        if not other:
            self.skipTest("MEZZANINE_OTHER_RELEASE names no library")
        said = self.asked(LD_PRELOAD=other)
        self.assertIn("RocksDB", said)
        self.assertIn(mezzanine.rocksdb_release(), said)

    def asked(self, **environment):
        program = ("import mezzanine, sys\ntry: mezzanine.Cache(sys.argv[1])\n"
                   "except mezzanine.MezzanineError as error: print(error)")
        return subprocess.run([sys.executable, "-c", program, URI], env={**os.environ, **environment}, check=True,
                              capture_output=True, text=True).stdout


if __name__ == "__main__":
    unittest.main()
