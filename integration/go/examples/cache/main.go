// SPDX-License-Identifier: Apache-2.0

// go run ./examples/cache FOLDER
package main

import (
	"fmt"
	"log"
	"os"

	"github.com/linxGnu/grocksdb"
	"mezzanine.org/mezzanine"
)

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

func main() {
	cache, err := mezzanine.Open("mezzanine://dram=4M;scm=64M@dram")
	check(err)
	defer cache.Close()
	options := grocksdb.NewDefaultOptions()
	options.SetCreateIfMissing(true)
	check(cache.Use(options))
	db, err := grocksdb.OpenDb(options, os.Args[1])
	check(err)
	defer db.Close()
	write, read := grocksdb.NewDefaultWriteOptions(), grocksdb.NewDefaultReadOptions()
	key := func(i int) []byte { return []byte(fmt.Sprintf("key%08d", i)) }
	for i := 0; i < 40000; i++ {
		check(db.Put(write, key(i), make([]byte, 1000)))
	}
	db.CompactRange(grocksdb.Range{})
	for i := 0; i < 80000; i++ {
		value, err := db.Get(read, key(i*7919%40000))
		check(err)
		if value.Size() != 1000 {
			log.Fatalf("%s is lost", key(i*7919%40000))
		}
		value.Free()
	}
	report, err := cache.Report()
	check(err)
	fmt.Println(report)
}
