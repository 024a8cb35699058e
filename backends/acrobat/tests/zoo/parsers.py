"""Parsers and networks that follow a program."""

from collections import deque
from enum import Enum

import torch
import torch.nn as nn
import torch.nn.functional as F

from backends.acrobat.tests.zoo.case import case, vector, words

VOCABULARY = 30


class StackLSTM(nn.Module):
    """A stack whose summary is an LSTM's state (Dyer et al. 2015), kept as a Python list of states."""

    def __init__(self, input_size, hidden_size):
        super().__init__()
        self.cell = nn.LSTMCell(input_size, hidden_size)
        self.empty_h = nn.Parameter(torch.randn(hidden_size))
        self.empty_c = nn.Parameter(torch.randn(hidden_size))

    def start(self):
        return [(self.empty_h, self.empty_c, None)]

    def push(self, stack, x):
        h, c, _ = stack[-1]
        stack.append((*self.cell(x, (h, c)), x))

    def pop(self, stack):
        return stack.pop()[2]

    def top(self, stack):
        return stack[-1][0]


class TransitionParser(nn.Module):
    """An arc-standard dependency parser with stack LSTMs (Dyer et al. 2015); answers with the heads of the words."""

    SHIFT, LEFT, RIGHT = 0, 1, 2

    def __init__(self, dim=6):
        super().__init__()
        self.embed = nn.Embedding(VOCABULARY, dim)
        self.stack_lstm = StackLSTM(dim, dim)
        self.buffer_lstm = StackLSTM(dim, dim)
        self.compose = nn.Linear(2 * dim, dim)
        self.action = nn.Linear(2 * dim, 3)

    def forward(self, sentence):
        buffer = self.buffer_lstm.start()
        for word in reversed(sentence):
            self.buffer_lstm.push(buffer, self.embed.weight[word])
        stack = self.stack_lstm.start()
        waiting = list(range(len(sentence)))
        positions = []
        heads = [-1] * len(sentence)
        while waiting or len(positions) > 1:
            valid = []
            if waiting:
                valid.append(self.SHIFT)
            if len(positions) > 1:
                valid += [self.LEFT, self.RIGHT]
            scores = self.action(torch.cat([self.stack_lstm.top(stack), self.buffer_lstm.top(buffer)]))
            best = max(valid, key=lambda a: scores[a].item())
            if best == self.SHIFT:
                self.stack_lstm.push(stack, self.buffer_lstm.pop(buffer))
                positions.append(waiting.pop(0))
            else:
                right, left = self.stack_lstm.pop(stack), self.stack_lstm.pop(stack)
                r, l = positions.pop(), positions.pop()
                head, dependent = (right, left) if best == self.LEFT else (left, right)
                heads[l if best == self.LEFT else r] = r if best == self.LEFT else l
                self.stack_lstm.push(stack, torch.tanh(self.compose(torch.cat([head, dependent]))))
                positions.append(r if best == self.LEFT else l)
        return heads


@case(TransitionParser)
def transition_parser(rng):
    return words(rng, 1, 7)


class BiaffineParser(nn.Module):
    """Deep biaffine attention (Dozat and Manning 2017): scores of all pairs of words, heads by argmax."""

    def __init__(self, dim=6, arc=5):
        super().__init__()
        self.embed = nn.Embedding(VOCABULARY, dim)
        self.lstm = nn.LSTM(dim, dim, num_layers=2, batch_first=True, bidirectional=True)
        self.mlp_head = nn.Sequential(nn.Linear(2 * dim, arc), nn.LeakyReLU(0.1))
        self.mlp_dep = nn.Sequential(nn.Linear(2 * dim, arc), nn.LeakyReLU(0.1))
        self.U = nn.Parameter(torch.randn(arc, arc + 1))

    def forward(self, sentence):
        x, _ = self.lstm(self.embed(torch.tensor([sentence])))
        x = x.squeeze(0)
        head, dep = self.mlp_head(x), self.mlp_dep(x)
        dep = torch.cat([dep, torch.ones(dep.size(0), 1)], dim=1)
        scores = head @ self.U @ dep.t()
        return scores, scores.argmax(dim=0)


@case(BiaffineParser)
def biaffine_parser(rng):
    return words(rng, 1, 8)


class SPINN(nn.Module):
    """Shift-reduce encoding along given transitions (Bowman et al. 2016)."""

    def __init__(self, dim=6, classes=3):
        super().__init__()
        self.dim = dim
        self.embed = nn.Embedding(VOCABULARY, 2 * dim)
        self.reduce = nn.Linear(2 * dim, 5 * dim)
        self.out = nn.Linear(dim, classes)

    def forward(self, example):
        tokens, transitions = example
        buffer = deque(self.embed.weight[token] for token in tokens)
        stack = []
        for transition in transitions:
            if transition == "SHIFT":
                stack.append(buffer.popleft())
            elif transition == "REDUCE":
                right, left = stack.pop(), stack.pop()
                hr, cr = right.split(self.dim)
                hl, cl = left.split(self.dim)
                i, f1, f2, o, g = self.reduce(torch.cat((hl, hr))).chunk(5)
                c = i.sigmoid() * g.tanh() + f1.sigmoid() * cl + f2.sigmoid() * cr
                stack.append(torch.cat((o.sigmoid() * c.tanh(), c)))
            else:
                raise ValueError(f"unknown transition {transition}")
        assert len(stack) == 1
        return self.out(stack[0][: self.dim])


@case(SPINN)
def spinn(rng):
    tokens = words(rng, 1, 8)
    transitions, depth, left = [], 0, len(tokens)
    while left or depth > 1:
        if left and (depth < 2 or rng.random() < 0.5):
            transitions.append("SHIFT")
            depth, left = depth + 1, left - 1
        else:
            transitions.append("REDUCE")
            depth -= 1
    return tokens, transitions


class Kind(Enum):
    FIND = "find"
    AND = "and"
    COUNT = "count"


class NeuralModules(nn.Module):
    """Neural module network (Andreas et al. 2016): a question's program over the regions of an image."""

    def __init__(self, dim=5, words_=8):
        super().__init__()
        self.find = nn.Embedding(words_, dim)
        self.relate = nn.Linear(dim, dim)
        self.count = nn.Linear(1, 4)

    def attend(self, program, regions):
        kind, *rest = program
        if kind is Kind.FIND:
            return torch.sigmoid(regions @ self.find.weight[rest[0]])
        if kind is Kind.AND:
            left, right = (self.attend(p, regions) for p in rest)
            return torch.minimum(left, right)
        raise NotImplementedError(kind)

    def forward(self, question):
        program, regions = question["program"], question["regions"]
        mask = self.attend(program[1], self.relate(regions))
        return self.count(mask.sum().unsqueeze(0))


@case(NeuralModules)
def neural_modules(rng):
    def attention(depth):
        if depth == 0 or rng.random() < 0.4:
            return (Kind.FIND, rng.randrange(8))
        return (Kind.AND, attention(depth - 1), attention(depth - 1))

    return {"program": (Kind.COUNT, attention(3)), "regions": vector(rng, 6, 5)}


class ExpressionEvaluator(nn.Module):
    """A network that evaluates an arithmetic expression by a module for each operator, chosen from a dictionary by its sign."""

    def __init__(self, dim=5):
        super().__init__()
        self.number = nn.Linear(1, dim)
        self.ops = nn.ModuleDict({"plus": nn.Bilinear(dim, dim, dim), "times": nn.Bilinear(dim, dim, dim)})
        self.unary = nn.Sequential(nn.Linear(dim, dim), nn.Softplus())
        self.names = {"+": "plus", "*": "times"}

    def evaluate(self, expression, environment):
        if isinstance(expression, float):
            return self.number(torch.tensor([expression]))
        if isinstance(expression, str):
            return environment[expression]
        if expression[0] == "-":
            return -self.unary(self.evaluate(expression[1], environment))
        if expression[0] == "let":
            _, name, value, body = expression
            return self.evaluate(body, {**environment, name: self.evaluate(value, environment)})
        op, left, right = expression
        return self.ops[self.names[op]](self.evaluate(left, environment), self.evaluate(right, environment))

    def forward(self, expression):
        return self.evaluate(expression, {}).norm()


@case(ExpressionEvaluator)
def expression_evaluator(rng):
    def expression(depth, names):
        kind = rng.random()
        if depth == 0 or kind < 0.2:
            return rng.choice(names) if names and rng.random() < 0.5 else rng.uniform(-2.0, 2.0)
        if kind < 0.35:
            return ("-", expression(depth - 1, names))
        if kind < 0.5:
            name = f"x{len(names)}"
            return ("let", name, expression(depth - 1, names), expression(depth - 1, [*names, name]))
        return (rng.choice("+*"), expression(depth - 1, names), expression(depth - 1, names))

    return expression(4, [])


class SpanCoreference(nn.Module):
    """End-to-end coreference (Lee et al. 2017) in small: spans up to a width, antecedents by pairwise scores."""

    def __init__(self, dim=6, max_width=3):
        super().__init__()
        self.max_width = max_width
        self.embed = nn.Embedding(VOCABULARY, dim)
        self.encoder = nn.GRU(dim, dim, batch_first=True)
        self.attention = nn.Linear(dim, 1)
        self.width = nn.Embedding(max_width, 4)
        self.mention = nn.Sequential(nn.Linear(3 * dim + 4, 6), nn.ReLU(), nn.Linear(6, 1))
        self.pair = nn.Bilinear(3 * dim + 4, 3 * dim + 4, 1)

    def forward(self, document):
        x = self.encoder(self.embed(torch.tensor(document)).unsqueeze(0))[0].squeeze(0)
        head_scores = self.attention(x).squeeze(-1)
        spans = []
        for start in range(len(document)):
            for end in range(start, min(start + self.max_width, len(document))):
                alpha = F.softmax(head_scores[start : end + 1], dim=0)
                head = alpha @ x[start : end + 1]
                spans.append(torch.cat([x[start], x[end], head, self.width.weight[end - start]]))
        mentions = [(self.mention(span), span) for span in spans]
        antecedents = []
        for i, (score, span) in enumerate(mentions):
            scores = [torch.zeros(1)]
            for other_score, other in mentions[:i]:
                scores.append(score + other_score + self.pair(span, other))
            antecedents.append(torch.cat(scores).argmax().item() - 1)
        return antecedents


@case(SpanCoreference)
def span_coreference(rng):
    return words(rng, 1, 6)


class SlotFilling(nn.Module):
    """Rules with a learned matcher: dictionaries in, a dictionary out."""

    def __init__(self, dim=5, slots=("city", "date", "airline")):
        super().__init__()
        self.embed = nn.Embedding(VOCABULARY, dim)
        self.slots = list(slots)
        self.queries = nn.ParameterDict({slot: nn.Parameter(torch.randn(dim)) for slot in slots})
        self.threshold = 0.2

    def forward(self, utterance):
        tokens = self.embed(torch.tensor(utterance["tokens"]))
        filled = {}
        for slot in self.slots:
            scores = F.cosine_similarity(tokens, self.queries[slot].unsqueeze(0), dim=-1)
            value, position = scores.max(dim=0)
            if value.item() > self.threshold:
                filled[slot] = position.item()
        missing = [slot for slot in utterance["required"] if slot not in filled]
        return {"filled": filled, "complete": not missing, "count": len(filled)}


@case(SlotFilling)
def slot_filling(rng):
    required = rng.sample(["city", "date", "airline"], rng.randint(0, 3))
    return {"tokens": words(rng, 1, 8), "required": required}
