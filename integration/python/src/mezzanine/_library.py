# SPDX-License-Identifier: Apache-2.0
"""libmezzanine_c and the RocksDB that it is linked with, by ctypes; and what all classes share."""
import contextlib
import ctypes
import functools
import os
import threading
from ctypes import POINTER, c_char_p, c_int, c_size_t, c_ubyte, c_uint64, c_void_p
from pathlib import Path


class MezzanineError(Exception):
    """A sentence that names what is no good, and what to do."""


SENTENCE = POINTER(c_void_p)

# Of <mezzanine/c.h> and <rocksdb/c.h>: what each returns and takes. Texts are pointers, for they must be freed.
FUNCTIONS = {
    "mezzanine_cache_open": (c_void_p, [c_char_p, SENTENCE]),
    "mezzanine_cache_close": (None, [c_void_p]),
    "mezzanine_cache_use": (c_int, [c_void_p, c_void_p, SENTENCE]),
    "mezzanine_cache_report": (c_void_p, [c_void_p]),
    "mezzanine_cache_statistics": (c_void_p, [c_void_p]),
    "mezzanine_cache_dram_bytes": (c_uint64, [c_void_p]),
    "mezzanine_cache_set_dram_bytes": (c_int, [c_void_p, c_uint64, SENTENCE]),
    "mezzanine_cache_scm_bytes": (c_uint64, [c_void_p]),
    "mezzanine_cache_set_scm_bytes": (c_int, [c_void_p, c_uint64, SENTENCE]),
    "mezzanine_cache_policy": (c_void_p, [c_void_p]),
    "mezzanine_cache_set_policy": (c_int, [c_void_p, c_char_p, SENTENCE]),
    "mezzanine_rocksdb_release": (c_char_p, []),
    "mezzanine_free": (None, [c_void_p]),
    "rocksdb_options_create": (c_void_p, []),
    "rocksdb_options_destroy": (None, [c_void_p]),
    "rocksdb_options_set_create_if_missing": (None, [c_void_p, c_ubyte]),
    "rocksdb_get_options_from_string": (None, [c_void_p, c_char_p, c_void_p, SENTENCE]),
    "rocksdb_open": (c_void_p, [c_void_p, c_char_p, SENTENCE]),
    "rocksdb_close": (None, [c_void_p]),
    "rocksdb_put": (None, [c_void_p, c_void_p, c_char_p, c_size_t, c_char_p, c_size_t, SENTENCE]),
    "rocksdb_delete": (None, [c_void_p, c_void_p, c_char_p, c_size_t, SENTENCE]),
    "rocksdb_get": (c_void_p, [c_void_p, c_void_p, c_char_p, c_size_t, POINTER(c_size_t), SENTENCE]),
    "rocksdb_compact_range": (None, [c_void_p, c_char_p, c_size_t, c_char_p, c_size_t]),
    "rocksdb_writeoptions_create": (c_void_p, []),
    "rocksdb_writeoptions_destroy": (None, [c_void_p]),
    "rocksdb_readoptions_create": (c_void_p, []),
    "rocksdb_readoptions_destroy": (None, [c_void_p]),
    "rocksdb_create_iterator": (c_void_p, [c_void_p, c_void_p]),
    "rocksdb_iter_destroy": (None, [c_void_p]),
    "rocksdb_iter_seek": (None, [c_void_p, c_char_p, c_size_t]),
    "rocksdb_iter_valid": (c_ubyte, [c_void_p]),
    "rocksdb_iter_next": (None, [c_void_p]),
    "rocksdb_iter_key": (c_void_p, [c_void_p, POINTER(c_size_t)]),
    "rocksdb_iter_value": (c_void_p, [c_void_p, POINTER(c_size_t)]),
    "rocksdb_iter_get_error": (None, [c_void_p, SENTENCE]),
    "rocksdb_free": (None, [c_void_p]),
}


@functools.lru_cache(maxsize=None)
def library():
    """The one inside of the wheel; else the one that is installed. MEZZANINE_LIBRARY names another."""
    inside = Path(__file__).with_name("libmezzanine_c.so")
    path = os.environ.get("MEZZANINE_LIBRARY") or (str(inside) if inside.exists() else "libmezzanine_c.so.0")
    try:
        loaded = ctypes.CDLL(path)
        for name, (result, arguments) in FUNCTIONS.items():  # RocksDB's come with it: it is linked with them
            function = getattr(loaded, name)
            function.restype, function.argtypes = result, arguments
    except (OSError, AttributeError) as why:
        raise MezzanineError(f"{path} cannot be used: {why}; it needs the librocksdb that it was built for, libpmem2, "
                             "libnuma, liblz4, libzstd and libsodium") from None
    return loaded


def rocksdb_release():
    """The release of RocksDB that the library was built for: "7.8.3"."""
    return library().mezzanine_rocksdb_release().decode()


def c_text(text, what):
    """As C takes it: paths need not be UTF-8 (os.fsencode)."""
    try:
        encoded = os.fsencode(text)
    except (UnicodeEncodeError, TypeError) as why:
        raise MezzanineError(f"{what} is no text: {why}") from None
    if b"\0" in encoded:
        raise MezzanineError(f"{what} has a NUL in it")
    return encoded


def taken(text, free):
    """A text that the library gave, which is freed."""
    if not text:
        raise MezzanineError("no memory")
    try:
        return os.fsdecode(ctypes.string_at(text))
    finally:
        free(text)


class Sentence:
    """Where a C function leaves its error. Use once: `check` raises it."""

    def __init__(self):
        self.text = c_void_p()

    def __call__(self):
        return ctypes.byref(self.text)

    def check(self):
        if self.text.value:
            raise MezzanineError(taken(self.text.value, library().mezzanine_free))


class Native:
    """A pointer of the library's that is closed once: by the last who uses it, after close()."""

    def __init__(self, pointer, destroy, what):
        self._pointer, self._destroy, self._what = pointer, destroy, what
        self._lock = threading.Lock()
        self._users, self._closed = 0, False

    @contextlib.contextmanager
    def used(self):
        with self._lock:
            if self._closed:
                raise MezzanineError(f"the {self._what} is closed")
            self._users += 1
        try:
            yield self._pointer
        finally:
            self._leave(1)

    def close(self):
        with self._lock:
            if self._closed:
                return
            self._closed = True
        self._leave(0)

    def _leave(self, users):
        with self._lock:
            self._users -= users
            last = self._closed and self._users == 0 and self._pointer is not None
            pointer, self._pointer = self._pointer, None if last else self._pointer
        if last:
            self._destroy(pointer)


class Closing:
    """What has a Native as self._native, once it is whole: closed twice, never, or at the end of a `with`."""

    _native = None

    def close(self):
        if self._native is not None:
            self._native.close()

    def __del__(self):
        self.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()
