"""Training steps in PyTorch on request: the peer of `step.rs` in `cargo xtask bench train`.

    python step_torch.py mlp5|resnet20 THREADS

Reads lines `VARIANT STEPS` and answers each with the seconds these steps took and the loss of the last one,
or with `unavailable REASON`. The variants: `eager` (fused Adam), `eager-unfused` (PyTorch's default Adam),
`compiled` (torch.compile, fused Adam), `channels-last` (eager in that memory format, images only), `products`
and `openblas` (the matrix products of a perceptron's step and nothing else, by PyTorch and by NumPy). Network, weights, batch and loss are those
of `step.rs`; `tests/it/golden/make_golden.py` takes the networks from here.
"""

import sys
import time

import torch
import torch.nn.functional as F
from torch import nn


class Mlp(nn.Module):
    """Linear -> ReLU -> BatchNorm for every hidden layer, then Linear."""

    def __init__(self, inputs, hidden, outputs):
        super().__init__()
        widths = [inputs, *hidden]
        self.depth = len(hidden)
        for i, (a, b) in enumerate(zip(widths, widths[1:]), 1):
            setattr(self, f"fc{i}", nn.Linear(a, b))
            setattr(self, f"bn{i}", nn.BatchNorm1d(b))
        setattr(self, f"fc{self.depth + 1}", nn.Linear(widths[-1], outputs))

    def forward(self, x):
        for i in range(1, self.depth + 1):
            x = getattr(self, f"bn{i}")(F.relu(getattr(self, f"fc{i}")(x)))
        return getattr(self, f"fc{self.depth + 1}")(x)


class Block(nn.Module):
    """Two 3x3 convolutions and an option-A shortcut: subsample, pad the new planes with zeros."""

    def __init__(self, inputs, planes, stride):
        super().__init__()
        self.conv1 = nn.Conv2d(inputs, planes, 3, stride, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(planes)
        self.conv2 = nn.Conv2d(planes, planes, 3, 1, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(planes)
        self.stride, self.extra = stride, planes - inputs

    def forward(self, x):
        y = self.bn2(self.conv2(F.relu(self.bn1(self.conv1(x)))))
        if self.stride != 1:
            x = x[:, :, ::2, ::2]
        if self.extra:
            half = self.extra // 2
            x = F.pad(x, (0, 0, 0, 0, half, self.extra - half))
        return F.relu(y + x)


class ResNet(nn.Module):
    """ResNet of depth 6n + 2 for small images."""

    def __init__(self, channels, depth, outputs):
        super().__init__()
        n = (depth - 2) // 6
        self.conv1 = nn.Conv2d(channels, 16, 3, 1, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(16)
        inputs = 16
        for stage, planes in enumerate((16, 32, 64), 1):
            blocks = []
            for i in range(n):
                blocks.append(Block(inputs, planes, 2 if stage > 1 and i == 0 else 1))
                inputs = planes
            setattr(self, f"layer{stage}", nn.Sequential(*blocks))
        self.linear = nn.Linear(64, outputs)

    def forward(self, x):
        x = F.relu(self.bn1(self.conv1(x)))
        x = self.layer3(self.layer2(self.layer1(x)))
        return self.linear(x.mean((2, 3)))


def batch(n, shape):
    """The inputs of `step.rs`: a Weyl sequence, so that neither side needs a generator."""
    size = n
    for s in shape:
        size *= s
    i = torch.arange(size, dtype=torch.float64)
    return ((i * 0.6180339887498949) % 1.0 * 2.0 - 1.0).to(torch.float32).reshape(n, *shape)


def fill(model):
    """The weights of `step.rs`: a Weyl sequence scaled by sqrt(6/fan_in), biases zero."""
    for p in model.parameters():
        with torch.no_grad():
            if p.dim() > 1:
                fan_in = p[0].numel()
                i = torch.arange(p.numel(), dtype=torch.float64)
                w = (i * 0.7548776662466927) % 1.0 * 2.0 - 1.0
                p.copy_((w * (6.0 / fan_in) ** 0.5).to(torch.float32).reshape(p.shape))
    for m in model.modules():
        if isinstance(m, nn.Linear):
            nn.init.zeros_(m.bias)


def csmpu_abs(n, k):
    """The paper's risk with the sigmoid surrogate and absolute values, on the groups of `step.rs`."""
    group = torch.arange(n) % (2 * k)
    labelled = torch.nonzero(group < k - 1).flatten()
    classes = group[labelled]
    pool = torch.nonzero(group >= k - 1).flatten()
    counts = torch.bincount(classes, minlength=k - 1).to(torch.float32)
    prior = 0.5 / (k - 1)

    def risk(logits):
        rows = logits[labelled]
        own = torch.sigmoid(-rows.gather(1, classes[:, None])[:, 0]) + torch.sigmoid(rows[:, -1])
        means = torch.zeros(k - 1).index_add(0, classes, own) / counts
        rest = logits[pool]
        negative = torch.sigmoid(-rest[:, -1]) + torch.sigmoid(rest[:, :-1].max(1).values)
        inner = (2 * prior * means.abs()).sum() + (negative.mean() - 2 * 0.5).abs()
        return inner.abs()

    return risk


def stepper(model, x, k, compiled=False, fused=True):
    fill(model)
    model.train()
    opt = torch.optim.Adam(model.parameters(), lr=1e-3, fused=fused)
    risk = csmpu_abs(len(x), k)

    def forward():
        return risk(model(x))

    if compiled:
        forward = torch.compile(forward)

    def step():
        opt.zero_grad(set_to_none=True)
        loss = forward()
        loss.backward()
        opt.step()
        return loss

    return step


def products(n, widths):
    """Every matrix product of a perceptron's step into buffers that are kept."""
    layers = []
    for index, (a, b) in enumerate(zip(widths, widths[1:])):
        x, w, d = torch.randn(n, a), torch.randn(b, a), torch.randn(n, b)
        layers.append((index, x, w, d, torch.empty(n, b), torch.empty(b, a), torch.empty(n, a)))

    def step():
        with torch.no_grad():
            for index, x, w, d, y, dw, dx in layers:
                torch.mm(x, w.t(), out=y)
                torch.mm(d.t(), x, out=dw)
                if index:
                    torch.mm(d, w, out=dx)
        return torch.tensor(float("nan"))

    return step


def openblas(n, widths):
    """The same by NumPy, whose wheels come with OpenBLAS."""
    import numpy as np

    draw, layers = np.random.default_rng(0), []
    for index, (a, b) in enumerate(zip(widths, widths[1:])):
        x, w, d = (draw.random(shape, np.float32) for shape in ((n, a), (b, a), (n, b)))
        layers.append((index, x, w, d, np.empty((n, b), "f4"), np.empty((b, a), "f4"), np.empty((n, a), "f4")))

    def step():
        for index, x, w, d, y, dw, dx in layers:
            np.matmul(x, w.T, out=y)
            np.matmul(d.T, x, out=dw)
            if index:
                np.matmul(d, w, out=dx)
        return torch.tensor(float("nan"))

    return step


def variants(network):
    """What makes each variant; made when it is first asked for."""
    if network == "mlp5":
        x, k = batch(512, (784,)), 4

        def model():
            return Mlp(784, [300] * 4, k)
    else:
        x, k = batch(128, (3, 32, 32)), 10

        def model():
            return ResNet(3, 20, k)

    made = {
        "eager": lambda: stepper(model(), x, k),
        "eager-unfused": lambda: stepper(model(), x, k, fused=False),
        "compiled": lambda: stepper(model(), x, k, compiled=True),
    }
    if network == "mlp5":
        widths = [784, 300, 300, 300, 300, k]
        made["products"] = lambda: products(512, widths)
        made["openblas"] = lambda: openblas(512, widths)
    else:
        last = {"memory_format": torch.channels_last}
        made["channels-last"] = lambda: stepper(model().to(**last), x.to(**last), k)
    return made


def main():
    network, threads = sys.argv[1], int(sys.argv[2])
    torch.set_num_threads(threads)
    made, steps = variants(network), {}
    for line in sys.stdin:
        name, count = line.split()
        try:
            if name not in steps:
                steps[name] = made[name]()
            start, loss = time.perf_counter(), None
            for _ in range(int(count)):
                loss = steps[name]()
            print(time.perf_counter() - start, loss.item(), flush=True)
        except Exception as error:  # torch.compile needs a C++ compiler
            print("unavailable", type(error).__name__, flush=True)


if __name__ == "__main__":
    main()
