"""Fine-tunes a causal language model with the transformers Trainer, as one measured run.

It takes every argument of transformers.TrainingArguments and those of Arguments below,
as `--name value`, and runs alone, under `accelerate launch` and under `torchrun`. It
needs torch, transformers and accelerate; peft only for `--peft_method lora`.

Standard output is what the Trainer prints. Remarks on what was asked and cannot be
done go to standard error, each behind "hf_trainer: ". Exact figures are written by the
first process to output_dir/all_results.json. A usage error exits with 2; any other
error, lack of memory too, leaves as a traceback with 1.
"""

import atexit
import json
import math
import os
import sys
import time
from dataclasses import dataclass, field, fields
from pathlib import Path

import torch
import transformers
from accelerate import init_empty_weights
from transformers import (
    AutoModelForCausalLM,
    AutoTokenizer,
    HfArgumentParser,
    LlamaConfig,
    MistralConfig,
    MixtralConfig,
    Trainer,
    TrainingArguments,
)
from transformers.trainer_utils import IntervalStrategy, SaveStrategy
from transformers.utils import is_flash_attn_2_available

SYNTHETIC = "synthetic:"
DEFAULT_LENGTH = 1024
IGNORED_LABEL = -100  # torch's cross entropy passes such targets by
CHUNK = 1 << 24  # numbers drawn at a time for a tensor on another device


def rope(theta):
    return {"rope_type": "default", "rope_theta": theta}


# The shapes are those of the published configurations; nothing but the weights is made up.
SHAPES = {
    "tiny": (LlamaConfig, dict(
        hidden_size=64, intermediate_size=128, num_hidden_layers=2, num_attention_heads=4,
        num_key_value_heads=2, vocab_size=512, max_position_embeddings=4096, rms_norm_eps=1e-5,
        rope_parameters=rope(1e4))),
    "mistral-7b": (MistralConfig, dict(
        hidden_size=4096, intermediate_size=14336, num_hidden_layers=32, num_attention_heads=32,
        num_key_value_heads=8, vocab_size=32000, max_position_embeddings=32768, rms_norm_eps=1e-5,
        sliding_window=4096, rope_parameters=rope(1e4))),
    "llama-2-70b": (LlamaConfig, dict(
        hidden_size=8192, intermediate_size=28672, num_hidden_layers=80, num_attention_heads=64,
        num_key_value_heads=8, vocab_size=32000, max_position_embeddings=4096, rms_norm_eps=1e-5,
        rope_parameters=rope(1e4))),
    "llama-3-8b": (LlamaConfig, dict(
        hidden_size=4096, intermediate_size=14336, num_hidden_layers=32, num_attention_heads=32,
        num_key_value_heads=8, vocab_size=128256, max_position_embeddings=8192, rms_norm_eps=1e-5,
        rope_parameters=rope(5e5))),
    "mixtral-8x7b": (MixtralConfig, dict(
        hidden_size=4096, intermediate_size=14336, num_hidden_layers=32, num_attention_heads=32,
        num_key_value_heads=8, vocab_size=32000, max_position_embeddings=32768, rms_norm_eps=1e-5,
        num_local_experts=8, num_experts_per_tok=2, router_aux_loss_coef=0.02,
        sliding_window=None, rope_parameters=rope(1e6))),
}


class UsageError(Exception):
    """What was asked makes no sense; the text names the argument."""


class DataError(Exception):
    """The training data cannot be used; the text names file and line."""


def is_first():
    return int(os.environ.get("RANK", "0")) == 0


def say(text):
    if is_first():
        print(f"hf_trainer: {text}", file=sys.stderr, flush=True)


# ---- arguments ----


def argument(default=None, help=None, aliases=None, choices=None):
    metadata = {"help": help, "aliases": aliases or []}
    if choices:
        metadata["choices"] = choices
    return field(default=default, metadata=metadata)


@dataclass
class Arguments(TrainingArguments):
    """TrainingArguments under their old names too, and what this script adds to them."""

    # No checkpoint unless it is asked for: writing one would be measured as training.
    save_strategy: SaveStrategy | str = argument("no", "when to save a checkpoint")

    # Names of older releases, still found in scenario files.
    evaluation_strategy: str | None = argument(None, "old name of eval_strategy", choices=["no", "steps", "epoch"])
    include_tokens_per_second: bool = argument(False, "report train_tokens_per_second, of one process")
    no_cuda: bool = argument(False, "old name of use_cpu")
    warmup_ratio: float | None = argument(None, "warm-up as a part of all steps")
    group_by_length: bool = argument(False, "old name of train_sampling_strategy group_by_length")
    overwrite_output_dir: bool = argument(False, "accepted, without effect")
    save_safetensors: bool = argument(True, "accepted, without effect")
    logging_dir: str | None = argument(None, "accepted, without effect")

    def __post_init__(self):
        self.translate()
        # Without an accelerator the choice of the processor must be explicit, or
        # several processes would look for NCCL.
        if self.no_cuda or not torch.accelerator.is_available():
            self.use_cpu = True
        if self.use_cpu:
            self.dataloader_pin_memory = False
        if self.gradient_checkpointing and self.gradient_checkpointing_kwargs is None:
            self.gradient_checkpointing_kwargs = {"use_reentrant": False}
        super().__post_init__()

    def translate(self):
        if self.evaluation_strategy is not None:
            self.eval_strategy = self.evaluation_strategy
        if self.include_tokens_per_second and self.include_num_input_tokens_seen in ("no", False):
            self.include_num_input_tokens_seen = "all"
        if self.group_by_length:
            self.train_sampling_strategy = "group_by_length"
        if self.warmup_ratio is not None and not self.warmup_steps:
            self.warmup_steps = self.warmup_ratio  # below one it is taken as a part


@dataclass
class ModelArguments:
    model_name_or_path: str = field(metadata={
        "help": "a name or folder for from_pretrained, or synthetic:NAME[?layers=N] with NAME one of "
        + ", ".join(SHAPES)})
    tokenizer_name_or_path: str | None = argument(None, "where the tokenizer is, if not with the model")
    torch_dtype: str = argument("bfloat16", "type of the weights", aliases=["--dtype"],
                                choices=["bfloat16", "float16", "float32", "auto"])
    use_flash_attn: bool = argument(False, "flash attention 2, where flash_attn is installed")
    peft_method: str = argument("none", "full fine-tuning or LoRA", choices=["none", "None", "lora"])
    r: int = argument(8, "rank of the LoRA matrices")
    lora_alpha: int = argument(32, "scale of the LoRA matrices")
    lora_dropout: float = argument(0.05, "dropout in front of the LoRA matrices")
    target_modules: list[str] | None = argument(None, "modules that get LoRA matrices, or all-linear")


@dataclass
class DataArguments:
    training_data_path: str | None = argument(None, "JSON lines with texts or input_ids; random tokens without it")
    dataset_text_field: str = argument("output", "the field of the text")
    response_template: str | None = argument(None, "only what follows it is trained on; not with packing")
    packing: bool = argument(False, "join the texts to full blocks of max_seq_len tokens")
    max_seq_len: int | None = argument(None, "longest sequence, in tokens", aliases=["--max_seq_length"])
    synthetic_samples: int = argument(512, "random samples in an epoch where max_steps is not given")


def parse(argv):
    parser = HfArgumentParser((Arguments, ModelArguments, DataArguments), prog="hf_trainer.py",
                              usage="hf_trainer.py --model_name_or_path NAME [--name value ...] (--help lists all)",
                              allow_abbrev=False)
    given = vars(parser.parse_args(argv))  # exits with 2 on anything unknown
    model, data = pick(ModelArguments, given), pick(DataArguments, given)
    try:
        check(model, data)
    except UsageError as err:
        parser.error(str(err))
    return pick(Arguments, given), model, data


def pick(kind, given):
    return kind(**{f.name: given[f.name] for f in fields(kind) if f.init})


def check(model, data):
    if model.model_name_or_path.startswith(SYNTHETIC):
        synthetic_config(model.model_name_or_path)
    if model.target_modules == ["all-linear"]:
        model.target_modules = "all-linear"
    if data.max_seq_len is not None and data.max_seq_len < 2:
        raise UsageError("argument --max_seq_len: at least 2 tokens are needed")
    if data.synthetic_samples < 1:
        raise UsageError("argument --synthetic_samples: at least 1 is needed")
    if data.training_data_path and not Path(data.training_data_path).is_file():
        raise UsageError(f"argument --training_data_path: no such file: {data.training_data_path}")


def tell_what_is_not_honoured(args, data):
    ignored = [n for n in ("overwrite_output_dir", "logging_dir") if getattr(args, n)]
    ignored += [] if args.save_safetensors else ["save_safetensors"]
    for name in ignored:
        say(f"{name} has no effect in transformers {transformers.__version__}")
    if os.environ.get("ACCELERATION_FRAMEWORK_CONFIG_FILE"):
        say("ACCELERATION_FRAMEWORK_CONFIG_FILE is set, but no framework plugin is applied here")
    if str(args.eval_strategy) not in ("no", "IntervalStrategy.NO"):
        say("eval_strategy is set to no: there is no data to evaluate on")
        args.eval_strategy = IntervalStrategy.NO
    if args.n_gpu > 1:
        say(f"one process drives {args.n_gpu} GPUs (DataParallel): start it with accelerate or torchrun")
    if data.packing and data.response_template and data.training_data_path:
        say("response_template is not used with packing: all tokens are trained on")


# ---- the model ----


def synthetic_config(spec):
    """The configuration behind synthetic:NAME[?layers=N]."""
    name, mark, query = spec.removeprefix(SYNTHETIC).partition("?")
    if name not in SHAPES:
        raise UsageError(f"argument --model_name_or_path: no synthetic model {name!r}: use one of {', '.join(SHAPES)}")
    kind, shape = SHAPES[name]
    if not mark:
        return kind(**shape, tie_word_embeddings=False)
    key, _, value = query.partition("=")
    if key != "layers" or not (value.isascii() and value.isdecimal()) or int(value) < 1:
        raise UsageError(f"argument --model_name_or_path: {query!r} after the question mark: "
                         "only layers=N is known, N at least 1")
    return kind(**{**shape, "num_hidden_layers": int(value)}, tie_word_embeddings=False)


def flag(name):
    return os.environ.get(name, "false").lower() in ("1", "true")


def is_fsdp(args):
    return bool(args.fsdp) or flag("ACCELERATE_USE_FSDP")


def first_process_gives_weights(args):
    """Whether FSDP hands the weights of the first process to the others."""
    return is_fsdp(args) and flag("FSDP_CPU_RAM_EFFICIENT_LOADING")


def build_model(args, model):
    attention = attention_kind(args, model)
    if not model.model_name_or_path.startswith(SYNTHETIC):
        return AutoModelForCausalLM.from_pretrained(
            model.model_name_or_path, dtype=model.torch_dtype, attn_implementation=attention)
    return synthetic_model(args, model, attention)


def attention_kind(args, model):
    if not model.use_flash_attn:
        return "sdpa"
    if args.device.type == "cuda" and is_flash_attn_2_available():
        return "flash_attention_2"
    reason = "flash_attn is not installed" if args.device.type == "cuda" else "there is no GPU"
    say(f"use_flash_attn is asked for, but {reason}: using sdpa")
    return "sdpa"


def synthetic_model(args, model, attention):
    """A model of the true shape with random weights, made where it is needed.

    Under FSDP the weights are made in host memory, as loading would leave them, so
    that no device ever holds the whole model; elsewhere directly on the device.
    """
    config = synthetic_config(model.model_name_or_path)
    dtype = torch.bfloat16 if model.torch_dtype == "auto" else getattr(torch, model.torch_dtype)
    with init_empty_weights(include_buffers=False):
        net = AutoModelForCausalLM.from_config(config, dtype=dtype, attn_implementation=attention)
    home = torch.device("cpu") if is_fsdp(args) else args.device
    # The same seed everywhere: processes that do not share weights must agree on them.
    draw = torch.Generator(args.device).manual_seed(args.seed)
    fill = is_first() or not first_process_gives_weights(args)
    for module in net.modules():
        materialise(module, home, draw if fill else None, config.initializer_range)
    net.tie_weights()
    return net


@torch.no_grad()
def materialise(module, home, draw, spread):
    for name, weight in module.named_parameters(recurse=False):
        real = torch.empty(weight.shape, dtype=weight.dtype, device=home)
        if draw is not None:
            fill_weight(real, name, draw, spread)
        setattr(module, name, torch.nn.Parameter(real))
    for name, buffer in module.named_buffers(recurse=False):
        module._buffers[name] = buffer.to(home)


def fill_weight(weight, name, draw, spread):
    """Vectors are the scales of norms, or biases; all else is drawn as in a fresh model."""
    if weight.dim() < 2:
        weight.fill_(0 if name == "bias" else 1)
    elif weight.device == draw.device:
        weight.normal_(0, spread, generator=draw)
    else:  # drawn on the device a piece at a time, far faster than on the processor
        for piece in weight.view(-1).split(CHUNK):
            made = torch.empty(piece.shape, dtype=piece.dtype, device=draw.device)
            piece.copy_(made.normal_(0, spread, generator=draw))


def prepare_model(args, model, net):
    net.config.use_cache = False  # a cache for generation is only in the way
    if model.peft_method != "lora":
        return net
    if args.gradient_checkpointing:
        net.enable_input_require_grads()  # the embeddings are frozen: nothing else would ask for gradients
    return with_lora(model, net)


def with_lora(model, net):
    try:
        from peft import LoraConfig, get_peft_model
    except ImportError as err:
        raise SystemExit(f"hf_trainer: error: peft_method lora needs peft ({err}): pip install peft") from err
    config = LoraConfig(r=model.r, lora_alpha=model.lora_alpha, lora_dropout=model.lora_dropout,
                        target_modules=model.target_modules, bias="none", task_type="CAUSAL_LM")
    net = get_peft_model(net, config)
    if is_first():
        trained, all_of_them = net.get_nb_trainable_parameters()
        say(f"LoRA trains {trained} of {all_of_them} parameters")
    return net


# ---- the data ----


class ByteTokenizer:
    """One token a byte, for models that have no tokenizer of their own."""

    pad_token_id, eos_token_id = 0, 2
    offset = 3

    def encode(self, text, add_special_tokens=True):
        return [b + self.offset for b in text.encode("utf-8", "surrogatepass")]


class RandomTokens(torch.utils.data.Dataset):
    """Samples of one length, each drawn from its own number, the same in every process."""

    def __init__(self, count, length, vocabulary, seed):
        self.count, self.length, self.vocabulary, self.seed = count, length, vocabulary, seed

    def __len__(self):
        return self.count

    def __getitem__(self, i):
        draw = torch.Generator().manual_seed(self.seed * 1_000_003 + i)
        ids = torch.randint(0, self.vocabulary, (self.length,), generator=draw)
        return {"input_ids": ids, "labels": ids}


class Samples(torch.utils.data.Dataset):
    """Token lists in memory, with their labels."""

    def __init__(self, pairs):
        self.pairs = pairs

    def __len__(self):
        return len(self.pairs)

    def __getitem__(self, i):
        ids, labels = self.pairs[i]
        return {"input_ids": torch.tensor(ids), "labels": torch.tensor(labels)}


class Collator:
    """Pads a batch to its longest sample; where nothing is padded there is no mask to pay for."""

    def __init__(self, pad):
        self.pad = pad

    def __call__(self, rows):
        ids, labels = [r["input_ids"] for r in rows], [r["labels"] for r in rows]
        lengths = torch.tensor([len(x) for x in ids])
        batch = {"input_ids": padded(ids, self.pad), "labels": padded(labels, IGNORED_LABEL)}
        if lengths.min() != lengths.max():
            batch["attention_mask"] = (torch.arange(lengths.max()) < lengths[:, None]).long()
        return batch


def padded(rows, value):
    return torch.nn.utils.rnn.pad_sequence(rows, batch_first=True, padding_value=value)


def build_data(args, model, data, net):
    length = data.max_seq_len
    if length is None:
        length = DEFAULT_LENGTH
        say(f"max_seq_len is not given: using {length} tokens")
    limit = getattr(net.config, "max_position_embeddings", None)
    if limit and length > limit:
        say(f"max_seq_len {length} is beyond the {limit} positions that the model was made for")
    if data.training_data_path is None:
        return random_tokens(args, data, length, net.config.vocab_size), Collator(0)
    tokenizer = tokenizer_of(model)
    pairs = read_samples(data, tokenizer)
    pairs = packed(pairs, length, data) if data.packing else cut(pairs, length)
    check_tokens(pairs, net.config.vocab_size, data.training_data_path)
    pad = tokenizer.pad_token_id if tokenizer.pad_token_id is not None else tokenizer.eos_token_id
    return Samples(pairs), Collator(pad or 0)


def random_tokens(args, data, length, vocabulary):
    count = data.synthetic_samples
    if args.max_steps > 0:
        count = args.max_steps * args.train_batch_size * args.gradient_accumulation_steps * args.world_size
    say(f"no training_data_path: {count} samples of {length} random tokens; "
        "dataset_text_field, response_template and packing have nothing to act on")
    return RandomTokens(count, length, vocabulary, args.seed)


def tokenizer_of(model):
    name = model.tokenizer_name_or_path or model.model_name_or_path
    if name.startswith(SYNTHETIC):
        return ByteTokenizer()
    return AutoTokenizer.from_pretrained(name)


def read_samples(data, tokenizer):
    """Pairs of input_ids and labels, one for each row of the file."""
    pairs, without = [], 0
    for where, row in rows_of(data.training_data_path):
        ids, labels, found = sample_of(where, row, data, tokenizer)
        if ids:
            pairs.append((ids, labels))
            without += not found
    if not pairs:
        raise DataError(f"{data.training_data_path}: there is no sample in it")
    if without:
        say(f"response_template is not in {without} of {len(pairs)} texts: all their tokens are trained on")
    return pairs


def rows_of(path):
    """Rows with their place: JSON lines, or one JSON list where the name ends in .json."""
    with open(path, encoding="utf-8") as file:
        if path.endswith(".json"):
            for i, row in enumerate(json.load(file)):
                yield f"{path}: entry {i + 1}", row
            return
        for n, line in enumerate(file, 1):
            if line.strip():
                yield f"{path}:{n}", row_of(f"{path}:{n}", line)


def row_of(where, line):
    try:
        return json.loads(line)
    except ValueError as err:
        raise DataError(f"{where}: not JSON: {err}") from err


def sample_of(where, row, data, tokenizer):
    if not isinstance(row, dict):
        raise DataError(f"{where}: not a JSON object")
    if "input_ids" in row:
        return tokens_of(where, row)
    text = row.get(data.dataset_text_field)
    if not isinstance(text, str):
        raise DataError(f"{where}: neither input_ids nor a text in {data.dataset_text_field!r} "
                        "(--dataset_text_field names the field)")
    return encode(text, None if data.packing else data.response_template, tokenizer)


def tokens_of(where, row):
    ids, labels = row["input_ids"], row.get("labels", row["input_ids"])
    if not is_tokens(ids, 0) or not is_tokens(labels, IGNORED_LABEL) or len(ids) != len(labels):
        raise DataError(f"{where}: input_ids and labels must be lists of whole numbers of one length")
    return ids, labels, True


def is_tokens(values, least):
    return isinstance(values, list) and all(type(v) is int and v >= least for v in values)


def encode(text, template, tokenizer):
    """Tokens, labels, and whether the template was found where one was asked for."""
    end = tokenizer.eos_token_id
    tail = [] if end is None else [end]
    at = text.find(template) if template else -1
    if at < 0:
        ids = tokenizer.encode(text) + tail
        return ids, ids, not template
    at += len(template)
    prompt = tokenizer.encode(text[:at])
    answer = tokenizer.encode(text[at:], add_special_tokens=False) + tail
    return prompt + answer, [IGNORED_LABEL] * len(prompt) + answer, True


def cut(pairs, length):
    longer = sum(len(ids) > length for ids, _ in pairs)
    if longer:
        say(f"{longer} of {len(pairs)} samples are cut to {length} tokens")
    return [(ids[:length], labels[:length]) for ids, labels in pairs]


def packed(pairs, length, data):
    ids = [t for row, _ in pairs for t in row]
    labels = [t for _, row in pairs for t in row]
    whole = len(ids) - len(ids) % length
    if not whole:
        raise DataError(f"{data.training_data_path}: {len(ids)} tokens do not fill one block of {length} for packing")
    return [(ids[i:i + length], labels[i:i + length]) for i in range(0, whole, length)]


def check_tokens(pairs, vocabulary, path):
    # A token beyond the embeddings is a device-side assert on a GPU, which names nothing.
    highest = max(max(*ids, *labels) for ids, labels in pairs)
    if highest >= vocabulary:
        raise DataError(f"{path}: token {highest} is beyond the model's vocabulary of {vocabulary}")
    # The first label has nothing in front of it to be predicted from.
    idle = sum(all(label == IGNORED_LABEL for label in labels[1:]) for _, labels in pairs)
    if idle == len(pairs):
        raise DataError(f"{path}: no sample has a token to train on (is max_seq_len too short for the answers?)")
    if idle:
        say(f"{idle} of {len(pairs)} samples have no token to train on")


# ---- the run ----


class MeteredTrainer(Trainer):
    """The Trainer, with train_tokens_per_second in its final metrics too.

    It is the count of one process, as transformers 4 counted it and as published
    tables have it. The total over all processes is num_input_tokens_seen over train_runtime.
    """

    def log(self, logs, start_time=None):
        runtime = logs.get("train_runtime")
        if start_time is not None:
            runtime = time.time() - start_time
            logs["train_runtime"] = round(runtime, 4)
        if self.args.include_num_input_tokens_seen != "no" and runtime:
            tokens = self.state.num_input_tokens_seen - self._initial_num_input_tokens_seen
            logs["train_tokens_per_second"] = tokens / self.args.world_size / runtime
        super().log(logs)


def train(args, model, data):
    if is_first():
        # What an earlier run left must not pass for this one's.
        Path(args.output_dir, "all_results.json").unlink(missing_ok=True)
    transformers.set_seed(args.seed)
    tell_what_is_not_honoured(args, data)
    net = prepare_model(args, model, build_model(args, model))
    samples, collator = build_data(args, model, data, net)
    trainer = MeteredTrainer(model=net, args=args, train_dataset=samples, data_collator=collator)
    metrics = trainer.train(resume_from_checkpoint=args.resume_from_checkpoint).metrics
    if not math.isfinite(metrics.get("train_loss", 0.0)):
        say("the loss is not finite")
    Path(args.output_dir).mkdir(parents=True, exist_ok=True)
    trainer.save_metrics("train", metrics)


def leave(args):
    """Ends the processes of a run that went well; one that failed must not wait for the others.

    Gloo's threads may need Python while it is being taken down, and then the process
    hangs or aborts, once in some twenty runs. So its processes leave without that,
    after the exit handlers, which others may have set.
    """
    if args.world_size == 1:
        return
    if torch.distributed.get_backend() == "nccl":
        torch.distributed.destroy_process_group()
        return
    torch.distributed.barrier()
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(0)


def main(argv):
    args, model, data = parse(argv)
    try:
        train(args, model, data)
    except DataError as err:
        raise SystemExit(f"hf_trainer: error: {err}") from err
    leave(args)


if __name__ == "__main__":
    main(sys.argv[1:])
