#!/usr/bin/env bash
# What must be right on a real GPU: the spike workload, a foreign process, a script that
# dies of out-of-memory, and a training run whose ledger closes.
# usage: bench/correctness.sh [TUNEBENCH [PYTHON]]
set -uo pipefail
tunebench=${1:-bin/tunebench} python=${2:-python3} here=$(dirname "$0")
"$tunebench" devices
for interval in 1ms 10ms 100ms; do
  echo "== spike workload at $interval"
  "$tunebench" measure --interval "$interval" -- "$python" "$here/spike.py"
done
echo "== spike workload, nvidia-smi at 100 ms"
"$tunebench" measure --source nvidia-smi -- "$python" "$here/spike.py"
echo "== two processes on one device"
"$here/two_processes.sh" "$tunebench" "$python"
echo "== out of memory"
"$tunebench" measure -o oom-measured -- "$python" "$here/oom.py"
echo "exit code $?"
grep -h '"status"\|"requested_bytes"' oom-measured/results.json
rm -rf oom-measured
