"""Makes the golden files of `tests/it/golden.rs` with PyTorch, in double precision on the CPU.

    python make_golden.py

Each file holds three training steps (Adam, learning rate 1e-3) of one network
from given weights on a given batch: the scores and the loss before every step, and the parameters
and running statistics after the last one. Weights and batch come from a small generator that the
Rust test has as well, so that only outcomes are stored: every value of a parameter with at most
`FULL` of them, and of a larger one its sum, its sum of absolute values and `SAMPLES` values spread
evenly. To add a case, add a line to `CASES`; to add a loss, a function to `LOSSES`.

`mlp5_methods` and `resnet20_methods` do the same for every risk estimator, written here from its
formula (Theorem 1, sections V and VI) on groups and priors that depend on the row and class
numbers alone; of every parameter they store `BRIEF` values. Adam's eps is 1e-4 in them and in `mlp5_full`: at the default
1e-8 a gradient that is zero but for rounding moves its weight by the whole learning rate, and two
correct programs part. The images are few and small for a like reason: no ReLU may lie within rounding of its kink.

Made with PyTorch 2.15.0; any version 2 should do.
"""

import json
import pathlib
import sys

import torch
import torch.nn.functional as F

HERE = pathlib.Path(__file__).parent
sys.path.insert(0, str(HERE.parents[2] / "examples"))
from step_torch import Mlp, ResNet  # noqa: E402

FULL = 300
SAMPLES = 24
BRIEF = 5
STEPS = 3
MASK = (1 << 64) - 1


def uniform(stream, n):
    """`n` numbers in [-1, 1) that depend on `stream` alone: SplitMix64, rounded to f32."""
    state, out = (stream * 0x632BE59BD9B4E019) & MASK, []
    for _ in range(n):
        state = (state + 0x9E3779B97F4A7C15) & MASK
        z = state
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
        z ^= z >> 31
        out.append((z >> 40) / (1 << 23) - 1.0)
    return torch.tensor(out, dtype=torch.float32).to(torch.float64)


def fill(model):
    """Parameter number i takes stream i + 1; how it is scaled depends on what it is."""
    state = {n: t for n, t in model.state_dict().items() if not n.endswith("num_batches_tracked")}
    for stream, (name, tensor) in enumerate(state.items(), 1):
        u = uniform(stream, tensor.numel()).reshape(tensor.shape)
        if tensor.dim() > 1:
            # Rounded to f32, as the Rust side computes it.
            u = (u * (6.0 / tensor[0].numel()) ** 0.5).to(torch.float32).to(torch.float64)
        elif name.endswith("running_var") or is_scale(model, name):
            u = 1.0 + 0.25 * u
        else:
            u = 0.25 * u
        tensor.copy_(u)


def is_scale(model, name):
    module = model.get_submodule(name.rpartition(".")[0])
    batch_norm = isinstance(module, (torch.nn.BatchNorm1d, torch.nn.BatchNorm2d))
    return batch_norm and name.endswith(".weight")


def sigmoid_loss(logits):
    """Mean over rows of sum_j sigmoid(-s_j f_j), where s_j is 1 for j = row mod k and else -1."""
    n, k = logits.shape
    signs = 2.0 * F.one_hot(torch.arange(n) % k, k).to(logits.dtype) - 1.0
    return torch.sigmoid(-signs * logits).sum(1).mean()


def groups_of(n, k):
    """Row r is labelled with class r mod (k + 1) if that is observed, and else in the pool."""
    return [r % (k + 1) if r % (k + 1) < k - 1 else None for r in range(n)]


def priors_of(k):
    """The negative class has 0.1; observed class i a share of the rest in proportion to i + 1."""
    total = k * (k - 1) / 2
    return [0.9 * (i + 1) / total for i in range(k - 1)], 0.1


def estimator(method):
    """The objective of one method with the sigmoid surrogate 1 / (1 + e^z), as a function of scores."""

    def ell(z):
        return torch.sigmoid(-z)

    def own(f, i):
        return ell(f[:, i]) + ell(-f[:, -1])

    def negative(f):
        return ell(f[:, -1]) + ell(-f[:, :-1].max(1).values)

    def one_versus_rest(f, y):
        k = f.shape[1]
        others = sum(ell(-f[:, j]) for j in range(k) if j != y)
        return ell(f[:, y]) + others / (k - 1)

    corrections = {"abs": torch.abs, "nn": torch.relu, "ure": lambda x: x}
    stem, _, last = method.rpartition("-")
    g = corrections.get(last)

    def objective(logits):
        n, k = logits.shape
        if method == "supervised":
            return F.cross_entropy(logits, torch.arange(n) % k)
        groups = groups_of(n, k)
        rows = [logits[[r for r in range(n) if groups[r] == i]] for i in range(k - 1)]
        pool = logits[[r for r in range(n) if groups[r] is None]]
        pi, pi_k = priors_of(k)
        mu = [own(rows[i], i).mean() for i in range(k - 1)]
        if stem == "csmpu" and g:
            inner = sum(2 * pi[i] * g(mu[i]) for i in range(k - 1))
            return g(inner + g(negative(pool).mean() - 2 * (1 - pi_k)))
        if stem == "csmpu-exact":
            nu = [negative(rows[i]).mean() for i in range(k - 1)]
            part = negative(pool).mean() - sum(p * v for p, v in zip(pi, nu))
            return sum(p * m for p, m in zip(pi, mu)) + g(part)
        if stem == "csmpu-ref":
            labelled = sum(len(rows[i]) / n * mu[i] for i in range(k - 1))
            return labelled + len(pool) / n * g(negative(pool).mean() - (1 - pi_k))
        if stem == "eulac":

            def squared(f, y):
                signs = torch.full((k,), -1.0).index_fill(0, torch.tensor([y]), 1.0)
                return ((1 - signs * f) ** 2 / 4).sum(1).mean()

            part = squared(pool, k - 1) - sum(p * squared(x, k - 1) for p, x in zip(pi, rows))
            return sum(p * squared(x, i) for i, (p, x) in enumerate(zip(pi, rows))) + g(part)
        if method == "mpu-ml":
            odds = torch.tensor([len(rows[i]) / pi[i] for i in range(k - 1)])

            def log_groups(f):
                drawn = torch.log_softmax(f, 1)[:, :-1] + odds.log()
                own = torch.full((len(f), 1), float(len(pool))).log()
                return torch.log_softmax(torch.cat([drawn, own], 1), 1)

            total = sum(log_groups(x)[:, i].sum() for i, x in enumerate(rows))
            return -(total + log_groups(pool)[:, -1].sum()) / n
        if method == "csmpu-st":
            # The target of a pool row depends on its place in the pool alone.
            place = torch.arange(len(pool))[:, None] + torch.arange(k)[None, :]
            weights = 1.0 + (place % 5)
            targets = weights / weights.sum(1, keepdim=True)
            targets = torch.cat([0.5 * targets[:, :-1], targets[:, -1:]], 1)
            labelled = sum(0.5 * p * F.cross_entropy(x, torch.full((len(x),), i)) for i, (p, x) in enumerate(zip(pi, rows)))
            return labelled - (targets * torch.log_softmax(pool, 1)).sum(1).mean()
        rest = one_versus_rest(pool, k - 1).mean()
        if method == "ure-ovr":
            gaps = [one_versus_rest(x, i) - one_versus_rest(x, k - 1) for i, x in enumerate(rows)]
            return sum(p * gap.mean() for p, gap in zip(pi, gaps)) + rest
        if method == "area":
            return rest + k / (k - 1) * sum(p * m for p, m in zip(pi, mu))
        assert method == "biased-super", method
        return sum(one_versus_rest(x, i).mean() for i, x in enumerate(rows)) + rest

    return objective


METHODS = [f"csmpu{kind}-{g}" for kind in ("", "-exact", "-ref") for g in ("abs", "nn", "ure")]
METHODS += ["ure-ovr", "area", "biased-super", "eulac-abs", "eulac-nn", "eulac-ure", "mpu-ml", "csmpu-st", "supervised"]
LOSSES = {"sigmoid": sigmoid_loss} | {method: estimator(method) for method in METHODS}


def mlp(inputs, hidden, outputs):
    spec = {"kind": "mlp", "inputs": inputs, "hidden": hidden, "outputs": outputs}
    return spec, Mlp(inputs, hidden, outputs), (inputs,)


def resnet(channels, height, width, depth, outputs):
    spec = {"kind": "resnet", "channels": channels, "height": height, "width": width}
    spec |= {"depth": depth, "outputs": outputs}
    return spec, ResNet(channels, depth, outputs), (channels, height, width)


CASES = {
    "mlp5_small": (mlp(12, [16] * 4, 3), 24, "sigmoid", 1e-8),
    "mlp5_full": (mlp(784, [300] * 4, 4), 16, "sigmoid", 1e-4),
    "resnet20_small": (resnet(3, 8, 8, 20, 4), 6, "sigmoid", 1e-8),
    "resnet8_odd": (resnet(1, 9, 7, 8, 2), 5, "sigmoid", 1e-8),
}


def digest(tensor, full=FULL, samples=SAMPLES):
    flat = tensor.detach().flatten().tolist()
    if len(flat) <= full:
        return {"values": [round_to(v) for v in flat]}
    step = len(flat) / samples
    places = [int(i * step) for i in range(samples)]
    return {
        "sum": round_to(sum(flat)),
        "sum_abs": round_to(sum(abs(v) for v in flat)),
        "samples": [[i, round_to(flat[i])] for i in places],
    }


def round_to(value):
    return float(f"{value:.8g}")


def golden(network, n_rows, loss_name, sizes=(FULL, SAMPLES), eps=1e-8):
    spec, model, shape = network
    model = model.to(torch.float64)
    with torch.no_grad():
        fill(model)
    size = n_rows
    for s in shape:
        size *= s
    batch = uniform(0, size).reshape(n_rows, *shape)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3, eps=eps)
    model.train()
    steps = []
    for _ in range(STEPS):
        optimizer.zero_grad()
        logits = model(batch)
        loss = LOSSES[loss_name](logits)
        loss.backward()
        optimizer.step()
        rows = [[round_to(v) for v in row] for row in logits.tolist()]
        steps.append({"loss": loss.item(), "logits": rows})
    model.eval()
    with torch.no_grad():
        scores = [[round_to(v) for v in row] for row in model(batch).tolist()]
    state = model.state_dict().items()
    params = {n: digest(t, *sizes) for n, t in state if not n.endswith("num_batches_tracked")}
    outcome = {"made_with": f"PyTorch {torch.__version__}", "spec": spec, "n_rows": n_rows}
    outcome["eps"] = eps
    return outcome | {"loss": loss_name, "steps": steps, "eval_logits": scores, "params": params}


def write(name, cases):
    path = HERE / f"{name}.json"
    path.write_text("[" + ",\n".join(json.dumps(case) for case in cases) + "]\n")
    print(f"{path.name}: {path.stat().st_size} bytes")
    for case in cases:
        print(f"  {case['loss']}: losses {[s['loss'] for s in case['steps']]}")


if __name__ == "__main__":
    for name, (network, n_rows, loss_name, eps) in CASES.items():
        write(name, [golden(network, n_rows, loss_name, eps=eps)])
    brief = {"sizes": (BRIEF, BRIEF), "eps": 1e-4}
    write("mlp5_methods", [golden(mlp(20, [300] * 4, 4), 20, m, **brief) for m in METHODS])
    write("resnet20_methods", [golden(resnet(1, 8, 8, 20, 3), 12, m, **brief) for m in METHODS])
