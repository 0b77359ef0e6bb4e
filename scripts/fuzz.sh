#!/usr/bin/env bash
# Runs every fuzz target of the project, one after the other.
# usage: scripts/fuzz.sh COUNT   (such as 200000x or 30s)
set -euo pipefail
count=${1:?usage: scripts/fuzz.sh COUNT, such as 200000x}
export CGO_ENABLED=0
status=0
while IFS=: read -r file target; do
  package=./$(dirname "$file")
  echo "== $package $target"
  go test "$package" -run '^$' -fuzz "^${target}\$" -fuzztime="$count" || status=1
done < <(grep -rn --include='*_test.go' -oE '^func Fuzz[A-Za-z0-9_]+' internal | sed -E 's/^([^:]+):[0-9]+:func (Fuzz[A-Za-z0-9_]+)/\1:\2/')
exit "$status"
