#!/usr/bin/env bash
# A foreign process holds 5 GiB of the device while another is measured; its bytes must be
# named as foreign and not be the other's.
set -euo pipefail
tunebench=${1:-bin/tunebench} python=${2:-python3}
"$python" -c 'import time, torch
block = torch.empty(5 << 30, dtype=torch.uint8, device="cuda").fill_(1)
torch.cuda.synchronize()
print("ready", flush=True)
time.sleep(120)' > two_processes.log &
other=$!
trap 'kill $other 2>/dev/null; rm -f two_processes.log' EXIT
until grep -q ready two_processes.log; do sleep 0.2; done
echo "the foreign process is $other"
"$tunebench" measure --interval 10ms -- "$python" -c 'import time, torch
block = torch.empty(3 << 30, dtype=torch.uint8, device="cuda").fill_(1)
torch.cuda.synchronize()
time.sleep(2)'
echo "--foreign fail:"
"$tunebench" measure --foreign fail -- true && echo "it was started, which is wrong" || echo "refused with exit code $?"
