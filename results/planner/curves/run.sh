#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# traces.csv and the tables again, from the public traces in $MEZZ_TRACES. Deterministic, five minutes of one core. SPEED=1 also
# writes speed.csv, another two minutes.
set -euo pipefail
cd "$(dirname "$0")/../.."
: "${MEZZ_TRACES:?the folder with arc/, cloudphysics/, scarab/, cache2k/, lirs/ and mqsim/}"
export MEZZ_PLAN=${MEZZ_PLAN:-build/release/bin/mezz_plan}
out=${OUT:-results/planner/curves}
rows=$(mktemp -d)
trap 'rm -r "$rows"' EXIT
error() { python3 tools/curve_error.py --traces="$MEZZ_TRACES" --mezz_plan="$MEZZ_PLAN" "$@" > /dev/null; }
error --json="$rows/1.json" -- --blocks=8192
error --json="$rows/2.json" -- --rate=0.01 --blocks=100000000
python3 results/planner/curves/table.py "$out/traces.csv" "$rows"/*.json
[[ -z ${SPEED:-} ]] || python3 results/planner/curves/speed.py > "$out/speed.csv"
