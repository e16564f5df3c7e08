"""A whole run in PyTorch, the peer of `mpu-cli train` in `cargo xtask bench train --only runs`.

    python run_torch.py loader|tuned EXAMPLES DATA EPOCHS THREADS SEED

Reads Fashion-MNIST in DATA, labels 4000 rows of each of the first three classes, puts 2000 others of each and 6000
of the fourth class into the pool, and trains MLP-5 with the paper's corrected risk, batches of 512 and Adam, with
the accuracy on the test rows after every epoch. `loader` is written as most people would: a DataLoader, and the
risk class by class. `tuned` keeps tensors in memory, compiles network and risk, and has the fused Adam. EXAMPLES is
the folder of `step_torch.py`, where the network is. Prints the accuracy after the last epoch and the
seconds of the training loop.
"""

import gzip
import sys
import time
from pathlib import Path

import numpy as np
import torch
from torch.utils.data import DataLoader, TensorDataset

K, PRIOR, BATCH = 4, 0.5, 512


def images(path):
    raw = np.frombuffer(gzip.decompress(path.read_bytes()), np.uint8, offset=16)
    return torch.from_numpy(raw.reshape(-1, 784).astype(np.float32) / 255.0)


def labels(path):
    raw = np.frombuffer(gzip.decompress(path.read_bytes()), np.uint8, offset=8)
    return torch.from_numpy(raw.astype(np.int64))


def read(folder):
    """Rows with their label, or -1 in the pool; test rows with their class."""
    x, y = images(folder / "train-images-idx3-ubyte.gz"), labels(folder / "train-labels-idx1-ubyte.gz")
    rows, marks = [], []
    for c in range(K):
        of_class = torch.nonzero(y == c).flatten()
        of_class = of_class[torch.randperm(len(of_class))]
        n_labelled = 4000 if c < K - 1 else 0
        n_pool = 2000 if c < K - 1 else 6000
        rows.append(of_class[: n_labelled + n_pool])
        marks += [torch.full((n_labelled,), c), torch.full((n_pool,), -1)]
    test_x, test_y = images(folder / "t10k-images-idx3-ubyte.gz"), labels(folder / "t10k-labels-idx1-ubyte.gz")
    kept = test_y < K
    return x[torch.cat(rows)], torch.cat(marks), test_x[kept], test_y[kept]


def risk_by_class(z, y):
    """The corrected risk, a class at a time."""
    total = 0.0
    for c in range(K - 1):
        own = z[y == c]
        if len(own):
            loss = torch.sigmoid(-own[:, c]) + torch.sigmoid(own[:, -1])
            total = total + 2 * PRIOR / (K - 1) * loss.mean().abs()
    pool = z[y < 0]
    negative = torch.sigmoid(-pool[:, -1]) + torch.sigmoid(pool[:, :-1].max(1).values)
    return (total + (negative.mean() - 2 * PRIOR).abs()).abs()


def risk_by_masks(z, y):
    """The same without shapes that depend on the labels."""
    own = (y[:, None] == torch.arange(K - 1)).float()
    loss = torch.sigmoid(-z[:, :-1]) + torch.sigmoid(z[:, -1:])
    means = (own * loss).sum(0) / own.sum(0).clamp(min=1)
    pool = (y < 0).float()
    negative = torch.sigmoid(-z[:, -1]) + torch.sigmoid(z[:, :-1].max(1).values)
    negative = (pool * negative).sum() / pool.sum()
    return ((2 * PRIOR / (K - 1) * means.abs()).sum() + (negative - 2 * PRIOR).abs()).abs()


def loader(model, x, y, test_x, test_y, epochs):
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    train = DataLoader(TensorDataset(x, y), batch_size=BATCH, shuffle=True)
    test = DataLoader(TensorDataset(test_x, test_y), batch_size=BATCH)
    for _ in range(epochs):
        model.train()
        for xb, yb in train:
            optimizer.zero_grad()
            risk_by_class(model(xb), yb).backward()
            optimizer.step()
        model.eval()
        with torch.no_grad():
            right = sum((model(xb).argmax(1) == yb).sum().item() for xb, yb in test)
    return right / len(test_x)


def tuned(model, x, y, test_x, test_y, epochs):
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3, fused=True)
    risk = torch.compile(lambda xb, yb: risk_by_masks(model(xb), yb), dynamic=False)
    for _ in range(epochs):
        model.train()
        for rows in torch.randperm(len(x)).split(BATCH):
            optimizer.zero_grad(set_to_none=True)
            risk(x[rows], y[rows]).backward()
            optimizer.step()
        model.eval()
        with torch.inference_mode():
            accuracy = (model(test_x).argmax(1) == test_y).float().mean().item()
    return accuracy


def main():
    way, examples, data, epochs, threads, seed = sys.argv[1:]
    sys.path.insert(0, examples)
    from step_torch import Mlp

    torch.set_num_threads(int(threads))
    torch.manual_seed(int(seed))
    sets = read(Path(data))
    model = Mlp(784, [300] * 4, K)
    start = time.perf_counter()
    accuracy = {"loader": loader, "tuned": tuned}[way](model, *sets, int(epochs))
    print("accuracy", accuracy)
    print("seconds", time.perf_counter() - start)


if __name__ == "__main__":
    main()
