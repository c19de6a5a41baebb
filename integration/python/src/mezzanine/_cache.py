# SPDX-License-Identifier: Apache-2.0
from ._library import Closing, MezzanineError, Native, Sentence, c_text, library, taken


def _size(size, what):
    if not isinstance(size, int) or not 0 <= size < 2**64:
        raise MezzanineError(f"{what}={size!r} is no number of bytes")
    return size


class Cache(Closing):
    """An open cache, of a URI such as "mezzanine://dram=256M;scm=1G@/dev/shm/mezz". The keys are in
    docs/reference/options.md of Mezzanine's repository.

    Databases that have it keep it until they are closed, so it may be closed before or after them, twice or never. Its
    medium is closed with the last of them.
    """

    def __init__(self, uri):
        native = library()
        error = Sentence()
        pointer = native.mezzanine_cache_open(c_text(uri, "the URI"), error())
        error.check()
        self._native = Native(pointer, native.mezzanine_cache_close, "cache")

    def use(self, options):
        """Prepares a rocksdb_options_t* of RocksDB's C functions, given as a number: for other bindings of theirs."""
        if not isinstance(options, int):
            raise MezzanineError(f"{options!r} is no pointer as a number")
        self._ask(library().mezzanine_cache_use, options)

    def report(self):
        """Text to be read by people: options, medium, sizes, what was decided."""
        return self._text(library().mezzanine_cache_report)

    def statistics(self):
        """All counters by their names: what ever happened."""
        lines = self._text(library().mezzanine_cache_statistics).splitlines()
        return {name: int(count) for name, count in (line.split(": ") for line in lines)}

    @property
    def dram_bytes(self):
        """The size of the DRAM tier. It may change while the cache is used."""
        return self._number(library().mezzanine_cache_dram_bytes)

    @dram_bytes.setter
    def dram_bytes(self, size):
        self._ask(library().mezzanine_cache_set_dram_bytes, _size(size, "dram_bytes"))

    @property
    def scm_bytes(self):
        """The size of the SCM tier. It may change while the cache is used, to at most what it was opened with."""
        return self._number(library().mezzanine_cache_scm_bytes)

    @scm_bytes.setter
    def scm_bytes(self, size):
        self._ask(library().mezzanine_cache_set_scm_bytes, _size(size, "scm_bytes"))

    @property
    def policy(self):
        """The name of what decides. It may change while the cache is used."""
        return self._text(library().mezzanine_cache_policy)

    @policy.setter
    def policy(self, name):
        self._ask(library().mezzanine_cache_set_policy, c_text(name, "the policy's name"))

    def _ask(self, function, argument):
        error = Sentence()
        with self._native.used() as cache:
            function(cache, argument, error())
        error.check()

    def _number(self, function):
        with self._native.used() as cache:
            return function(cache)

    def _text(self, function):
        with self._native.used() as cache:
            return taken(function(cache), library().mezzanine_free)
