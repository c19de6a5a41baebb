#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# RocksDB's own tools/db_crashtest.py, unmodified, over the log on SCM: it draws options, runs db_stress, kills it, runs it again on what
# is there, and compares all with what it had written. Usage: run.sh DB_CRASHTEST DB_STRESS LIBRARY SECONDS OUT_FOLDER
# DB_CRASHTEST and DB_STRESS of RocksDB 11.8.1; LIBRARY: libmezzanine_rocksdb.so, built against it. SEED in the environment.
set -euo pipefail
crashtest=$1 db_stress=$2 library=$3 seconds=$4 out=$5
work=$(mktemp -d /dev/shm/mezz-crashtest.XXXXXX)
trap 'rm -rf "$work"' EXIT
mkdir -p "$out" "$work/db" "$work/expected"

# db_crashtest calls db_stress by one word, and the library is to be loaded into that alone.
cat >"$work/db_stress" <<EOF
#!/usr/bin/env bash
export LD_PRELOAD=$library
exec $db_stress "\$@"
EOF
chmod +x "$work/db_stress"

# Faults are injected in debug builds only. db_crashtest takes a line on stderr for a failure, such as the one that tells of a full log: 1 GiB holds 255 logs, and archived ones are not kept.
status=0
MEZZANINE_REPORT=$out/report TEST_TMPDIR=$work/db TEST_TMPDIR_EXPECTED=$work/expected \
  python3 "$crashtest" blackbox --simple --stress_cmd="$work/db_stress" --duration="$seconds" --interval=12 \
  "--fs_uri=mezzanine_wal://path=$work/log;size=1G" --initial_random_seed_override="${SEED:-1}" \
  --read_fault_one_in=0 --write_fault_one_in=0 --open_read_fault_one_in=0 --open_write_fault_one_in=0 --open_metadata_read_fault_one_in=0 \
  --open_metadata_write_fault_one_in=0 --metadata_read_fault_one_in=0 --metadata_write_fault_one_in=0 --sync_fault_injection=0 \
  --WAL_ttl_seconds=0 --WAL_size_limit_MB=0 --exclude_wal_from_write_fault_injection=0 --remote_compaction_worker_threads=0 \
  >"$out/log" 2>&1 || status=$?
echo "runs ended by a signal: $(grep -c "^TERMINATED" "$out/log" || true), ended with status $status; the log's file: $(stat -c %s "$work/log" 2>/dev/null || echo none) bytes"
exit "$status"
