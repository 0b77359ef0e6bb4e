import sys

import torch
from transformers import GPT2Config, GPT2LMHeadModel, Trainer, TrainingArguments

model = GPT2LMHeadModel(GPT2Config(n_embd=16, n_layer=1, n_head=2, vocab_size=64, n_positions=16))
rows = [{"input_ids": torch.arange(8), "labels": torch.arange(8)}] * 8
args = TrainingArguments(output_dir=sys.argv[1], max_steps=3, per_device_train_batch_size=1, logging_steps=1,
                         report_to=[], use_cpu=True, save_strategy="no", disable_tqdm=True)
trainer = Trainer(model=model, args=args, train_dataset=rows)
metrics = trainer.train().metrics
trainer.save_state()
trainer.save_metrics("train", metrics)
