#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The module of integration/go: its tests and its example, over the grocksdb of the registry that fits this RocksDB.
source "$(dirname "$0")/common.sh"
command -v go >/dev/null || skip "go is not found: tools/install_deps bindings installs it"
version=$(go env GOVERSION)
newer go "${version#go}" 1.19

case $release in
  7.8.*) grocksdb=v1.7.12 ;;
  11.*) grocksdb=v1.11.1 ;;
  *) skip "no grocksdb is known for RocksDB $release" ;;
esac
cp -r "$root/integration/go" "$work/module"
cd "$work/module"
export PKG_CONFIG_PATH=$(dirname "$(find "$work/c" -name mezzanine_c.pc)")
libraries=$(dirname "$(find "$work/c" -name libmezzanine_c.so)")
export CGO_CFLAGS="-I$rocksdb_include" CGO_LDFLAGS="-L$(dirname "$rocksdb_library") -Wl,-rpath,$libraries"
unreached='dial tcp|Forbidden|no such host|i/o timeout|not available'
fetching "$unreached" go get "github.com/linxGnu/grocksdb@$grocksdb"
echo "grocksdb $grocksdb, RocksDB $release, $version"
go vet -tags grocksdb_clean_link ./...
go test -tags grocksdb_clean_link -count=1 -v . | grep -E '^(---|    [a-z]|ok|FAIL|PASS)'
go build -tags grocksdb_clean_link -o example ./examples/cache
./example "$work/db" >"$work/report"
grep -q '^scm.hit: [1-9]' "$work/report"
echo "the example read all as it was written"
