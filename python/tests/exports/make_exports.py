"""Exports networks of PyTorch's users to ONNX: for each the model, and a file of inputs beside it.

    make_exports.py [--dynamic | --dynamo] FOLDER [NAME...]

With --dynamic the first axis of every input is a symbol; --dynamo takes the exporter of PyTorch 2. Weights are random,
from a seed. Networks of torchvision and transformers are left out, with a line that says so, where
the package is missing. test_exports.py plans, runs and compares what is in the folder.
"""

from __future__ import annotations

import importlib
import pathlib
import sys
import warnings
from typing import Any, Callable

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F

OPSET = 17
Made = tuple[nn.Module, tuple[torch.Tensor, ...]]
NETWORKS: dict[str, Callable[[], Made]] = {}


def network(make: Callable[[], Made]) -> Callable[[], Made]:
    NETWORKS[make.__name__] = make
    return make


class Of(nn.Module):
    """A module of one function, and of the modules that it uses."""

    def __init__(self, function: Callable[..., Any], **modules: nn.Module) -> None:
        super().__init__()
        for name, module in modules.items():
            setattr(self, name, module)
        self.function = function

    def forward(self, *inputs: torch.Tensor) -> Any:
        return self.function(self, *inputs)


def images(size: int = 32, channels: int = 3, batch: int = 2) -> torch.Tensor:
    return torch.randn(batch, channels, size, size)


def tokens(length: int = 16, words: int = 100, batch: int = 2) -> torch.Tensor:
    return torch.randint(3, words, (batch, length))


# ---- small networks -----------------------------------------------------------------------


def mlp(activation: nn.Module) -> Made:
    layers = (nn.Linear(20, 32), activation, nn.LayerNorm(32), nn.Linear(32, 32), activation, nn.Linear(32, 5))
    return nn.Sequential(*layers), (torch.randn(4, 20),)


for activation in (
    *(nn.ReLU, nn.GELU, nn.SiLU, nn.ELU, nn.Hardswish, nn.Hardsigmoid, nn.LeakyReLU, nn.PReLU, nn.Softplus, nn.Mish),
    *(nn.Tanh, nn.SELU, nn.CELU, nn.Softsign, nn.ReLU6, nn.LogSigmoid, nn.Hardtanh),
):
    NETWORKS[f"mlp_{activation.__name__.lower()}"] = lambda made=activation: mlp(made())


def cnn(norm: Callable[[int], nn.Module]) -> Made:
    return (
        nn.Sequential(
            *(nn.Conv2d(3, 8, 3, padding=1), norm(8), nn.ReLU(), nn.MaxPool2d(2)),
            *(nn.Conv2d(8, 16, 3, stride=2, groups=4), norm(16), nn.ReLU(), nn.AdaptiveAvgPool2d(1)),
            *(nn.Flatten(), nn.Dropout(), nn.Linear(16, 10), nn.LogSoftmax(-1)),
        ),
        (images(),),
    )


NETWORKS["cnn_batch_norm"] = lambda: cnn(nn.BatchNorm2d)
NETWORKS["cnn_instance_norm"] = lambda: cnn(lambda n: nn.InstanceNorm2d(n, affine=True))
NETWORKS["cnn_group_norm"] = lambda: cnn(lambda n: nn.GroupNorm(4, n))


@network
def cnn_1d() -> Made:
    return nn.Sequential(nn.Conv1d(4, 8, 5, padding=2), nn.ReLU(), nn.AvgPool1d(2), nn.Conv1d(8, 3, 1)), (
        torch.randn(2, 4, 40),
    )


@network
def cnn_3d() -> Made:
    return nn.Sequential(nn.Conv3d(2, 4, 3), nn.BatchNorm3d(4), nn.ReLU(), nn.MaxPool3d(2)), (
        torch.randn(1, 2, 10, 12, 14),
    )


@network
def autoencoder() -> Made:
    return (
        nn.Sequential(
            *(nn.Conv2d(3, 8, 4, 2, 1), nn.ReLU(), nn.Conv2d(8, 16, 4, 2, 1), nn.ReLU()),
            *(nn.ConvTranspose2d(16, 8, 4, 2, 1), nn.ReLU(), nn.ConvTranspose2d(8, 3, 3, 2, 1, 1), nn.Sigmoid()),
        ),
        (images(),),
    )


class UNet(nn.Module):
    def __init__(self, mode: str) -> None:
        super().__init__()
        self.down = nn.ModuleList([nn.Conv2d(3, 8, 3, padding=1), nn.Conv2d(8, 16, 3, padding=1)])
        self.middle = nn.Conv2d(16, 32, 3, padding=1)
        self.up = nn.ModuleList([nn.Conv2d(48, 16, 3, padding=1), nn.Conv2d(24, 8, 3, padding=1)])
        self.last, self.mode = nn.Conv2d(8, 2, 1), mode

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        kept = []
        for layer in self.down:
            x = F.relu(layer(x))
            kept.append(x)
            x = F.max_pool2d(x, 2)
        x = F.relu(self.middle(x))
        for layer in self.up:
            corners = None if self.mode == "nearest" else False
            x = F.interpolate(x, scale_factor=2, mode=self.mode, align_corners=corners)
            x = F.relu(layer(torch.cat([x, kept.pop()], 1)))
        return self.last(x)


NETWORKS["unet_nearest"] = lambda: (UNet("nearest"), (images(),))
NETWORKS["unet_bilinear"] = lambda: (UNet("bilinear"), (images(),))
NETWORKS["unet_bicubic"] = lambda: (UNet("bicubic"), (images(16),))


@network
def super_resolution() -> Made:
    return nn.Sequential(nn.Conv2d(1, 8, 5, padding=2), nn.ReLU(), nn.Conv2d(8, 9, 3, padding=1), nn.PixelShuffle(3)), (
        images(16, 1),
    )


def recurrent(kind: type[nn.Module], **options: Any) -> Made:
    layer = kind(12, 16, num_layers=2, batch_first=True, **options)
    head = nn.Linear(32 if options.get("bidirectional") else 16, 4)
    return Of(lambda m, x: m.head(m.layer(x)[0][:, -1]), layer=layer, head=head), (torch.randn(3, 9, 12),)


NETWORKS["rnn"] = lambda: recurrent(nn.RNN)
NETWORKS["lstm"] = lambda: recurrent(nn.LSTM)
NETWORKS["gru"] = lambda: recurrent(nn.GRU)
NETWORKS["lstm_bidirectional"] = lambda: recurrent(nn.LSTM, bidirectional=True)
NETWORKS["gru_bidirectional"] = lambda: recurrent(nn.GRU, bidirectional=True)


@network
def lstm_language_model() -> Made:
    return Of(
        lambda m, x: m.head(m.layer(m.words(x))[0]),
        words=nn.Embedding(100, 12),
        layer=nn.LSTM(12, 16, batch_first=True),
        head=nn.Linear(16, 100),
    ), (tokens(),)


@network
def lstm_with_attention() -> Made:
    def run(m: Any, x: torch.Tensor) -> torch.Tensor:
        states = m.layer(m.words(x))[0]
        weights = torch.softmax(m.score(torch.tanh(states)), 1)
        return m.head((weights * states).sum(1))

    parts = {"words": nn.Embedding(100, 12), "layer": nn.LSTM(12, 16, batch_first=True), "score": nn.Linear(16, 1)}
    return Of(run, **parts, head=nn.Linear(16, 3)), (tokens(),)


@network
def transformer_encoder() -> Made:
    layer = nn.TransformerEncoderLayer(32, 4, 64, batch_first=True)
    return Of(lambda m, x: m.layers(x), layers=nn.TransformerEncoder(layer, 2)), (torch.randn(2, 10, 32),)


@network
def transformer_decoder() -> Made:
    def run(m: Any, x: torch.Tensor, memory: torch.Tensor) -> torch.Tensor:
        mask = torch.triu(torch.full((x.shape[1], x.shape[1]), float("-inf")), 1)
        return m.layers(x, memory, tgt_mask=mask)

    layer = nn.TransformerDecoderLayer(32, 4, 64, batch_first=True)
    return Of(run, layers=nn.TransformerDecoder(layer, 2)), (torch.randn(2, 7, 32), torch.randn(2, 10, 32))


@network
def attention() -> Made:
    return Of(lambda m, x: m.layer(x, x, x), layer=nn.MultiheadAttention(32, 4, batch_first=True)), (
        torch.randn(2, 10, 32),
    )


@network
def rotary_attention() -> Made:
    """A block as in Llama: RMS norm, rotary embedding, causal attention, gated layers."""

    def norm(x: torch.Tensor) -> torch.Tensor:
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6)

    def run(m: Any, x: torch.Tensor) -> torch.Tensor:
        b, n, d = x.shape
        angles = torch.outer(torch.arange(n).float(), 10000 ** -(torch.arange(0, 8, 2).float() / 8))
        sin, cos = torch.cat([angles, angles], -1).sin(), torch.cat([angles, angles], -1).cos()
        q, k, v = (t.reshape(b, n, 4, 8).transpose(1, 2) for t in m.qkv(norm(x)).chunk(3, -1))
        turned = [t * cos + torch.cat([-t[..., 4:], t[..., :4]], -1) * sin for t in (q, k)]
        scores = turned[0] @ turned[1].transpose(-1, -2) / 8**0.5
        scores = scores.masked_fill(torch.ones(n, n).triu(1).bool(), float("-inf"))
        x = x + m.out((scores.softmax(-1) @ v).transpose(1, 2).reshape(b, n, d))
        y = norm(x)
        return x + m.down(F.silu(m.gate(y)) * m.up(y))

    layers = {"qkv": nn.Linear(32, 96), "out": nn.Linear(32, 32), "gate": nn.Linear(32, 64), "up": nn.Linear(32, 64)}
    return Of(run, **layers, down=nn.Linear(64, 32)), (torch.randn(2, 10, 32),)


@network
def graph_convolution() -> Made:
    def run(m: Any, x: torch.Tensor, source: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
        for layer in (m.first, m.second):
            messages = layer(x)[source]
            x = torch.zeros(12, 16).scatter_add(0, target.unsqueeze(1).expand(-1, 16), messages).relu()
        return x.mean(0)

    edges = [torch.randint(0, 12, (40,)) for _ in range(2)]
    return Of(run, first=nn.Linear(8, 16), second=nn.Linear(16, 16)), (torch.randn(12, 8), *edges)


@network
def recommender() -> Made:
    def run(m: Any, user: torch.Tensor, item: torch.Tensor) -> torch.Tensor:
        a, b = m.users(user), m.items(item)
        return torch.sigmoid(m.deep(torch.cat([a, b], 1)).squeeze(1) + (a * b).sum(1))

    deep = nn.Sequential(nn.Linear(16, 16), nn.ReLU(), nn.Linear(16, 1))
    parts = {"users": nn.Embedding(50, 8), "items": nn.Embedding(70, 8)}
    return Of(run, **parts, deep=deep), (torch.randint(0, 50, (6,)), torch.randint(0, 70, (6,)))


@network
def mixture_of_experts() -> Made:
    def run(m: Any, x: torch.Tensor) -> torch.Tensor:
        weights, best = m.gate(x).topk(2, -1)
        outputs = torch.stack([expert(x) for expert in m.experts], 1)
        chosen = outputs.gather(1, best.unsqueeze(-1).expand(-1, -1, outputs.shape[-1]))
        return (chosen * weights.softmax(-1).unsqueeze(-1)).sum(1)

    experts = nn.ModuleList(nn.Sequential(nn.Linear(8, 16), nn.GELU(), nn.Linear(16, 8)) for _ in range(4))
    return Of(run, gate=nn.Linear(8, 4), experts=experts), (torch.randn(5, 8),)


@network
def variational_autoencoder() -> Made:
    def run(m: Any, x: torch.Tensor, noise: torch.Tensor) -> tuple[torch.Tensor, ...]:
        mean, log = m.encoder(x).chunk(2, 1)
        return torch.sigmoid(m.decoder(mean + noise * (log / 2).exp())), mean, log

    return Of(run, encoder=nn.Linear(20, 8), decoder=nn.Linear(4, 20)), (torch.rand(3, 20), torch.randn(3, 4))


@network
def einsum_attention() -> Made:
    def run(m: Any, x: torch.Tensor) -> torch.Tensor:
        q, k, v = (layer(x).reshape(2, 10, 4, 8) for layer in (m.q, m.k, m.v))
        scores = torch.einsum("bihd,bjhd->bhij", q, k).softmax(-1)
        return torch.einsum("bhij,bjhd->bihd", scores, v).reshape(2, 10, 32)

    return Of(run, **{name: nn.Linear(32, 32) for name in "qkv"}), (torch.randn(2, 10, 32),)


@network
def diffusion_block() -> Made:
    """A residual block with a sinusoidal embedding of the time, group norm and upsampling."""

    def run(m: Any, x: torch.Tensor, time: torch.Tensor) -> torch.Tensor:
        angles = time[:, None].float() * torch.exp(torch.arange(8) * -1.15)
        embedding = m.time(torch.cat([angles.sin(), angles.cos()], 1))
        y = m.first(F.silu(m.norm(x))) + embedding[:, :, None, None]
        y = m.second(F.silu(y)) + m.skip(x)
        return F.interpolate(y, scale_factor=2.0, mode="nearest")

    parts = {"time": nn.Linear(16, 16), "norm": nn.GroupNorm(4, 8), "first": nn.Conv2d(8, 16, 3, padding=1)}
    parts |= {"second": nn.Conv2d(16, 16, 3, padding=1), "skip": nn.Conv2d(8, 16, 1)}
    return Of(run, **parts), (images(8, 8), torch.tensor([3, 700]))


@network
def keypoints() -> Made:
    """Soft and hard positions of the largest value of each map."""

    def run(m: Any, x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        maps = m.layer(x).flatten(2)
        places = torch.arange(32 * 32)
        soft = (maps.softmax(-1) * places.float()).sum(-1)
        best = maps.argmax(-1)
        return soft, best % 32, torch.div(best, 32, rounding_mode="floor"), maps.cumsum(-1)[..., -1]

    return Of(run, layer=nn.Conv2d(3, 5, 3, padding=1)), (images(),)


# ---- networks of packages -----------------------------------------------------------------


def vision(name: str, size: int = 64, **options: Any) -> Made:
    from torchvision import models

    return getattr(models, name)(weights=None, **options), (images(size, batch=1),)


VISION = {name: 64 for name in ("resnet18", "resnet50", "mobilenet_v2", "mobilenet_v3_small", "efficientnet_b0")}
VISION |= {name: 64 for name in ("squeezenet1_1", "shufflenet_v2_x0_5", "mnasnet0_5", "regnet_y_400mf", "alexnet")}
VISION |= {name: 64 for name in ("densenet121", "convnext_tiny", "vgg11_bn", "swin_t", "efficientnet_v2_s")}
VISION |= {"googlenet": 64, "inception_v3": 96, "alexnet": 224, "vgg11_bn": 224}
for name, size in VISION.items():
    more = {"init_weights": True, "aux_logits": False} if name in ("googlenet", "inception_v3") else {}
    NETWORKS[f"vision_{name}"] = lambda name=name, size=size, more=more: vision(name, size, **more)


@network
def vision_vit() -> Made:
    from torchvision.models import VisionTransformer

    return VisionTransformer(32, 8, 2, 4, 32, 64, num_classes=10), (images(),)


@network
def vision_deeplab() -> Made:
    from torchvision.models import segmentation

    made = segmentation.deeplabv3_mobilenet_v3_large(weights=None, weights_backbone=None, num_classes=4)
    return Of(lambda m, x: m.net(x)["out"], net=made), (images(64, batch=1),)


@network
def vision_lraspp() -> Made:
    from torchvision.models import segmentation

    made = segmentation.lraspp_mobilenet_v3_large(weights=None, weights_backbone=None, num_classes=4)
    return Of(lambda m, x: m.net(x)["out"], net=made), (images(64, batch=1),)


SIZES = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4}
SIZES |= {"intermediate_size": 64, "vocab_size": 100}
NUMBERED = {"bos_token_id": 1, "eos_token_id": 2, "pad_token_id": 0}
ONCE = {"use_cache": False}
PATCHES = SIZES | {"image_size": 32, "patch_size": 8}
GPT = {"n_embd": 32, "n_layer": 2, "n_head": 4, "vocab_size": 100, "n_positions": 64}
BART = {"d_model": 32, "vocab_size": 100, "max_position_embeddings": 64, "encoder_layers": 2, "decoder_layers": 2}
BART |= {"encoder_attention_heads": 4, "decoder_attention_heads": 4, "encoder_ffn_dim": 64, "decoder_ffn_dim": 64}
T5 = {"d_model": 32, "d_kv": 8, "d_ff": 64, "num_layers": 2, "num_heads": 4, "vocab_size": 100}
DISTILLED = {"dim": 32, "n_layers": 2, "n_heads": 4, "hidden_dim": 64}
BLOOM = {"hidden_size": 32, "n_layer": 2, "n_head": 4, "vocab_size": 100}
SEGMENTS = {"hidden_sizes": [8, 8, 16, 16], "depths": [1, 1, 1, 1], "num_attention_heads": [1, 1, 2, 2]}
SOUND = SIZES | {"conv_dim": [16, 16], "conv_kernel": [10, 3], "conv_stride": [5, 2], "num_feat_extract_layers": 2}
SOUND |= {"num_conv_pos_embeddings": 16, "num_conv_pos_embedding_groups": 4}
RELATIVE = {"relative_attention": True, "pos_att_type": ["p2c"]}
# By name: the configuration, the model, its options, and what it is given.
TRANSFORMERS: dict[str, tuple[str, str, dict[str, Any], str]] = {
    "bert": ("BertConfig", "BertForSequenceClassification", SIZES, "words"),
    "roberta": ("RobertaConfig", "RobertaModel", SIZES, "words"),
    "albert": ("AlbertConfig", "AlbertModel", SIZES | {"embedding_size": 16}, "words"),
    "electra": ("ElectraConfig", "ElectraModel", SIZES | {"embedding_size": 16}, "words"),
    "distilbert": ("DistilBertConfig", "DistilBertModel", DISTILLED, "words"),
    "mpnet": ("MPNetConfig", "MPNetModel", SIZES, "words"),
    "deberta": ("DebertaV2Config", "DebertaV2Model", SIZES | RELATIVE, "words"),
    "gpt2": ("GPT2Config", "GPT2LMHeadModel", GPT | NUMBERED | ONCE, "words"),
    "gpt_neox": ("GPTNeoXConfig", "GPTNeoXForCausalLM", SIZES | ONCE, "words"),
    "llama": ("LlamaConfig", "LlamaForCausalLM", SIZES | ONCE, "words"),
    "mistral": ("MistralConfig", "MistralForCausalLM", SIZES | ONCE | {"num_key_value_heads": 2}, "words"),
    "phi": ("PhiConfig", "PhiForCausalLM", SIZES | ONCE, "words"),
    "opt": ("OPTConfig", "OPTForCausalLM", SIZES | ONCE | {"ffn_dim": 64, "word_embed_proj_dim": 32}, "words"),
    "bloom": ("BloomConfig", "BloomForCausalLM", BLOOM | ONCE, "words"),
    "t5_encoder": ("T5Config", "T5EncoderModel", T5, "words"),
    "bart_encoder": ("BartConfig", "BartModel", BART | ONCE, "encoder"),
    "whisper_encoder": (
        *("WhisperConfig", "WhisperModel"),
        *(BART | NUMBERED | {"max_source_positions": 20, "num_mel_bins": 8}, "mel"),
    ),
    "vit": ("ViTConfig", "ViTModel", PATCHES, "pixels"),
    "deit": ("DeiTConfig", "DeiTModel", PATCHES, "pixels"),
    "beit": ("BeitConfig", "BeitModel", PATCHES, "pixels"),
    "clip_vision": ("CLIPVisionConfig", "CLIPVisionModel", PATCHES, "pixels"),
    "clip_text": ("CLIPTextConfig", "CLIPTextModel", SIZES | {"max_position_embeddings": 20}, "words"),
    "segformer": (
        *("SegformerConfig", "SegformerForSemanticSegmentation"),
        *(SEGMENTS | {"decoder_hidden_size": 16}, "pixels"),
    ),
    "mobilevit": ("MobileViTConfig", "MobileViTModel", {}, "pixels"),
    "wav2vec2": ("Wav2Vec2Config", "Wav2Vec2Model", SOUND, "sound"),
}


def language(name: str) -> Made:
    import transformers

    configuration, model, options, given = TRANSFORMERS[name]
    made = getattr(transformers, model)(getattr(transformers, configuration)(**options))
    if given == "words":
        words = tokens()
        inputs = (words, torch.ones_like(words))
        return Of(lambda m, x, mask: m.net(input_ids=x, attention_mask=mask)[0], net=made), inputs
    if given == "encoder":
        return Of(lambda m, x: m.net(input_ids=x)[0], net=made.encoder), (tokens(),)
    if given == "mel":
        return Of(lambda m, x: m.net(x)[0], net=made.encoder), (torch.randn(1, 8, 40),)
    if given == "sound":
        return Of(lambda m, x: m.net(x)[0], net=made), (torch.randn(1, 800),)
    size = 64 if name in ("segformer", "mobilevit") else 32
    return Of(lambda m, x: m.net(pixel_values=x)[0], net=made), (images(size, batch=1),)


for name in TRANSFORMERS:
    NETWORKS[f"transformers_{name}"] = lambda name=name: language(name)


PACKAGES = {"vision": "torchvision", "transformers": "transformers"}


def export(name: str, folder: pathlib.Path, way: str) -> None:
    torch.manual_seed(sum(name.encode()))
    module, inputs = NETWORKS[name]()
    module.eval()
    names = [f"input{i}" for i in range(len(inputs))]
    path = folder / f"{name}.onnx"
    if way == "--dynamo":
        options: dict[str, Any] = {"dynamo": True, "external_data": False, "verbose": False}
    else:
        options = {"opset_version": OPSET}
    if way == "--dynamic":
        options["dynamic_axes"] = {n: {0: "N" if "graph" not in name else f"N{i}"} for i, n in enumerate(names)}
    with warnings.catch_warnings():  # without gradients PyTorch takes fused attention, which has no form in ONNX
        warnings.simplefilter("ignore")
        torch.onnx.export(module, inputs, str(path), input_names=names, **options)
    np.savez(path.with_suffix(".npz"), **{n: value.detach().numpy() for n, value in zip(names, inputs)})


def main(*arguments: str) -> int:
    way = arguments[0] if arguments[0].startswith("--") else ""
    folder, *wanted = arguments[bool(way) :]
    target, failed = pathlib.Path(folder), 0
    target.mkdir(parents=True, exist_ok=True)
    missing = set()
    for package in PACKAGES.values():
        try:
            importlib.import_module(package)
        except ImportError:
            missing.add(package)
            print(f"skip: {package} is not installed")
    for name in wanted or NETWORKS:
        if PACKAGES.get(name.split("_")[0]) in missing:
            continue
        try:
            export(name, target, way)
        except Exception as error:  # an exporter refuses in many ways
            failed += 1
            print(f"{name}: PyTorch did not export it: {type(error).__name__}: {str(error).splitlines()[0]}")
    print(f"{len(wanted or NETWORKS)} networks, {failed} not exported")
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
