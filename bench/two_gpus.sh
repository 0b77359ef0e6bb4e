#!/usr/bin/env bash
# What only a host with two GPUs can show: sharding beside one GPU, the second device alone
# while the first is busy, one rank that runs out of memory, and the cost of sampling both.
# usage: bench/two_gpus.sh [TUNEBENCH [PYTHON [OUT]]]
set -uo pipefail
tunebench=${1:-bin/tunebench} python=${2:-python3} out=${3:-two-gpus} here=$(dirname "$0")
mkdir -p "$out"
"$tunebench" devices

echo "== the Mistral-7B shape on one GPU and, by FSDP, on two"
"$tunebench" run "$here/../scenarios/two-gpus.yaml" --python "$python" --num-gpus 1,2 --interval 10ms -o "$out/sharding"

echo "== only the second device, by index and by UUID, while the first holds 5 GiB"
CUDA_VISIBLE_DEVICES=0 "$python" -c 'import time, torch
block = torch.empty(5 << 30, dtype=torch.uint8, device="cuda").fill_(1)
torch.cuda.synchronize()
print("ready", flush=True)
time.sleep(300)' >"$out/first.log" &
first=$!
trap 'kill $first 2>/dev/null' EXIT
until grep -q ready "$out/first.log"; do sleep 0.2; done
uuid=$(nvidia-smi --query-gpu=uuid --format=csv,noheader --id=1)
for visible in 1 "$uuid"; do
  CUDA_VISIBLE_DEVICES=$visible "$tunebench" measure --interval 10ms -o "$out/second-${visible:0:8}" -- "$python" -c 'import time, torch
block = torch.empty(3 << 30, dtype=torch.uint8, device="cuda").fill_(1)
torch.cuda.synchronize()
time.sleep(2)'
done
kill $first
wait $first 2>/dev/null

echo "== one rank out of memory while the other waits"
"$tunebench" measure -o "$out/one-rank" -- "$python" -m torch.distributed.run --nproc_per_node 2 -- "$here/one_rank_oom.py"
grep -h '"status"\|"requested_bytes"' "$out/one-rank/results.json"
echo "what is left on the devices:"
"$tunebench" devices

echo "== the cost of sampling two devices"
"$python" "$here/disturbance.py" "$tunebench" --devices 2 --samplers nvml-10 --seconds 90
