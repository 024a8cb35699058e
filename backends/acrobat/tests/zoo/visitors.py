"""Programs and graphs that are walked over: a visitor over syntax trees, molecules by their bonds, a decoder that grows a tree."""

from collections import defaultdict
from dataclasses import dataclass, field

import torch
import torch.nn.functional as F
from torch import nn

from backends.acrobat.tests.zoo.case import case, vector, words


class NumberNode:
    def __init__(self, value):
        self.value = value


class NameNode:
    def __init__(self, id):
        self.id = id


class OperationNode:
    def __init__(self, op, left, right):
        self.op = op
        self.left = left
        self.right = right


class AssignNode:
    def __init__(self, target, value):
        self.target = target
        self.value = value


class IfNode:
    def __init__(self, test, body, orelse):
        self.test = test
        self.body = body
        self.orelse = orelse


class CodeVisitor(nn.Module):
    """A code encoder over abstract syntax trees with a visitor: visit_<Kind> methods found by getattr, variables in an environment."""

    def __init__(self, size=10, ops=3, names=4, classes=5):
        super().__init__()
        self.number = nn.Linear(1, size)
        self.unknown = nn.Embedding(names, size)
        self.ops = nn.ModuleDict(
            {"+": nn.Linear(2 * size, size), "*": nn.Linear(2 * size, size), "<": nn.Linear(2 * size, size)}
        )
        self.assign = nn.GRUCell(size, size)
        self.branch = nn.Linear(3 * size, size)
        self.seq = nn.GRUCell(size, size)
        self.size = size
        self.out = nn.Linear(size, classes)

    def visit(self, node, env):
        method = getattr(self, "visit_" + type(node).__name__)
        return method(node, env)

    def visit_NumberNode(self, node, env):
        return torch.tanh(self.number(torch.tensor([node.value])))

    def visit_NameNode(self, node, env):
        if node.id in env:
            return env[node.id]
        return self.unknown.weight[node.id]

    def visit_OperationNode(self, node, env):
        left = self.visit(node.left, env)
        right = self.visit(node.right, env)
        x = torch.cat([left, right])
        if node.op == "+":
            return torch.relu(self.ops["+"](x))
        elif node.op == "*":
            return torch.relu(self.ops["*"](x))
        return torch.sigmoid(self.ops["<"](x))

    def visit_AssignNode(self, node, env):
        value = self.visit(node.value, env)
        env[node.target] = self.assign(value, env.get(node.target, self.unknown.weight[node.target]))
        return value

    def visit_IfNode(self, node, env):
        test = self.visit(node.test, env)
        then = self.block(node.body, dict(env))
        other = self.block(node.orelse, dict(env))
        return torch.tanh(self.branch(torch.cat([test, then, other])))

    def block(self, statements, env):
        h = torch.zeros(self.size)
        for statement in statements:
            h = self.seq(self.visit(statement, env), h)
        return h

    def forward(self, program):
        return self.out(self.block(program, {}))


def expression(rng, depth):
    kind = rng.random()
    if depth == 0 or kind < 0.4:
        return NumberNode(rng.random()) if rng.random() < 0.5 else NameNode(rng.randrange(4))
    return OperationNode(rng.choice("+*<"), expression(rng, depth - 1), expression(rng, depth - 1))


def block(rng, depth):
    statements: list[AssignNode | IfNode] = []
    for _ in range(rng.randint(1, 3)):
        if depth > 0 and rng.random() < 0.3:
            statements.append(IfNode(expression(rng, 2), block(rng, depth - 1), block(rng, depth - 1)))
        else:
            statements.append(AssignNode(rng.randrange(4), expression(rng, 2)))
    return statements


@case(CodeVisitor)
def code_visitor(rng):
    return block(rng, 2)


@dataclass
class MoleculeBond:
    source: int
    target: int
    kind: int


@dataclass
class BondedAtoms:
    atoms: list
    bonds: list


class BondNetwork(nn.Module):
    def __init__(self, kinds, size):
        super().__init__()
        self.size = size
        self.embed = nn.Embedding(kinds, 6)
        self.net = nn.Sequential(nn.Linear(6, 12), nn.ReLU(), nn.Linear(12, size * size))

    def forward(self, kind):
        return self.net(self.embed(torch.tensor(kind))).view(self.size, self.size)


class MoleculeNetwork(nn.Module):
    """Message passing over molecules with edge features, edge list, dict of incoming edges, set2set-like readout."""

    def __init__(self, atoms=9, kinds=4, size=8, rounds=3):
        super().__init__()
        self.atom = nn.Embedding(atoms, size)
        self.edge = BondNetwork(kinds, size)
        self.gru = nn.GRUCell(size, size)
        self.rounds = rounds
        self.read = nn.LSTMCell(2 * size, size)
        self.out = nn.Linear(2 * size, 1)
        self.size = size

    def forward(self, molecule):
        h = {i: self.atom(torch.tensor(a)) for i, a in enumerate(molecule.atoms)}
        matrices = [self.edge(b.kind) for b in molecule.bonds]
        incoming = defaultdict(list)
        for bond, matrix in zip(molecule.bonds, matrices):
            incoming[bond.target].append((bond.source, matrix))
            incoming[bond.source].append((bond.target, matrix))
        for _ in range(self.rounds):
            new = {}
            for i, state in h.items():
                if i in incoming:
                    message = torch.stack([m @ h[j] for j, m in incoming[i]]).sum(0)
                else:
                    message = torch.zeros(self.size)
                new[i] = self.gru(message, state)
            h = new
        nodes = torch.stack(list(h.values()))
        q_star = torch.zeros(2 * self.size)
        state = (torch.zeros(self.size), torch.zeros(self.size))
        for _ in range(3):
            state = self.read(q_star, state)
            q = state[0]
            a = (nodes * q).sum(-1).softmax(0)
            q_star = torch.cat([q, (a[:, None] * nodes).sum(0)])
        return self.out(q_star)[0]


@case(MoleculeNetwork)
def molecule_network(rng):
    atoms = words(rng, 1, 6, 9)
    return BondedAtoms(atoms, [MoleculeBond(rng.randrange(i), i, rng.randrange(4)) for i in range(1, len(atoms))])


@dataclass
class GrownNode:
    label: int
    score: torch.Tensor
    children: list = field(default_factory=list)


class DoublyRecurrentDecoder(nn.Module):
    """A doubly recurrent tree decoder (Alvarez-Melis): grows a tree top down and left to right, topology from tensor decisions."""

    def __init__(self, latent=8, size=10, labels=7, max_depth=3, max_width=3):
        super().__init__()
        self.start = nn.Linear(latent, size)
        self.embed = nn.Embedding(labels, size)
        self.ancestral = nn.GRUCell(size, size)
        self.fraternal = nn.GRUCell(size, size)
        self.combine = nn.Linear(2 * size, size)
        self.label = nn.Linear(size, labels)
        self.depth_gate = nn.Linear(size, 1)
        self.width_gate = nn.Linear(size, 1)
        self.max_depth = max_depth
        self.max_width = max_width
        self.size = size

    def predict(self, ha, hf):
        h = torch.tanh(self.combine(torch.cat([ha, hf])))
        down = torch.sigmoid(self.depth_gate(h))
        right = torch.sigmoid(self.width_gate(h))
        logits = self.label(h)
        return logits.argmax().item(), logits.max(), down, right

    def grow(self, ha, hf, depth):
        label, score, down, right = self.predict(ha, hf)
        node = GrownNode(label, score)
        if depth < self.max_depth and down.item() > 0.5:
            parent = self.ancestral(self.embed.weight[label], ha)
            sibling = torch.zeros(self.size)
            more = True
            while more and len(node.children) < self.max_width:
                child, more = self.grow(parent, sibling, depth + 1)
                node.children.append(child)
                sibling = self.fraternal(self.embed.weight[child.label], sibling)
        return node, right.item() > 0.5

    def forward(self, z):
        root, _ = self.grow(torch.tanh(self.start(z)), torch.zeros(self.size), 0)
        labels, total = [], torch.zeros(())
        agenda = [root]
        while agenda:
            node = agenda.pop()
            labels.append(node.label)
            total = total + node.score
            agenda.extend(reversed(node.children))
        return labels, total


@case(DoublyRecurrentDecoder)
def doubly_recurrent_decoder(rng):
    return 2 * vector(rng, 8)
