"""Times the training steps of `step.rs` in PyTorch on the CPU, one line per variant.

    python step_torch.py [--rounds N] [--threads N] [--only mlp|resnet] [--no-compile]
                         [--ours PATH_OF_THE_BUILT_EXAMPLE]

The network, loss and batch are those of `step.rs`; the losses of the first steps are printed so
that both can be seen to compute the same thing. With `--ours` the fused path of `step.rs` takes
turns with PyTorch. Printed are medians over rounds of the time on the clock and on the processor
(which other work on the machine disturbs less), and how many times as fast as PyTorch eager.
"""

import argparse
import statistics
import subprocess
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


def batch(n, shape, k):
    """The inputs and signs of `step.rs`: a Weyl sequence, so that both need no generator."""
    size = n
    for s in shape:
        size *= s
    i = torch.arange(size, dtype=torch.float64)
    x = ((i * 0.6180339887498949) % 1.0 * 2.0 - 1.0).to(torch.float32).reshape(n, *shape)
    j = torch.arange(n * k).reshape(n, k)
    signs = torch.where(j % k == (j // k) % k, 1.0, -1.0)
    return x, signs


def fill(model):
    """The weights of `step.rs`: a Weyl sequence scaled by 1/sqrt(fan_in), biases zero."""
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


def loss_of(logits, signs):
    """Mean over rows of sum_j sigmoid(-s_j f_j)."""
    return torch.sigmoid(-signs * logits).sum(1).mean()


def stepper(model, x, signs, compiled):
    fill(model)
    model.train()
    opt = torch.optim.Adam(model.parameters(), lr=1e-3, fused=True)

    def forward_loss():
        return loss_of(model(x), signs)

    if compiled:
        forward_loss = torch.compile(forward_loss)

    def step():
        opt.zero_grad(set_to_none=True)
        loss = forward_loss()
        loss.backward()
        opt.step()
        return loss

    return step


def main():
    args = argparse.ArgumentParser()
    args.add_argument("--rounds", type=int, default=7)
    args.add_argument("--threads", type=int, default=1)
    args.add_argument("--only", choices=("mlp", "resnet"))
    args.add_argument("--no-compile", action="store_true")
    args.add_argument("--ours", help="the built example `step`")
    args = args.parse_args()
    torch.set_num_threads(args.threads)

    cases = []
    if args.only != "resnet":
        x, s = batch(512, (784,), 4)
        cases.append(("mlp5 eager", 512, 20, stepper(Mlp(784, [300] * 4, 4), x, s, False)))
        if not args.no_compile:
            cases.append(("mlp5 compiled", 512, 20, stepper(Mlp(784, [300] * 4, 4), x, s, True)))
        if args.ours:
            cases.append(("mlp5 ours", 512, 20, None))
    if args.only != "mlp":
        x, s = batch(128, (3, 32, 32), 10)
        cases.append(("resnet20 eager nchw", 128, 2, stepper(ResNet(3, 20, 10), x, s, False)))
        model = ResNet(3, 20, 10).to(memory_format=torch.channels_last)
        last = x.to(memory_format=torch.channels_last)
        cases.append(("resnet20 eager nhwc", 128, 2, stepper(model, last, s, False)))
        if args.ours:
            cases.append(("resnet20 ours", 128, 2, None))

    times = {name: [] for name, *_ in cases}
    broken = set()
    for name, _, _, step in cases:
        if step is None:
            continue
        try:
            losses = [step().item() for _ in range(3)]
            print(f"{name}: losses of the first three steps {losses}")
        except Exception as error:  # torch.compile needs a C++ compiler
            broken.add(name)
            print(f"{name}: does not run here: {type(error).__name__}")
    for _ in range(args.rounds):
        for name, _, repeats, step in cases:
            if name in broken:
                continue
            if step is None:
                times[name].append(ours(args, name.split()[0], repeats))
                continue
            clock, busy = time.perf_counter(), time.process_time()
            for _ in range(repeats):
                step()
            clock, busy = time.perf_counter() - clock, time.process_time() - busy
            times[name].append((clock / repeats, busy / repeats))
    eager = {}
    for name, rows, _, _ in cases:
        if not times[name]:
            continue
        clock, busy = (statistics.median(t) for t in zip(*times[name]))
        best_clock, best_busy = (min(t) for t in zip(*times[name]))
        first = eager.setdefault(name.split()[0], (clock, busy, best_clock, best_busy))
        print(
            f"{name:20} {clock * 1e3:9.3f} ms/step on the clock ({first[0] / clock:4.2f} x) "
            f"{busy * 1e3:9.3f} on the processor ({first[1] / busy:4.2f} x) "
            f"best {best_clock * 1e3:9.3f} ({first[2] / best_clock:4.2f} x) "
            f"{rows / clock:8.0f} samples/s"
        )


def ours(args, network, repeats):
    """Mean times of a step of the fused path of `step.rs`."""
    which = "mlp" if network == "mlp5" else "resnet"
    command = [args.ours, "steps", which, str(repeats), str(args.threads)]
    text = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    steps = [[float(word) for word in line.split()] for line in text.splitlines()]
    return tuple(statistics.fmean(column) for column in zip(*steps))


if __name__ == "__main__":
    main()
