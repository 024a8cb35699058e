"""Message passing, masks and selections as models over graphs, sets and experts use them, against eager PyTorch: the programs
run in the interpreter."""

import pytest
import torch
from torch import nn
from torch.nn import functional as F

from backends.acrobat.errors import InstanceError
from backends.acrobat.frontend import build
from backends.acrobat.ir.interpreter import Interpreter
from backends.acrobat.tests.zoo.check import agrees, as_tensors


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(4, 4)
        self.gate = nn.Linear(4, 3)
        self.experts = nn.ModuleList(nn.Linear(4, 4) for _ in range(3))
        self.bag = nn.EmbeddingBag(10, 4, mode="mean")


class Convolution(Model):
    """A graph convolution with self-loops, written with `scatter_add` as PyG does without its own library."""

    def forward(self, x, edges):
        loops = torch.arange(x.size(0)).unsqueeze(0).repeat(2, 1)
        edges = torch.cat([edges, loops], dim=1)
        row, col = edges
        degree = torch.zeros(x.size(0)).scatter_add_(0, col, torch.ones(edges.size(1)))
        norm = degree.pow(-0.5)[row] * degree.pow(-0.5)[col]
        messages = norm.unsqueeze(1) * self.linear(x)[row]
        out = torch.zeros_like(x).scatter_add(0, col.unsqueeze(-1).expand(-1, 4), messages)
        return out, edges, torch.bincount(col, minlength=x.size(0))


class Attention(Model):
    """A softmax over the edges into each node; means, maxima and products of them."""

    def forward(self, x, edges):
        source, target = edges
        scores = F.leaky_relu((x[source] * x[target]).sum(-1), 0.2)
        highest = torch.full((x.size(0),), float("-inf")).scatter_reduce(0, target, scores, reduce="amax")
        scores = torch.exp(scores - highest[target])
        scores = scores / (torch.zeros(x.size(0)).scatter_add(0, target, scores)[target] + 1e-16)
        places = target.view(-1, 1).expand_as(x[source])
        mean = torch.zeros_like(x).scatter_reduce_(0, places, x[source], reduce="mean", include_self=False)
        product = torch.ones_like(x).scatter_reduce(0, places, x[source], reduce="prod")
        return torch.zeros_like(x).index_add_(0, target, x[source] * scores.unsqueeze(-1)), mean, product


class ElementWise(Model):
    """An index that differs from column to column."""

    def forward(self, x, edges):
        places = torch.stack([edges[0], edges[1], edges[0], edges[0]], dim=1)
        more = x[edges[1]]
        total = torch.zeros_like(x).scatter_add(0, places, more)
        return total, torch.zeros_like(x).scatter_reduce(0, places, more, "amin", include_self=False)


class Arithmetic(Model):
    """Tensors of ints stay such: sums, products, bounds, comparisons."""

    def forward(self, x, edges):
        a, b = edges
        pair = a * x.size(0) + b
        same = a == b
        return pair, pair // 2, -a, 3 - b, pair % 3, (a - b).abs(), pair.clamp(min=1, max=4), same, same.long(), a / 2


class Masks(Model):
    """Masks as results, as numbers, and their places in one and two dimensions."""

    def forward(self, x, edges):
        mask = x > 0.3
        i, j = torch.where(mask)
        right = (self.gate(x).argmax(-1) == edges[0][: len(x)].clamp(max=2).repeat(len(x))[: len(x)]).float().mean()
        return mask, mask.sum(dim=1), mask.sum(0).float() / 2, x[i, j], mask.nonzero(), (x * 3).long(), right


class Mixture(Model):
    """Mixtral's loop over experts."""

    def forward(self, x, edges):
        weights, chosen = torch.topk(F.softmax(self.gate(x), dim=1), 2, dim=-1)
        out = torch.zeros((x.size(0), 4))
        mask = F.one_hot(chosen, num_classes=3).permute(2, 1, 0)
        for i in range(3):
            nth, token = torch.where(mask[i])
            current = x[None, token].reshape(-1, 4)
            out.index_add_(0, token, self.experts[i](current) * weights[token, nth, None])
        return out


class Inner(Model):
    """Masks in the result of a part of the model are results, too."""

    def __init__(self):
        super().__init__()
        self.inner = Masks()

    def forward(self, x, edges):
        return self.inner(x, edges), x > 0


class Bags(Model):
    """Bags that begin at offsets, one of them empty; tensors filled with a number of the run."""

    def forward(self, x, edges):
        ids = edges[0]
        filled = torch.full((4,), x[0, 0].item()), torch.full((2,), 3), torch.full_like(x, float(len(x)))
        return self.bag(ids, torch.tensor([0, 1, 1])), self.bag(ids.unsqueeze(0)), filled


def normalised(scores, index, n):
    """PyG's softmax over the edges into each node, of several heads."""
    places = index.unsqueeze(-1).expand_as(scores)
    highest = torch.full((n, scores.size(1)), -1e9).scatter_reduce(0, places, scores, reduce="amax")
    out = (scores - highest[index]).exp()
    return out / torch.zeros(n, scores.size(1)).scatter_add(0, places, out)[index]


class Heads(Model):
    """A function of the file that expands an index; parts of a tensor assigned to with `[places, :]`."""

    def forward(self, x, edges):
        weights = normalised(self.gate(x)[edges[0]], edges[1], x.size(0))
        copy = torch.zeros_like(x)
        copy[edges[0][:1], :] = self.linear(x[edges[1][:1], :])
        return weights, copy


class Counted(Model):
    """A dictionary that only `get` tells the type of."""

    def forward(self, x, edges):
        counts: dict[int, int] = {}
        for i in edges[0].tolist():
            counts[i] = counts.get(i, 0) + 1
        return [counts[i] for i in sorted(counts)], torch.tensor([(float(a), 1.0) for a in counts.values()])


class Gathered(Model):
    """A softmax over the edges into each node, whose index is widened to the scores, which may have one column only."""

    def forward(self, x, edges):
        results = []
        for scores in (self.gate(x)[edges[0]], x[edges[0]][:, :1]):
            scores = scores.exp()
            places = edges[1].unsqueeze(-1).expand_as(scores)
            total = torch.zeros(x.size(0), scores.size(1)).scatter_add(0, places, scores)
            results.append((places, scores / total.gather(0, places)))
        heads = self.gate(x).unsqueeze(-1) * x[:, None, :2] + results[0][1][0].unsqueeze(-1)
        columns = torch.stack([edges[0], edges[1]], dim=1)
        fewer = x.scatter(0, edges[1].view(-1, 1), 5.0), x.scatter(0, columns[:1], x[:1, :2])
        return results, heads, x.gather(0, columns).sum(0), edges[1].expand_as(x[edges[0]].t()), fewer


class OfThreeDimensions(Model):
    """Messages of several heads: what goes to one node is added by one int for a message, or by one for each element."""

    def forward(self, x, edges):
        source, target = edges
        heads = self.gate(x).unsqueeze(-1) * torch.ones(2)
        messages = heads[source]
        places = target.view(-1, 1, 1).expand_as(messages)
        mixed = torch.stack(
            [torch.stack([source, target], 1), torch.stack([target, target], 1), torch.stack([source, source], 1)], 1
        )
        zeros = torch.zeros_like(heads)
        total = zeros.scatter_add(0, places, messages)
        two = self.gate(x[0]).view(3, 1, 1) * torch.ones(2)
        chosen = torch.stack([torch.tensor([[2], [0]]), torch.tensor([[1], [1]]), torch.tensor([[0], [1]])])
        return (
            (total, zeros.scatter_add(0, mixed, messages), zeros.scatter_reduce(0, places, messages, "amax")),
            (total.gather(0, places), torch.zeros(3, 3, 1).scatter(1, chosen, two[:, :, :1].expand(3, 2, 1))),
            (
                torch.zeros(3, 3, 1).scatter_add(1, chosen, two[:, :, :1].expand(3, 2, 1)),
                target.view(-1, 1, 1).expand(-1, 3, 2),
            ),
        )


def graph(n, seed):
    torch.manual_seed(seed)
    return torch.randn(n, 4), torch.randint(0, n, (2, 2 * n - 1))


GRAPHS = [graph(n, n) for n in (2, 3, 5)]


def kinds(value):
    """For each tensor of a result whether it has floats, ints or bools; the interpreter computes in float64."""
    if isinstance(value, torch.Tensor):
        return ["float" if value.is_floating_point() else value.dtype]
    return [k for v in value for k in kinds(v)] if isinstance(value, (tuple, list)) else [type(value)]


@pytest.mark.parametrize(
    "model",
    [Convolution, Attention, ElementWise, Arithmetic, Masks, Mixture, Inner, Bags, Heads, Counted, Gathered, OfThreeDimensions],
)
def test_agrees_with_eager(model):
    torch.manual_seed(1)
    module = model().eval()
    interpreter = Interpreter(agrees(module, GRAPHS, spread=True))
    with torch.no_grad():
        for instance in GRAPHS:
            assert kinds(as_tensors(interpreter.run(instance))) == kinds(module(*instance))


class Selected(nn.Module):
    """Masks that the instance has."""

    def forward(self, x, keep):
        return (
            x[keep].sum(0),
            (x * keep.unsqueeze(1)).sum(),
            x.masked_fill(~keep.unsqueeze(1), 0.0),
            keep.sum().item(),
            keep & (x[:, 0] > 0),
        )


def test_masks_of_the_instance():
    instances = [(x, torch.arange(len(x)) % 2 == 0) for x, _ in GRAPHS]
    agrees(Selected(), instances, spread=True)


class Added(nn.Module):
    def forward(self, x, places):
        return torch.zeros(2, 4).index_add(0, places, x)


def test_an_index_out_of_bounds_is_an_error():
    program = build(Added(), sample=[(x, torch.zeros(len(x), dtype=torch.long)) for x, _ in GRAPHS])
    with pytest.raises(InstanceError, match="index 2 is out of bounds for an extent of 2"):
        Interpreter(program).run((GRAPHS[0][0], torch.tensor([0, 2])))
