# SPDX-License-Identifier: Apache-2.0
import ctypes
from ctypes import c_size_t

from ._library import Closing, MezzanineError, Native, Sentence, c_text, library


def _bytes(value, what):
    if not isinstance(value, (bytes, bytearray, memoryview)):
        raise MezzanineError(f"a {what} is bytes, not {type(value).__name__}")
    return bytes(value)


def _options(text, cache, create_if_missing):
    """A rocksdb_options_t*, the caller's."""
    native = library()
    base = native.rocksdb_options_create()
    options = native.rocksdb_options_create()
    try:
        native.rocksdb_options_set_create_if_missing(base, create_if_missing)
        error = Sentence()
        native.rocksdb_get_options_from_string(base, c_text(text, "the options"), options, error())
        error.check()
        if cache is not None:
            cache.use(options)
    except BaseException:
        native.rocksdb_options_destroy(options)
        raise
    finally:
        native.rocksdb_options_destroy(base)
    return options


class Database(Closing):
    """A database of RocksDB: a mapping of bytes to bytes, in the order of its keys.

    `options` are RocksDB's own, as its options files have them: "write_buffer_size=4M;compression=kLZ4Compression".
    Iterators that are open keep it until they end, after close() too.
    """

    def __init__(self, path, cache=None, options="", create_if_missing=True):
        native = library()
        path = c_text(path, "the path")
        prepared = _options(options, cache, create_if_missing)
        try:
            error = Sentence()
            pointer = native.rocksdb_open(prepared, path, error())
            error.check()
        finally:
            native.rocksdb_options_destroy(prepared)
        self._write = native.rocksdb_writeoptions_create()
        self._read = native.rocksdb_readoptions_create()
        self._native = Native(pointer, self._destroy, "database")

    def _destroy(self, pointer):
        library().rocksdb_close(pointer)
        library().rocksdb_writeoptions_destroy(self._write)
        library().rocksdb_readoptions_destroy(self._read)

    def get(self, key, default=None):
        key, size, error = _bytes(key, "key"), c_size_t(), Sentence()
        with self._native.used() as db:
            found = library().rocksdb_get(db, self._read, key, len(key), ctypes.byref(size), error())
        error.check()
        if not found:
            return default
        try:
            return ctypes.string_at(found, size.value)
        finally:
            library().rocksdb_free(found)

    def __getitem__(self, key):
        value = self.get(key)
        if value is None:
            raise KeyError(key)
        return value

    def __setitem__(self, key, value):
        key, value, error = _bytes(key, "key"), _bytes(value, "value"), Sentence()
        with self._native.used() as db:
            library().rocksdb_put(db, self._write, key, len(key), value, len(value), error())
        error.check()

    def __delitem__(self, key):
        """A key that is not there is no error."""
        key, error = _bytes(key, "key"), Sentence()
        with self._native.used() as db:
            library().rocksdb_delete(db, self._write, key, len(key), error())
        error.check()

    def items(self, start=b""):
        """(key, value) from `start` on, as they were when it began."""
        start = _bytes(start, "key")
        native = library()
        with self._native.used() as db:
            iterator = native.rocksdb_create_iterator(db, self._read)
            try:
                native.rocksdb_iter_seek(iterator, start, len(start))
                while native.rocksdb_iter_valid(iterator):
                    yield self._of(native.rocksdb_iter_key, iterator), self._of(native.rocksdb_iter_value, iterator)
                    native.rocksdb_iter_next(iterator)
                error = Sentence()
                native.rocksdb_iter_get_error(iterator, error())
                error.check()
            finally:
                native.rocksdb_iter_destroy(iterator)

    @staticmethod
    def _of(function, iterator):
        size = c_size_t()
        return ctypes.string_at(function(iterator, ctypes.byref(size)), size.value)

    def compact(self):
        with self._native.used() as db:
            library().rocksdb_compact_range(db, None, 0, None, 0)
