// SPDX-License-Identifier: Apache-2.0

// Package mezzanine is a block cache of two tiers for RocksDB, for programs that use grocksdb.
//
//	cache, err := mezzanine.Open("mezzanine://dram=256M;scm=1G@/dev/shm/mezz")
//	...
//	err = cache.Use(options) // a *grocksdb.Options: then open the database as ever
//
// It links libmezzanine_c and librocksdb, which pkg-config finds as mezzanine_c. What is no good is an error with a
// sentence; nothing panics, and nothing ends the process.
package mezzanine

// #cgo pkg-config: mezzanine_c
// #include <stdlib.h>
// #include <mezzanine/c.h>
import "C"

import (
	"errors"
	"fmt"
	"reflect"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"unsafe"

	"github.com/linxGnu/grocksdb"
)

// ErrClosed is what a cache answers that was closed, or never opened.
var ErrClosed = errors.New("mezzanine: the cache is closed")

// Cache is an open cache. All methods may be called at the same time, Close among them.
type Cache struct {
	mutex  sync.RWMutex
	native *C.mezzanine_cache_t // nil: closed; guarded by mutex
}

// Open opens the cache that the URI tells of. Its keys are in docs/reference/options.md. The error names the key and
// what to do.
func Open(uri string) (*Cache, error) {
	text, err := cString(uri, "the URI")
	if err != nil {
		return nil, err
	}
	defer C.free(unsafe.Pointer(text))
	var sentence *C.char
	native := C.mezzanine_cache_open(text, &sentence)
	if native == nil {
		return nil, taken(sentence)
	}
	cache := &Cache{native: native}
	runtime.SetFinalizer(cache, (*Cache).Close)
	return cache, nil
}

// Close lets go of the cache. Databases that have it keep it until they are closed, so it may come before or after
// theirs; its medium is closed with the last of them. A second Close does nothing.
func (c *Cache) Close() {
	if c == nil {
		return
	}
	c.mutex.Lock()
	defer c.mutex.Unlock()
	C.mezzanine_cache_close(c.native)
	c.native = nil
	runtime.SetFinalizer(c, nil)
}

// Use prepares options for the cache: the block cache, what warms it, and a listener for deleted files. It replaces
// their table factory, so call it after setting one. A database with column families: call it for the options of each,
// and for those that the database is opened with.
func (c *Cache) Use(options *grocksdb.Options) error {
	return c.with(func(native *C.mezzanine_cache_t) error {
		handle, err := nativeOptions(options)
		if err != nil {
			return err
		}
		var sentence *C.char
		status := C.mezzanine_cache_use(native, (*C.rocksdb_options_t)(handle), &sentence)
		runtime.KeepAlive(options)
		return answer(status, sentence)
	})
}

// Report is text to be read by people: options, medium, sizes, what was decided.
func (c *Cache) Report() (string, error) {
	return c.text(func(native *C.mezzanine_cache_t) *C.char { return C.mezzanine_cache_report(native) })
}

// Statistics has all counters: what ever happened.
func (c *Cache) Statistics() (map[string]uint64, error) {
	lines, err := c.text(func(native *C.mezzanine_cache_t) *C.char { return C.mezzanine_cache_statistics(native) })
	counters := map[string]uint64{}
	for _, line := range strings.Split(lines, "\n") {
		name, value, found := strings.Cut(line, ": ")
		if count, wrong := strconv.ParseUint(value, 10, 64); found && wrong == nil {
			counters[name] = count
		}
	}
	return counters, err
}

// Policy is the name of what decides.
func (c *Cache) Policy() (string, error) {
	return c.text(func(native *C.mezzanine_cache_t) *C.char { return C.mezzanine_cache_policy(native) })
}

// SetPolicy changes what decides, while the cache is used.
func (c *Cache) SetPolicy(name string) error {
	text, err := cString(name, "the policy's name")
	if err != nil {
		return err
	}
	defer C.free(unsafe.Pointer(text))
	return c.with(func(native *C.mezzanine_cache_t) error {
		var sentence *C.char
		return answer(C.mezzanine_cache_set_policy(native, text, &sentence), sentence)
	})
}

// DRAMBytes is the size of the DRAM tier.
func (c *Cache) DRAMBytes() (bytes uint64, err error) {
	err = c.with(func(native *C.mezzanine_cache_t) error {
		bytes = uint64(C.mezzanine_cache_dram_bytes(native))
		return nil
	})
	return bytes, err
}

// SetDRAMBytes changes it, while the cache is used.
func (c *Cache) SetDRAMBytes(bytes uint64) error {
	return c.with(func(native *C.mezzanine_cache_t) error {
		var sentence *C.char
		return answer(C.mezzanine_cache_set_dram_bytes(native, C.uint64_t(bytes), &sentence), sentence)
	})
}

// SCMBytes is the size of the SCM tier.
func (c *Cache) SCMBytes() (bytes uint64, err error) {
	err = c.with(func(native *C.mezzanine_cache_t) error {
		bytes = uint64(C.mezzanine_cache_scm_bytes(native))
		return nil
	})
	return bytes, err
}

// SetSCMBytes changes it, while the cache is used: to at most what it was opened with.
func (c *Cache) SetSCMBytes(bytes uint64) error {
	return c.with(func(native *C.mezzanine_cache_t) error {
		var sentence *C.char
		return answer(C.mezzanine_cache_set_scm_bytes(native, C.uint64_t(bytes), &sentence), sentence)
	})
}

// RocksDBRelease is the release of RocksDB that libmezzanine_c was built for.
func RocksDBRelease() string { return C.GoString(C.mezzanine_rocksdb_release()) }

func (c *Cache) with(work func(native *C.mezzanine_cache_t) error) error {
	if c == nil {
		return ErrClosed
	}
	c.mutex.RLock()
	defer c.mutex.RUnlock()
	if c.native == nil {
		return ErrClosed
	}
	return work(c.native)
}

func (c *Cache) text(get func(native *C.mezzanine_cache_t) *C.char) (text string, err error) {
	err = c.with(func(native *C.mezzanine_cache_t) error {
		given := get(native)
		if given == nil {
			return errors.New("mezzanine: no memory for the text")
		}
		text = C.GoString(given)
		C.mezzanine_free(given)
		return nil
	})
	return text, err
}

// grocksdb keeps the handle of RocksDB's C functions in a field that it does not export. It is read by its name, and
// only if it is of the type that RocksDB's functions take.
func nativeOptions(options *grocksdb.Options) (unsafe.Pointer, error) {
	if options == nil {
		return nil, errors.New("mezzanine: there are no options: nil was given")
	}
	field := reflect.ValueOf(options).Elem().FieldByName("c")
	if !field.IsValid() || field.Kind() != reflect.Ptr || !strings.HasSuffix(field.Type().Elem().Name(), "rocksdb_options_t") {
		return nil, errors.New("mezzanine: this grocksdb keeps its options in a way that is not known here; use v1.7.12 to v1.11.1")
	}
	handle := field.UnsafePointer()
	if handle == nil {
		return nil, errors.New("mezzanine: the options are destroyed")
	}
	return handle, nil
}

func cString(text, what string) (*C.char, error) {
	if strings.IndexByte(text, 0) >= 0 {
		return nil, fmt.Errorf("mezzanine: %s has a NUL in it", what)
	}
	return C.CString(text), nil
}

func answer(status C.int, sentence *C.char) error {
	if status == 0 {
		return nil
	}
	return taken(sentence)
}

// The sentence, whose memory is the caller's, as an error.
func taken(sentence *C.char) error {
	if sentence == nil {
		return errors.New("mezzanine: no memory")
	}
	defer C.mezzanine_free(sentence)
	return errors.New("mezzanine: " + strings.ToValidUTF8(C.GoString(sentence), "\uFFFD"))
}
