"""Networks whose depth, width or experts depend on the instance."""

import torch
import torch.nn as nn
import torch.nn.functional as F

from backends.acrobat.tests.zoo.case import case, vector, words

VOCABULARY = 30


class BranchyNet(nn.Module):
    """Early exits after each block (Teerapittayanon et al. 2016): leaves when the entropy of the prediction is low."""

    def __init__(self, dim=8, classes=4, blocks=4, threshold=1.2):
        super().__init__()
        self.blocks = nn.ModuleList(nn.Sequential(nn.Linear(dim, dim), nn.BatchNorm1d(dim), nn.ReLU()) for _ in range(blocks))
        self.exits = nn.ModuleList(nn.Linear(dim, classes) for _ in range(blocks))
        self.threshold = threshold

    def entropy(self, logits):
        p = F.softmax(logits, dim=-1)
        return -(p * torch.log(p + 1e-9)).sum()

    def forward(self, x):
        x = x.unsqueeze(0)
        for depth, (block, leave) in enumerate(zip(self.blocks, self.exits)):
            x = block(x)
            logits = leave(x)
            if self.entropy(logits) < self.threshold:
                return logits.squeeze(0), depth
        return logits.squeeze(0), len(self.blocks) - 1


@case(BranchyNet)
def branchy_net(rng):
    return vector(rng, 8)


class MixtureOfExperts(nn.Module):
    """Each token goes through its two best experts (Shazeer et al. 2017), chosen at run time from a ModuleList."""

    def __init__(self, dim=6, experts=4, k=2):
        super().__init__()
        self.k = k
        self.gate = nn.Linear(dim, experts, bias=False)
        self.experts = nn.ModuleList(
            nn.Sequential(nn.Linear(dim, 2 * dim), nn.SiLU(), nn.Linear(2 * dim, dim)) for _ in range(experts)
        )

    def forward(self, tokens):
        outputs = []
        for token in tokens:
            weights, chosen = torch.topk(self.gate(token), self.k)
            weights = F.softmax(weights, dim=-1)
            out = torch.zeros_like(token)
            for weight, index in zip(weights, chosen):
                out += weight * self.experts[int(index)](token)
            outputs.append(out)
        return torch.stack(outputs)


@case(MixtureOfExperts)
def mixture_of_experts(rng):
    return [vector(rng, 6) for _ in range(rng.randint(1, 6))]


class UniversalTransformer(nn.Module):
    """One attention block applied until the state settles (in the manner of Dehghani et al. 2019)."""

    def __init__(self, dim=8, tolerance=0.6, limit=6):
        super().__init__()
        self.tolerance, self.limit = tolerance, limit
        self.embed = nn.Embedding(VOCABULARY, dim)
        self.q, self.k, self.v = (nn.Linear(dim, dim) for _ in range(3))
        self.norm = nn.LayerNorm(dim)
        self.step_embedding = nn.Embedding(limit, dim)

    def forward(self, sentence):
        x = self.embed(torch.tensor(sentence))
        for step in range(self.limit):
            y = x + self.step_embedding.weight[step]
            attended = F.scaled_dot_product_attention(self.q(y), self.k(y), self.v(y))
            new = self.norm(y + attended)
            change = (new - x).abs().max()
            x = new
            if change < self.tolerance:
                break
        return x[0]


@case(UniversalTransformer)
def universal_transformer(rng):
    return words(rng, 1, 7)


class SoftDecisionTree(nn.Module):
    """A neural decision tree: hard routing to a leaf by the sign of learned splits, with the path as a string."""

    def __init__(self, dim=6, depth=3, classes=3):
        super().__init__()
        self.depth = depth
        self.splits = nn.Linear(dim, 2**depth - 1)
        self.leaves = nn.Parameter(torch.randn(2**depth, classes))

    def forward(self, x):
        scores = self.splits(x)
        node, path = 0, ""
        for _ in range(self.depth):
            right = scores[node].item() > 0
            path += "R" if right else "L"
            node = 2 * node + (2 if right else 1)
        return F.softmax(self.leaves[node - (2**self.depth - 1)], dim=0), path == "L" * self.depth


@case(SoftDecisionTree)
def soft_decision_tree(rng):
    return vector(rng, 6)


class SkipRNN(nn.Module):
    """Skips updates of the state (Campos et al. 2018): a binary gate decides at each word."""

    def __init__(self, dim=6):
        super().__init__()
        self.embed = nn.Embedding(VOCABULARY, dim)
        self.cell = nn.LSTMCell(dim, dim)
        self.update = nn.Linear(dim, 1)

    def forward(self, sentence):
        h, c = self.embed.weight.new_zeros(6), self.embed.weight.new_zeros(6)
        u, skipped = 1.0, 0
        for token in sentence:
            if round(u) == 1:
                h, c = self.cell(self.embed.weight[token], (h, c))
                u = torch.sigmoid(self.update(c)).item()
            else:
                skipped += 1
                u = min(1.0, u + 0.3)
        return h, skipped


@case(SkipRNN)
def skip_rnn(rng):
    return words(rng, 1, 12)


class LowRankRouter(nn.Module):
    """A residual network that skips layers by a learned gate (SkipNet, Wang et al. 2018), with RMSNorm and PReLU."""

    def __init__(self, dim=8, layers=4):
        super().__init__()
        self.layers = nn.ModuleList()
        for _ in range(layers):
            self.layers.append(nn.Sequential(nn.RMSNorm(dim), nn.Linear(dim, dim), nn.PReLU()))
        self.gates = nn.ModuleList([nn.Linear(dim, 1) for _ in range(layers)])
        self.head = nn.Linear(dim, 2)

    def forward(self, x):
        used = set()
        for i, layer in enumerate(self.layers):
            if torch.sigmoid(self.gates[i](x)) > 0.5:
                x = x + layer(x)
                used.add(i)
        return self.head(x), sorted(used)


@case(LowRankRouter)
def low_rank_router(rng):
    return vector(rng, 8)


class FewShotMatcher(nn.Module):
    """Prototypical network (Snell et al. 2017): prototypes from however many examples each class has, distances to a query."""

    def __init__(self, dim=6):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(dim, dim), nn.ELU(), nn.Linear(dim, dim))

    def forward(self, episode):
        support, query = episode
        prototypes = {label: torch.stack([self.encoder(x) for x in xs]).mean(dim=0) for label, xs in support.items()}
        q = self.encoder(query)
        distances = torch.stack([((q - p) ** 2).sum() for p in prototypes.values()])
        return F.log_softmax(-distances, dim=0)


@case(FewShotMatcher)
def few_shot_matcher(rng):
    support = {label: [vector(rng, 6) for _ in range(rng.randint(1, 4))] for label in ("a", "b", "c")[: rng.randint(1, 3)]}
    return support, vector(rng, 6)


class MemoryNetwork(nn.Module):
    """End-to-end memory network (Sukhbaatar et al. 2015): a story of sentences, some hops, an answer."""

    def __init__(self, dim=6, hops=3):
        super().__init__()
        self.hops = hops
        self.A = nn.EmbeddingBag(VOCABULARY, dim, mode="sum")
        self.C = nn.EmbeddingBag(VOCABULARY, dim, mode="sum")
        self.B = nn.EmbeddingBag(VOCABULARY, dim, mode="sum")
        self.H = nn.Linear(dim, dim)
        self.W = nn.Linear(dim, VOCABULARY)

    def forward(self, example):
        story, question = example["story"], example["question"]
        m = torch.cat([self.A(torch.tensor([sentence])) for sentence in story])
        c = torch.cat([self.C(torch.tensor([sentence])) for sentence in story])
        u = self.B(torch.tensor([question])).squeeze(0)
        for _ in range(self.hops):
            p = F.softmax(m.mv(u), dim=0)
            u = self.H(u) + (p.unsqueeze(1) * c).sum(dim=0)
        return self.W(u).argmax().item()


@case(MemoryNetwork)
def memory_network(rng):
    return {"story": [words(rng, 1, 5) for _ in range(rng.randint(1, 6))], "question": words(rng, 1, 4)}
