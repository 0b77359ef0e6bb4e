"""What ways of measuring memory cost a whole run: runs with each in turn, round by round.

usage: whole_runs.py TUNEBENCH PYTHON OUT [--rounds N] [--batches 4,8]

Each round trains 8 layers of the Mistral-7B shape with LoRA once with no memory measurement, once
with the probe and once with the Trainer's own tracker, in an order that turns. The
differences in tokens/s to the run without, of the same round, are printed with their
95 % intervals. The first round warms up and does not count.
"""
import argparse
import json
import os
import subprocess
import sys

from interval import mean_and_half_width

ARMS = ["none", "probe", "huggingface"]

SCENARIO = """scenarios:
  - name: whole-run
    trainer: hf
    arguments:
      model_name_or_path: "synthetic:mistral-7b?layers=8"
      torch_dtype: bfloat16
      bf16: True
      peft_method: lora
      r: 16
      lora_alpha: 16
      target_modules: [q_proj, k_proj, v_proj, o_proj]
      learning_rate: 2e-4
      gradient_checkpointing: True
      include_tokens_per_second: True
      logging_steps: 10
      max_seq_len: 1024
      max_steps: 30
      gradient_accumulation_steps: 1
"""


def run(args, batch, number, arm):
    out = os.path.join(args.out, f"batch{batch}-round{number}-{arm}")
    subprocess.run(
        [args.tunebench, "run", os.path.join(args.out, "scenario.yaml"), "--python", args.python, "--memory", arm,
         "--batch-sizes", str(batch), "-o", out], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    with open(os.path.join(out, "exp_0", "results.json")) as f:
        return json.load(f)["train_tokens_per_second"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tunebench")
    parser.add_argument("python")
    parser.add_argument("out")
    parser.add_argument("--rounds", type=int, default=6)
    parser.add_argument("--batches", default="4,8")
    args = parser.parse_args()
    os.makedirs(args.out)
    with open(os.path.join(args.out, "scenario.yaml"), "w") as f:
        f.write(SCENARIO)
    for batch in args.batches.split(","):
        speeds = []
        for number in range(args.rounds + 1):
            order = ARMS[number % 3:] + ARMS[:number % 3]
            speeds.append({arm: run(args, batch, number, arm) for arm in order})
            print(f"batch {batch} round {number}: " + ", ".join(f"{arm} {speeds[-1][arm]:.1f}" for arm in ARMS), flush=True)
        for arm in ARMS[1:]:
            mean, half = mean_and_half_width([100 * (s[arm] / s["none"] - 1) for s in speeds[1:]])
            print(f"batch {batch}: {arm} {mean:+.2f} % tokens/s, 95 % interval ±{half:.2f}, {args.rounds} rounds", flush=True)


if __name__ == "__main__":
    sys.exit(main())
