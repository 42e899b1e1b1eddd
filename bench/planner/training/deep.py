"""Training steps of models of real depth, for lifetimes.py:

    deep.py FOLDER [NAME...]

records them as bench/data/sets has them. GPT-2, BERT, Llama, ResNet and T5 are those of the package transformers, the
U-Net and the mixture of experts are written here.
"""

from __future__ import annotations

import pathlib
import sys
from collections.abc import Callable, Iterable

import lifetimes
import torch
from torch import nn
from torch.nn import functional

Step = Callable[[], object]


def training(model: nn.Module, loss: Callable[[], torch.Tensor], micro: int = 1, optimiser: str = "adamw") -> Step:
    """A step on so many micro-batches, whose gradients are added up, clipped, and given to the optimiser."""
    model.train()
    if optimiser == "sgd":
        update = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9, weight_decay=1e-4, foreach=False)
    else:
        update = torch.optim.AdamW(model.parameters(), lr=1e-4, foreach=False)

    def step() -> None:
        update.zero_grad(set_to_none=True)
        for _ in range(micro):
            (loss() / micro).backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        update.step()

    return step


def language(model: nn.Module, words: int, batch: int, length: int, **how: object) -> Step:
    """A language model that is trained on given tokens."""
    tokens = torch.zeros(batch, length, dtype=torch.int64)

    def loss() -> torch.Tensor:
        logits = model(input_ids=tokens, **how.get("more", {})).logits
        return functional.cross_entropy(logits[:, :-1].reshape(-1, words), tokens[:, 1:].reshape(-1))

    return training(model, loss, micro=how.get("micro", 1))


def gpt2(layers: int, width: int, heads: int, batch: int, micro: int) -> Step:
    from transformers import GPT2Config, GPT2LMHeadModel

    config = GPT2Config(n_layer=layers, n_embd=width, n_head=heads, use_cache=False)
    return language(GPT2LMHeadModel(config), config.vocab_size, batch, 1024, micro=micro)


def bert_large(micro: int) -> Step:
    from transformers import BertConfig, BertForMaskedLM

    config = BertConfig(hidden_size=1024, num_hidden_layers=24, num_attention_heads=16, intermediate_size=4096)
    more = {"attention_mask": torch.ones(16, 512, dtype=torch.int64)}  # without one the model looks at the tokens
    return language(BertForMaskedLM(config), config.vocab_size, 16, 512, micro=micro, more=more)


def llama(micro: int) -> Step:
    from transformers import LlamaConfig, LlamaForCausalLM

    config = LlamaConfig(hidden_size=2048, num_hidden_layers=32, num_attention_heads=16, intermediate_size=5504,
                         use_cache=False)  # fmt: skip
    return language(LlamaForCausalLM(config).to(torch.bfloat16), config.vocab_size, 4, 2048, micro=micro)


def t5_large(micro: int) -> Step:
    from transformers import T5Config, T5ForConditionalGeneration

    config = T5Config(d_model=1024, d_ff=4096, num_layers=24, num_heads=16, use_cache=False)
    more = {"decoder_input_ids": torch.zeros(8, 512, dtype=torch.int64)}
    return language(T5ForConditionalGeneration(config), config.vocab_size, 8, 512, micro=micro, more=more)


def resnet152(batch: int, side: int, micro: int) -> Step:
    from transformers import ResNetConfig, ResNetForImageClassification

    model = ResNetForImageClassification(ResNetConfig(depths=[3, 8, 36, 3], num_labels=1000))
    images, labels = torch.zeros(batch, 3, side, side), torch.zeros(batch, dtype=torch.int64)
    return training(model, lambda: functional.cross_entropy(model(images).logits, labels), micro, optimiser="sgd")


class Block(nn.Module):
    """A residual block of a U-Net for diffusion, with the time's embedding, and attention where pictures are small."""

    def __init__(self, given: int, made: int, attends: bool) -> None:
        super().__init__()
        self.first = nn.Sequential(nn.GroupNorm(32, given), nn.SiLU(), nn.Conv2d(given, made, 3, padding=1))
        self.time = nn.Sequential(nn.SiLU(), nn.Linear(1024, made))
        last = nn.Conv2d(made, made, 3, padding=1)
        self.second = nn.Sequential(nn.GroupNorm(32, made), nn.SiLU(), nn.Dropout(0.1), last)
        self.shortcut = nn.Conv2d(given, made, 1) if given != made else nn.Identity()
        self.norm = nn.GroupNorm(32, made) if attends else None
        self.qkv, self.out = (nn.Conv2d(made, 3 * made, 1), nn.Conv2d(made, made, 1)) if attends else (None, None)

    def forward(self, x: torch.Tensor, time: torch.Tensor) -> torch.Tensor:
        h = self.first(x) + self.time(time)[:, :, None, None]
        x = self.shortcut(x) + self.second(h)
        return x + self.attention(x) if self.norm else x

    def attention(self, x: torch.Tensor) -> torch.Tensor:
        batch, channels, high, wide = x.shape
        q, k, v = self.qkv(self.norm(x)).reshape(batch * 8, 3, channels // 8, high * wide).unbind(1)
        weights = torch.softmax(q.transpose(1, 2) @ k * (channels // 8) ** -0.5, -1)
        return self.out((v @ weights.transpose(1, 2)).reshape(batch, channels, high, wide))


class UNet(nn.Module):
    """Down and up again, with what went down joined on the way up."""

    def __init__(self, widths: Iterable[int] = (256, 512, 768, 1024), blocks: int = 3) -> None:
        super().__init__()
        width, kept = widths[0], [widths[0]]
        self.begin, self.down, self.up = nn.Conv2d(4, width, 3, padding=1), nn.ModuleList(), nn.ModuleList()
        for level, made in enumerate(widths):
            for _ in range(blocks):
                self.down.append(Block(width, made, attends=level > 0))
                width = made
                kept.append(width)
            if level + 1 < len(widths):
                self.down.append(nn.Conv2d(width, width, 3, stride=2, padding=1))
                kept.append(width)
        self.middle = nn.ModuleList([Block(width, width, attends=True), Block(width, width, attends=False)])
        for level, made in reversed(list(enumerate(widths))):
            for _ in range(blocks + 1):
                self.up.append(Block(width + kept.pop(), made, attends=level > 0))
                width = made
            if level:
                self.up.append(nn.Sequential(nn.Upsample(scale_factor=2), nn.Conv2d(width, width, 3, padding=1)))
        self.end = nn.Sequential(nn.GroupNorm(32, width), nn.SiLU(), nn.Conv2d(width, 4, 3, padding=1))

    def forward(self, x: torch.Tensor, time: torch.Tensor) -> torch.Tensor:
        x = self.begin(x)
        kept = [x]
        for part in self.down:
            x = part(x, time) if isinstance(part, Block) else part(x)
            kept.append(x)
        for part in self.middle:
            x = part(x, time)
        for part in self.up:
            x = part(torch.cat([x, kept.pop()], 1), time) if isinstance(part, Block) else part(x)
        return self.end(x)


def unet(micro: int) -> Step:
    model = UNet()
    noisy, time = torch.zeros(8, 4, 64, 64), torch.zeros(8, 1024)
    return training(model, lambda: functional.mse_loss(model(noisy, time), noisy), micro)


def widened(width: int) -> nn.Module:
    return nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))


class Experts(nn.Module):
    """Each token goes to two of the experts, each of which takes so many, as fixed shapes want it."""

    def __init__(self, width: int, experts: int) -> None:
        super().__init__()
        self.gate = nn.Linear(width, experts, bias=False)
        self.experts = nn.ModuleList(widened(width) for _ in range(experts))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        chances = torch.softmax(self.gate(x), -1)
        room, mixed = 2 * x.shape[0] // len(self.experts), torch.zeros_like(x)
        for k, expert in enumerate(self.experts):
            weight, chosen = torch.topk(chances[:, k], room)
            mixed = mixed.index_add(0, chosen, expert(x.index_select(0, chosen)) * weight[:, None])
        return mixed


class Mixture(nn.Module):
    """A transformer with experts in every second layer."""

    def __init__(self, layers: int, width: int, experts: int) -> None:
        super().__init__()
        self.words = nn.Embedding(32000, width)
        self.norms = nn.ModuleList(nn.LayerNorm(width) for _ in range(2 * layers + 1))
        self.qkv = nn.ModuleList(nn.Linear(width, 3 * width) for _ in range(layers))
        self.out = nn.ModuleList(nn.Linear(width, width) for _ in range(layers))
        self.wide = nn.ModuleList(Experts(width, experts) if k % 2 else widened(width) for k in range(layers))

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        batch, length = tokens.shape
        x = self.words(tokens)
        heads = x.shape[2] // 64
        mask = torch.full((length, length), float("-inf")).triu(1)
        for k, wide in enumerate(self.wide):
            q, key, v = self.qkv[k](self.norms[2 * k](x)).reshape(batch, length, 3, heads, 64).permute(2, 0, 3, 1, 4)
            mixed = torch.softmax(q @ key.transpose(2, 3) / 8 + mask, -1) @ v
            x = x + self.out[k](mixed.transpose(1, 2).reshape(batch, length, -1))
            x = x + wide(self.norms[2 * k + 1](x).reshape(batch * length, -1)).reshape(x.shape)
        return self.norms[-1](x) @ self.words.weight.T


def mixture(layers: int, experts: int, micro: int) -> Step:
    model = Mixture(layers, 1024, experts)
    tokens = torch.zeros(8, 1024, dtype=torch.int64)

    def loss() -> torch.Tensor:
        return functional.cross_entropy(model(tokens).reshape(-1, 32000), tokens.reshape(-1))

    return training(model, loss, micro)


# What builds a step, and how often it is taken.
SETS: dict[str, tuple[Callable[[], Step], int]] = {
    "gpt2_12": (lambda: gpt2(12, 768, 12, batch=8, micro=4), 4),
    "gpt2_24": (lambda: gpt2(24, 1024, 16, batch=4, micro=4), 3),
    "gpt2_48": (lambda: gpt2(48, 1600, 25, batch=2, micro=8), 2),
    "bert_large": (lambda: bert_large(micro=4), 2),
    "llama_32": (lambda: llama(micro=4), 1),
    "t5_large": (lambda: t5_large(micro=4), 1),
    "resnet152": (lambda: resnet152(32, 224, micro=4), 4),
    "unet": (lambda: unet(micro=4), 3),
    "mixture": (lambda: mixture(24, 16, micro=4), 1),
}


def main(folder: str, names: list[str]) -> None:
    pathlib.Path(folder).mkdir(parents=True, exist_ok=True)
    for name in names or SETS:
        build, times = SETS[name]
        buffers = lifetimes.record(build, times)
        path = pathlib.Path(folder) / f"{name}.csv.gz"
        lifetimes.write(str(path), buffers)
        print(f"{name}: {len(buffers)} buffers, {path.stat().st_size} bytes", flush=True)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
