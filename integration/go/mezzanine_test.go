// SPDX-License-Identifier: Apache-2.0

package mezzanine

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/linxGnu/grocksdb"
)

const uri = "mezzanine://dram=4M;scm=64M@dram"

func key(i int) []byte { return []byte(fmt.Sprintf("key%08d", i)) }

func value(i int) []byte {
	return append(bytes.Repeat([]byte{byte('a' + i%26)}, 1000), key(i)...)
}

func ok(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func open(t *testing.T, uri string) *Cache {
	t.Helper()
	cache, err := Open(uri)
	ok(t, err)
	t.Cleanup(cache.Close)
	return cache
}

func newOptions(t *testing.T) *grocksdb.Options {
	options := grocksdb.NewDefaultOptions()
	options.SetCreateIfMissing(true)
	options.SetCreateIfMissingColumnFamilies(true)
	options.SetCompression(grocksdb.NoCompression)
	options.SetWriteBufferSize(4 << 20)
	t.Cleanup(func() { options.Destroy() })
	return options
}

func write(t *testing.T, db *grocksdb.DB, keys int) {
	t.Helper()
	options := grocksdb.NewDefaultWriteOptions()
	defer options.Destroy()
	for i := 0; i < keys; i++ {
		ok(t, db.Put(options, key(i), value(i)))
	}
	for i := 0; i < keys/8; i++ { // so that there is something to compact, and a file to delete
		ok(t, db.Put(options, key(i), value(i)))
	}
	db.CompactRange(grocksdb.Range{})
}

func readAll(t *testing.T, db *grocksdb.DB, keys int) {
	t.Helper()
	options := grocksdb.NewDefaultReadOptions()
	defer options.Destroy()
	for n := 0; n < keys; n++ {
		i := n * 7919 % keys // not in the order of the blocks
		found, err := db.Get(options, key(i))
		ok(t, err)
		if !bytes.Equal(found.Data(), value(i)) {
			t.Fatalf("%s is wrong", key(i))
		}
		found.Free()
	}
}

func report(t *testing.T, cache *Cache) string {
	t.Helper()
	text, err := cache.Report()
	ok(t, err)
	return text
}

func contains(t *testing.T, err error, part string) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), part) {
		t.Errorf("%v: expected %q", err, part)
	}
}

func TestOptionsThatWerePreparedHaveAllOfIt(t *testing.T) {
	cache := open(t, uri)
	options := newOptions(t)
	ok(t, cache.Use(options))
	db, err := grocksdb.OpenDb(options, t.TempDir())
	ok(t, err)
	defer db.Close()
	write(t, db, 16000)
	readAll(t, db, 16000)
	readAll(t, db, 16000)
	counters, err := cache.Statistics()
	ok(t, err)
	if counters["scm.hit"] < 1000 || counters["scm.file_forgotten"] == 0 || counters["scm.checksum_mismatch"] != 0 {
		t.Error(counters)
	}
	if !strings.Contains(report(t, cache), "heirs: on") {
		t.Error(report(t, cache))
	}
}

func TestColumnFamiliesShareIt(t *testing.T) {
	cache := open(t, uri)
	first, second := newOptions(t), newOptions(t)
	ok(t, cache.Use(first))
	ok(t, cache.Use(second))
	db, families, err := grocksdb.OpenDbColumnFamilies(first, t.TempDir(), []string{"default", "second"},
		[]*grocksdb.Options{first, second})
	ok(t, err)
	defer db.Close()
	write, read := grocksdb.NewDefaultWriteOptions(), grocksdb.NewDefaultReadOptions()
	for _, family := range families {
		for i := 0; i < 1000; i++ {
			ok(t, db.PutCF(write, family, key(i), value(i)))
		}
		db.CompactRangeCF(family, grocksdb.Range{})
		for i := 0; i < 1000; i++ {
			found, err := db.GetCF(read, family, key(i))
			ok(t, err)
			if !bytes.Equal(found.Data(), value(i)) {
				t.Fatalf("%s is wrong", key(i))
			}
			found.Free()
		}
		defer family.Destroy()
	}
}

func TestADatabaseKeepsTheCacheThatIsClosedBeforeIt(t *testing.T) {
	folder := t.TempDir()
	medium := filepath.Join(folder, "medium")
	uri := "mezzanine://dram=4M;scm=64M@" + medium
	cache := open(t, uri)
	options := newOptions(t)
	ok(t, cache.Use(options))
	db, err := grocksdb.OpenDb(options, filepath.Join(folder, "db"))
	ok(t, err)
	write(t, db, 8000)
	cache.Close()
	cache.Close()
	readAll(t, db, 8000)
	_, err = Open(uri)
	contains(t, err, medium) // in use
	db.Close()
}

func TestAClosedCacheIsAnError(t *testing.T) {
	var never *Cache
	closed := open(t, uri)
	closed.Close()
	for _, cache := range []*Cache{never, closed, new(Cache)} {
		_, report := cache.Report()
		_, statistics := cache.Statistics()
		_, policy := cache.Policy()
		_, dram := cache.DRAMBytes()
		_, scm := cache.SCMBytes()
		for _, err := range []error{report, statistics, policy, dram, scm, cache.SetPolicy("adaptive"),
			cache.SetDRAMBytes(1), cache.SetSCMBytes(1), cache.Use(newOptions(t))} {
			if !errors.Is(err, ErrClosed) {
				t.Error(err)
			}
		}
		cache.Close()
	}
}

func TestACacheThatIsNeverClosedIsCollected(t *testing.T) {
	medium := filepath.Join(t.TempDir(), "medium")
	uri := "mezzanine://dram=4M;scm=64M@" + medium
	if _, err := Open(uri); err != nil {
		t.Fatal(err)
	}
	for i := 0; ; i++ {
		runtime.GC()
		runtime.Gosched()
		cache, err := Open(uri)
		if err == nil {
			cache.Close()
			return
		}
		if i == 1000 {
			t.Fatal(err)
		}
	}
}

func TestClosingWhileOthersAskHarmsNobody(t *testing.T) {
	cache := open(t, uri)
	var group sync.WaitGroup
	for i := 0; i < 4; i++ {
		group.Add(1)
		go func() {
			defer group.Done()
			for {
				if _, err := cache.Report(); err != nil {
					return
				}
			}
		}()
	}
	cache.Close()
	group.Wait()
}

func TestWhatMayChangeDoes(t *testing.T) {
	cache := open(t, uri)
	ok(t, cache.SetPolicy("dram_first"))
	if policy, err := cache.Policy(); err != nil || policy != "dram_first" {
		t.Error(policy, err)
	}
	ok(t, cache.SetDRAMBytes(2<<20))
	if dram, err := cache.DRAMBytes(); err != nil || dram != 2<<20 {
		t.Error(dram, err)
	}
	ok(t, cache.SetSCMBytes(32<<20))
	if scm, err := cache.SCMBytes(); err != nil || scm > 32<<20 {
		t.Error(scm, err)
	}
	contains(t, cache.SetPolicy("wise"), "wise")
	contains(t, cache.SetPolicy("a\x00b"), "NUL")
	contains(t, cache.SetSCMBytes(1<<40), "67108864")
}

func TestWhatIsNoGoodIsASentence(t *testing.T) {
	for uri, part := range map[string]string{
		"":                  "mezzanine://",
		uri + ";speed=fast": "\"speed\"",
		"mezzanine://dram=4M;scm=64M@/no/such/folder/mezz": "/no/such/folder",
		uri + ";policy=\xff\xfe":                                    "\uFFFD",
		"mezzanine://dram=4M;scm=64M@/dev/shm/a\x00b":      "NUL",
		"mezzanine://dram=4000000T;scm=64M@dram":             "dram=4000000T",
	} {
		_, err := Open(uri)
		contains(t, err, part)
	}
	cache := open(t, uri)
	contains(t, cache.Use(nil), "nil was given")
	options := grocksdb.NewDefaultOptions()
	options.Destroy()
	contains(t, cache.Use(options), "destroyed")
}

func TestAMediumWithoutRoomIsASentence(t *testing.T) {
	var there syscall.Statfs_t
	if err := syscall.Statfs("/dev/shm", &there); err != nil {
		t.Skip(err)
	}
	medium := fmt.Sprintf("/dev/shm/mezz_go_%d", os.Getpid())
	defer os.Remove(medium)
	megabytes := there.Blocks*uint64(there.Bsize)>>20 + 1024
	_, err := Open(fmt.Sprintf("mezzanine://dram=4M;scm=%dM@%s", megabytes, medium))
	contains(t, err, "scm")
}

// Go turns SIGBUS into a panic of the one goroutine: our handler passes on what it does not know.
func TestGoKeepsItsBusErrors(t *testing.T) {
	open(t, uri+";bus_errors=contain")
	file, err := os.Create(filepath.Join(t.TempDir(), "short"))
	ok(t, err)
	defer file.Close()
	ok(t, file.Truncate(1<<20))
	memory, err := syscall.Mmap(int(file.Fd()), 0, 1<<20, syscall.PROT_READ, syscall.MAP_SHARED)
	ok(t, err)
	ok(t, file.Truncate(0))
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if recover() == nil {
			t.Error("nobody was told of memory that is gone")
		}
	}()
	t.Log(memory[0])
}

// MEZZANINE_OTHER_RELEASE: a library whose RocksDB says that it is another release.
func TestAnotherReleaseIsRefused(t *testing.T) {
	if os.Getenv("MEZZANINE_ASKED") != "" {
		_, err := Open(uri)
		fmt.Println("answer:", err)
		return
	}
	library := os.Getenv("MEZZANINE_OTHER_RELEASE")
	if library == "" {
		t.Skip("MEZZANINE_OTHER_RELEASE names no library")
	}
	command := exec.Command(os.Args[0], "-test.run=TestAnotherReleaseIsRefused")
	command.Env = append(os.Environ(), "LD_PRELOAD="+library, "MEZZANINE_ASKED=1")
	said, err := command.CombinedOutput()
	ok(t, err)
	if !strings.Contains(string(said), "RocksDB") || !strings.Contains(string(said), RocksDBRelease()) {
		t.Errorf("%s", said)
	}
}
