#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The wheel of integration/python: its tests and its example, in an environment of their own.
source "$(dirname "$0")/common.sh"
command -v python3 >/dev/null || skip "python3 is not found"
python3 -m venv "$work/env" >/dev/null 2>&1 || skip "python3 has no venv: tools/install_deps bindings installs it"
cp -r "$root/integration/python" "$work/package"
cp -L "$(find "$work/c" -name libmezzanine_c.so)" "$work/package/src/mezzanine/"
fetching 'No matching distribution|Connection|ConnectTimeout|ProxyError|HTTP error' \
  "$work/env/bin/pip" wheel --disable-pip-version-check --no-deps --wheel-dir "$work" "$work/package"
"$work/env/bin/pip" install -q --disable-pip-version-check --no-index "$work"/mezzanine_rocksdb-*.whl
cd "$work/package/tests"
"$work/env/bin/python" mezzanine_test.py -v
"$work/env/bin/python" ../examples/cache.py "$work/db" >"$work/report"
grep -q '^scm.hit: [1-9]' "$work/report"
echo "$(basename "$work"/mezzanine_rocksdb-*.whl), RocksDB $release: the example read all as it was written"
