#!/usr/bin/env bash
# What docs/how-to/containers.md says of limits: a tier that its tmpfs, or the control group around the process, has no
# room for is refused with what is there, and the program goes on. As a container has them, made here: needs root.
source "$(dirname "$0")/common.sh"
library=libmezzanine_preload.so
((EUID == 0)) || skip "only root makes a tmpfs and a control group"

# refused NAME TEXT: the last run went on without the tier, and told TEXT.
refused() {
  grep -q "^mezzanine: .*$2.*goes on with its own cache" "$work/out" || fail "$1: not told '$2'"
  grep -q '^readrandom' "$work/out" || fail "$1: the program did not go on"
  echo "ok: $1: $(grep -o "needs .*lower scm" "$work/out" | head -n 1)"
}

small=$work/shm
mkdir "$small"
if mount -t tmpfs -o size=16M none "$small" 2>/dev/null; then
  trap 'umount "$small"; rm -rf "$work" "$scm"' EXIT
  export MEZZANINE_CACHE="mezzanine://scm=64M@$small/mezz"
  bench $library --cache_type=lru_cache || fail "in a small tmpfs db_bench ended with $?"
  refused "a tmpfs of 16 MiB" 'needs 67108864 bytes (64 MiB) and its whole file system has 16777216 bytes'
  tried=1
fi

group=/sys/fs/cgroup/mezz_test.$$ limit=memory.max
[[ -d /sys/fs/cgroup/memory ]] && group=/sys/fs/cgroup/memory/mezz_test.$$ limit=memory.limit_in_bytes
if mkdir "$group" 2>/dev/null && [[ -w $group/$limit ]]; then
  trap 'umount "$small" 2>/dev/null; rmdir "$group"; rm -rf "$work" "$scm"' EXIT
  echo $((200 << 20)) >"$group/$limit"
  for medium in "$scm/mezz" dram numa:0; do
    for prepare in open background; do
      export MEZZANINE_CACHE="mezzanine://scm=512M@$medium;prepare=$prepare"
      (echo "$BASHPID" >"$group/cgroup.procs" && bench $library --cache_type=lru_cache) ||
        fail "in a group db_bench failed"
      if grep -qE 'mbind is not permitted|no NUMA support' "$work/out"; then continue; fi
      refused "a control group of 200 MiB: $medium, prepare=$prepare" \
        "needs .*51[23].* MiB.* of memory,\\? and the control group /mezz_test"
    done
  done
  tried=1
elif [[ -d $group ]]; then
  rmdir "$group"
fi
[[ ${tried:-} ]] || skip "neither a tmpfs nor a control group can be made here"
