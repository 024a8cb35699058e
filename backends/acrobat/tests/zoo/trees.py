"""Networks over trees."""

import torch
import torch.nn as nn
import torch.nn.functional as F

from backends.acrobat.tests.zoo.case import case, vector

VOCABULARY = 30


class Tree:
    """An ordinary class, as most tree repositories have it."""

    def __init__(self, value, children=()):
        self.value = value
        self.children = list(children)

    @property
    def is_leaf(self):
        return len(self.children) == 0

    def size(self):
        return 1 + sum(child.size() for child in self.children)


def nary_tree(rng, depth=4):
    count = rng.choice([0, 1, 2, 3]) if depth else 0
    return Tree(rng.randrange(VOCABULARY), [nary_tree(rng, depth - 1) for _ in range(count)])


def binary_tree(rng, leaves=None):
    leaves = leaves or rng.randint(1, 9)
    if leaves == 1:
        return Tree(rng.randrange(VOCABULARY))
    left = rng.randint(1, leaves - 1)
    return Tree(0, [binary_tree(rng, left), binary_tree(rng, leaves - left)])


class ChildSumTreeLSTM(nn.Module):
    """Dependency tree LSTM (Tai et al. 2015, equations 2 to 8), with the gates fused as the common implementations do."""

    def __init__(self, in_dim=8, mem_dim=6):
        super().__init__()
        self.mem_dim = mem_dim
        self.emb = nn.Embedding(VOCABULARY, in_dim)
        self.ioux = nn.Linear(in_dim, 3 * mem_dim)
        self.iouh = nn.Linear(mem_dim, 3 * mem_dim, bias=False)
        self.fx = nn.Linear(in_dim, mem_dim)
        self.fh = nn.Linear(mem_dim, mem_dim, bias=False)

    def node_forward(self, inputs, child_c, child_h):
        child_h_sum = torch.sum(child_h, dim=0, keepdim=True)
        iou = self.ioux(inputs) + self.iouh(child_h_sum)
        i, o, u = torch.split(iou, iou.size(1) // 3, dim=1)
        i, o, u = torch.sigmoid(i), torch.sigmoid(o), torch.tanh(u)
        f = torch.sigmoid(self.fh(child_h) + self.fx(inputs).repeat(len(child_h), 1))
        fc = torch.mul(f, child_c)
        c = torch.mul(i, u) + torch.sum(fc, dim=0, keepdim=True)
        h = torch.mul(o, torch.tanh(c))
        return c, h

    def forward(self, tree):
        states = [self.forward(child) for child in tree.children]
        if len(states) == 0:
            child_c = torch.zeros(1, self.mem_dim)
            child_h = torch.zeros(1, self.mem_dim)
        else:
            child_c, child_h = zip(*states)
            child_c, child_h = torch.cat(child_c, dim=0), torch.cat(child_h, dim=0)
        return self.node_forward(self.emb(torch.tensor([tree.value])), child_c, child_h)


@case(ChildSumTreeLSTM)
def child_sum_tree_lstm(rng):
    return nary_tree(rng)


class BinaryTreeLSTM(nn.Module):
    """Constituency tree LSTM with one forget gate for each child (Tai et al. 2015, section 3.2)."""

    def __init__(self, dim=6, classes=5):
        super().__init__()
        self.embedding = nn.Embedding(VOCABULARY, dim)
        self.leaf = nn.Linear(dim, 2 * dim)
        self.left = nn.Linear(dim, 5 * dim)
        self.right = nn.Linear(dim, 5 * dim, bias=False)
        self.out = nn.Linear(dim, classes)

    def encode(self, node):
        if node.is_leaf:
            o, c = self.leaf(self.embedding.weight[node.value]).chunk(2, -1)
            return torch.sigmoid(o) * torch.tanh(c), c
        (hl, cl), (hr, cr) = map(self.encode, node.children)
        i, fl, fr, o, u = (self.left(hl) + self.right(hr)).chunk(5, dim=-1)
        c = i.sigmoid() * u.tanh() + fl.sigmoid() * cl + fr.sigmoid() * cr
        return o.sigmoid() * c.tanh(), c

    def forward(self, tree):
        h, _ = self.encode(tree)
        return F.log_softmax(self.out(h), dim=-1)


@case(BinaryTreeLSTM)
def binary_tree_lstm(rng):
    return binary_tree(rng)


class RecursiveNeuralTensorNetwork(nn.Module):
    """Recursive neural tensor network (Socher et al. 2013, section 4.3): a prediction for every node, collected in a list."""

    def __init__(self, d=5, classes=3):
        super().__init__()
        self.embed = nn.Embedding(VOCABULARY, d)
        self.V = nn.Parameter(torch.randn(d, 2 * d, 2 * d) * 0.1)
        self.W = nn.Linear(2 * d, d)
        self.Ws = nn.Linear(d, classes)

    def compose(self, a, b):
        x = torch.cat([a, b])
        bilinear = torch.einsum("i,kij,j->k", x, self.V, x)
        return torch.tanh(bilinear + self.W(x))

    def traverse(self, node, predictions):
        if isinstance(node, int):
            vector = self.embed(torch.tensor(node))
        else:
            left, right = node
            vector = self.compose(self.traverse(left, predictions), self.traverse(right, predictions))
        predictions.append(self.Ws(vector))
        return vector

    def forward(self, tree):
        predictions = []
        self.traverse(tree, predictions)
        return torch.stack(predictions)


def nested_pairs(rng, leaves=None):
    leaves = leaves or rng.randint(1, 8)
    if leaves == 1:
        return rng.randrange(VOCABULARY)
    left = rng.randint(1, leaves - 1)
    return nested_pairs(rng, left), nested_pairs(rng, leaves - left)


@case(RecursiveNeuralTensorNetwork)
def recursive_neural_tensor_network(rng):
    return nested_pairs(rng)


class TreeGRU(nn.Module):
    """Tree GRU: PyTorch's own GRUCell, applied to a node and the mean of its children."""

    def __init__(self, dim=6):
        super().__init__()
        self.embedding = nn.Embedding(VOCABULARY, dim)
        self.cell = nn.GRUCell(dim, dim)
        self.register_buffer("initial", torch.zeros(dim))

    def forward(self, node):
        x = self.embedding.weight[node.value]
        if not node.children:
            return self.cell(x, self.initial)
        hidden = torch.stack([self(child) for child in node.children]).mean(dim=0)
        return self.cell(x, hidden)


@case(TreeGRU)
def tree_gru(rng):
    return nary_tree(rng)


class AttentiveTree(nn.Module):
    """A node attends over its children (as in Zhou et al. 2016, tree-structured attentive encoder)."""

    def __init__(self, dim=6):
        super().__init__()
        self.dim = dim
        self.embedding = nn.Embedding(VOCABULARY, dim)
        self.query = nn.Linear(dim, dim)
        self.key = nn.Linear(dim, dim)
        self.update = nn.Linear(2 * dim, dim)

    def forward(self, node):
        x = self.embedding(torch.tensor(node.value))
        if node.is_leaf:
            context = torch.zeros_like(x)
        else:
            children = torch.stack([self.forward(c) for c in node.children])
            scores = self.key(children) @ self.query(x) / self.dim**0.5
            context = F.softmax(scores, dim=0) @ children
        return torch.tanh(self.update(torch.cat((x, context), dim=-1)))


@case(AttentiveTree)
def attentive_tree(rng):
    return nary_tree(rng)


class RecursiveAutoencoder(nn.Module):
    """Recursive autoencoder (Socher et al. 2011): returns the root and the sum of the errors of reconstruction."""

    def __init__(self, dim=6):
        super().__init__()
        self.embedding = nn.Embedding(VOCABULARY, dim)
        self.encoder = nn.Sequential(nn.Linear(2 * dim, dim), nn.Tanh())
        self.decoder = nn.Sequential(nn.Linear(dim, 2 * dim), nn.Tanh())

    def forward(self, node):
        if node.is_leaf:
            return self.embedding.weight[node.value], 0.0
        left, left_loss = self.forward(node.children[0])
        right, right_loss = self.forward(node.children[1])
        both = torch.cat([left, right], dim=0)
        parent = self.encoder(both)
        loss = F.mse_loss(self.decoder(parent), both)
        return F.normalize(parent, dim=0), left_loss + right_loss + loss


@case(RecursiveAutoencoder)
def recursive_autoencoder(rng):
    return binary_tree(rng, rng.randint(2, 8))


class TreeConvolution(nn.Module):
    """Tree-based convolution over an abstract syntax tree (Mou et al. 2016): the weight of a child is a blend by its position."""

    def __init__(self, kinds=("Module", "Assign", "Call", "Name", "If"), dim=6):
        super().__init__()
        self.index = {kind: i for i, kind in enumerate(kinds)}
        self.embedding = nn.Embedding(len(kinds), dim)
        self.w_top = nn.Linear(dim, dim, bias=False)
        self.w_left = nn.Linear(dim, dim, bias=False)
        self.w_right = nn.Linear(dim, dim, bias=False)
        self.bias = nn.Parameter(torch.zeros(dim))
        self.out = nn.Linear(dim, 4)

    def window(self, node):
        top = self.embedding.weight[self.index[node["kind"]]]
        total = self.w_top(top) + self.bias
        n = len(node["children"])
        for i, child in enumerate(node["children"]):
            x = self.embedding.weight[self.index[child["kind"]]]
            right = 0.5 if n == 1 else i / (n - 1)
            total = total + (1 - right) * self.w_left(x) + right * self.w_right(x)
        return F.relu(total)

    def visit(self, node):
        windows = [self.window(node)]
        for child in node["children"]:
            windows.extend(self.visit(child))
        return windows

    def forward(self, root):
        pooled = torch.stack(self.visit(root)).max(dim=0).values
        return self.out(pooled)


def syntax_tree(rng, depth=3):
    count = rng.randint(0, 3) if depth else 0
    kind = rng.choice(["Module", "Assign", "Call", "Name", "If"])
    return {"kind": kind, "children": [syntax_tree(rng, depth - 1) for _ in range(count)]}


@case(TreeConvolution)
def tree_convolution(rng):
    return syntax_tree(rng)


class SimilarityTrees(nn.Module):
    """Two sentences' trees compared (Tai et al. 2015, section 4.2, the SICK task)."""

    def __init__(self, dim=6, hidden=5, classes=5):
        super().__init__()
        self.encoder = TreeGRU(dim)
        self.wh = nn.Linear(2 * dim, hidden)
        self.wp = nn.Linear(hidden, classes)

    def forward(self, pair):
        left, right = pair
        lvec, rvec = self.encoder(left), self.encoder(right)
        mult_dist = torch.mul(lvec, rvec)
        abs_dist = torch.abs(torch.add(lvec, -rvec))
        out = torch.sigmoid(self.wh(torch.cat((mult_dist, abs_dist), 0)))
        probabilities = F.softmax(self.wp(out), dim=0)
        return (torch.arange(1, 6).float() * probabilities).sum(), F.cosine_similarity(lvec, rvec, dim=0)


@case(SimilarityTrees)
def similarity_trees(rng):
    return nary_tree(rng, 3), nary_tree(rng, 3)


class TreeDecoder(nn.Module):
    """A doubly recurrent decoder (Alvarez-Melis and Jaakkola 2017): grows a tree from a vector, as deep and wide as the tensors say."""

    def __init__(self, dim=6, max_depth=3, max_width=3):
        super().__init__()
        self.max_depth, self.max_width = max_depth, max_width
        self.ancestral = nn.GRUCell(dim, dim)
        self.fraternal = nn.GRUCell(dim, dim)
        self.mix = nn.Linear(2 * dim, dim)
        self.is_parent = nn.Linear(dim, 1)
        self.has_sibling = nn.Linear(dim, 1)
        self.label = nn.Linear(dim, 10)

    def expand(self, parent, depth):
        children = []
        fraternal = torch.zeros_like(parent)
        x = parent
        while len(children) < self.max_width:
            fraternal = self.fraternal(x, fraternal)
            ancestral = self.ancestral(x, parent)
            h = torch.tanh(self.mix(torch.cat([ancestral, fraternal])))
            grows = depth < self.max_depth and torch.sigmoid(self.is_parent(h)).item() > 0.5
            below = self.expand(h, depth + 1) if grows else []
            children.append((self.label(h).argmax().item(), below))
            if torch.sigmoid(self.has_sibling(h)) < 0.5:
                break
            x = h
        return children

    def count(self, children):
        return sum(1 + self.count(below) for _, below in children)

    def forward(self, root):
        return self.count(self.expand(root, 0))


@case(TreeDecoder)
def tree_decoder(rng):
    return vector(rng, 6)


class StatementTrees(nn.Module):
    """ASTNN (Zhang et al. 2019): a recursive encoder for each statement, then a bidirectional GRU over the statements."""

    def __init__(self, dim=6, hidden=5, classes=4):
        super().__init__()
        self.embedding = nn.Embedding(VOCABULARY, dim)
        self.w_c = nn.Linear(dim, dim)
        self.bigru = nn.GRU(dim, hidden, bidirectional=True)
        self.hidden2label = nn.Linear(2 * hidden, classes)

    def encode(self, node, reached):
        x = self.w_c(self.embedding.weight[node.value])
        for child in node.children:
            x = x + self.encode(child, reached)
        reached.append(x)
        return x

    def statement(self, tree):
        reached = []
        self.encode(tree, reached)
        return torch.stack(reached).max(0)[0]

    def forward(self, statements):
        encodings = torch.stack([self.statement(s) for s in statements]).unsqueeze(1)
        outputs, _ = self.bigru(encodings)
        pooled, _ = torch.max(outputs, dim=0)
        return self.hidden2label(pooled.squeeze(0))


@case(StatementTrees)
def statement_trees(rng):
    return [nary_tree(rng, 2) for _ in range(rng.randint(1, 5))]
