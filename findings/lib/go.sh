# SPDX-License-Identifier: Apache-2.0
# Sourced by the findings on Go modules: a temporary folder $work that goes at the end, and what runs $work/try.go over
# releases of a module. The program says MODULE for the module's path; probe.go, which lies beside this, is a part of
# it.
#
#   run_go MODULE VERSION [NAME=VALUE...]   the latter is set for `go build`
#
# A program that ends with another status than 0 no longer sees what the script's first lines tell.
set -euo pipefail

if [[ ! -v work ]]; then
  work=$(mktemp -d)
  trap 'rm -rf "$work"' EXIT
fi
probe=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
export GOPATH=$work/gopath GOFLAGS='-modcacherw -mod=mod -trimpath' GOTOOLCHAIN=local GOWORK=off

run_go() { # MODULE VERSION [NAME=VALUE...]
  local to=$work/$1@$2
  mkdir -p "$to"
  sed "s|MODULE|$1|g" "$work/try.go" >"$to/main.go"
  cp "$probe/probe.go" "$to"
  printf '%s\n' 'module try' 'go 1.24' "require $1 $2" >"$to/go.mod"
  (cd "$to" && env "${@:3}" go build -o try . >log 2>&1) || { cat "$to/log" >&2; exit 2; }
  echo "$1 $2"
  "$to/try" || { echo "changed: $1 $2 no longer behaves as described above"; exit 1; }
}
