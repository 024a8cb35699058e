"""Encoders with decoders: translation, copying, structured prediction, search."""

import heapq
import operator

import torch
import torch.nn as nn
import torch.nn.functional as F

from backends.acrobat.tests.zoo.case import case, vector, words

VOCABULARY = 30
START, STOP = 0, 1


class LuongTranslator(nn.Module):
    """Encoder and decoder with dot-product attention, greedy until the stop token (Luong et al. 2015; PyTorch's tutorial)."""

    def __init__(self, hidden_size=6, max_length=8):
        super().__init__()
        self.max_length = max_length
        self.encoder_embedding = nn.Embedding(VOCABULARY, hidden_size)
        self.encoder = nn.GRU(hidden_size, hidden_size)
        self.decoder_embedding = nn.Embedding(VOCABULARY, hidden_size)
        self.decoder = nn.GRUCell(hidden_size, hidden_size)
        self.concat = nn.Linear(2 * hidden_size, hidden_size)
        self.out = nn.Linear(hidden_size, VOCABULARY)

    def step(self, token, hidden, memory):
        hidden = self.decoder(self.decoder_embedding(torch.tensor([token])), hidden)
        energies = torch.mm(hidden, memory.t())
        context = F.softmax(energies, dim=1).mm(memory)
        output = torch.tanh(self.concat(torch.cat((context, hidden), 1)))
        return F.log_softmax(self.out(output), dim=1), hidden

    def forward(self, source):
        memory, hidden = self.encoder(self.encoder_embedding(torch.tensor(source)))
        decoded, token = [], START
        for _ in range(self.max_length):
            output, hidden = self.step(token, hidden, memory)
            _, topi = output.topk(1)
            token = topi.item()
            if token == STOP:
                break
            decoded.append(token)
        return decoded


@case(LuongTranslator)
def luong_translator(rng):
    return words(rng, 1, 9)


class BahdanauAttention(nn.Module):
    """Additive attention (Bahdanau et al. 2015) in a module of its own, scored against all positions at once."""

    def __init__(self, dim):
        super().__init__()
        self.Wa = nn.Linear(dim, dim)
        self.Ua = nn.Linear(dim, dim)
        self.Va = nn.Linear(dim, 1)

    def forward(self, query, keys):
        scores = self.Va(torch.tanh(self.Wa(query) + self.Ua(keys))).squeeze(-1)
        weights = F.softmax(scores, dim=-1)
        return torch.matmul(weights, keys), weights


class TeacherForcedSummarizer(nn.Module):
    """An encoder and decoder under teacher forcing that returns the mean loss over the target."""

    def __init__(self, dim=6):
        super().__init__()
        self.embedding = nn.Embedding(VOCABULARY, dim)
        self.encoder = nn.LSTM(dim, dim, batch_first=True)
        self.attention = BahdanauAttention(dim)
        self.cell = nn.LSTMCell(2 * dim, dim)
        self.out = nn.Linear(dim, VOCABULARY)

    def forward(self, pair):
        source, target = pair
        keys, (h, c) = self.encoder(self.embedding(torch.as_tensor(source))[None])
        keys, h, c = keys[0], h[0, 0], c[0, 0]
        losses = []
        for previous, wanted in zip([START] + target[:-1], target):
            context, _ = self.attention(h, keys)
            h, c = self.cell(torch.cat([self.embedding.weight[previous], context]), (h, c))
            losses.append(-F.log_softmax(self.out(h), dim=0)[wanted])
        return sum(losses) / len(losses)


@case(TeacherForcedSummarizer)
def teacher_forced_summarizer(rng):
    return words(rng, 1, 9), words(rng, 1, 6)


class PointerNetwork(nn.Module):
    """Pointer network (Vinyals et al. 2015): orders points, masking what has been pointed at."""

    def __init__(self, dim=6):
        super().__init__()
        self.embed = nn.Linear(2, dim)
        self.encoder = nn.LSTMCell(dim, dim)
        self.decoder = nn.LSTMCell(dim, dim)
        self.W1 = nn.Linear(dim, dim, bias=False)
        self.W2 = nn.Linear(dim, dim, bias=False)
        self.v = nn.Parameter(torch.randn(dim))
        self.first = nn.Parameter(torch.zeros(dim))

    def forward(self, points):
        n = points.size(0)
        h = c = torch.zeros_like(self.first)
        states = []
        for point in points:
            h, c = self.encoder(self.embed(point), (h, c))
            states.append(h)
        memory = torch.stack(states)
        mask = torch.zeros(n, dtype=torch.bool)
        order = []
        x = self.first
        for _ in range(n):
            h, c = self.decoder(x, (h, c))
            scores = torch.tanh(self.W1(memory) + self.W2(h)) @ self.v
            scores = scores.masked_fill(mask, float("-inf"))
            chosen = scores.argmax().item()
            order.append(chosen)
            mask[chosen] = True
            x = self.embed(points[chosen])
        return order


@case(PointerNetwork)
def pointer_network(rng):
    return vector(rng, rng.randint(1, 7), 2)


class BiLSTM_CRF(nn.Module):
    """The conditional random field of PyTorch's "advanced" tutorial: forward scores by a BiLSTM, the best path by Viterbi."""

    def __init__(self, embedding_dim=5, hidden_dim=6):
        super().__init__()
        self.tag_to_ix = {"B": 0, "I": 1, "O": 2, "<START>": 3, "<STOP>": 4}
        self.tagset_size = len(self.tag_to_ix)
        self.word_embeds = nn.Embedding(VOCABULARY, embedding_dim)
        self.lstm = nn.LSTM(embedding_dim, hidden_dim // 2, num_layers=1, bidirectional=True)
        self.hidden2tag = nn.Linear(hidden_dim, self.tagset_size)
        self.transitions = nn.Parameter(torch.randn(self.tagset_size, self.tagset_size))
        self.transitions.data[self.tag_to_ix["<START>"], :] = -10000
        self.transitions.data[:, self.tag_to_ix["<STOP>"]] = -10000

    def _get_lstm_features(self, sentence):
        embeds = self.word_embeds(sentence).view(len(sentence), 1, -1)
        lstm_out, _ = self.lstm(embeds)
        return self.hidden2tag(lstm_out.view(len(sentence), -1))

    def _viterbi_decode(self, feats):
        backpointers = []
        init_vvars = torch.full((1, self.tagset_size), -10000.0)
        init_vvars[0][self.tag_to_ix["<START>"]] = 0
        forward_var = init_vvars
        for feat in feats:
            bptrs_t = []
            viterbivars_t = []
            for next_tag in range(self.tagset_size):
                next_tag_var = forward_var + self.transitions[next_tag]
                best_tag_id = torch.argmax(next_tag_var).item()
                bptrs_t.append(best_tag_id)
                viterbivars_t.append(next_tag_var[0][best_tag_id].view(1))
            forward_var = (torch.cat(viterbivars_t) + feat).view(1, -1)
            backpointers.append(bptrs_t)
        terminal_var = forward_var + self.transitions[self.tag_to_ix["<STOP>"]]
        best_tag_id = torch.argmax(terminal_var).item()
        path_score = terminal_var[0][best_tag_id]
        best_path = [best_tag_id]
        for bptrs_t in reversed(backpointers):
            best_tag_id = bptrs_t[best_tag_id]
            best_path.append(best_tag_id)
        start = best_path.pop()
        assert start == self.tag_to_ix["<START>"]
        best_path.reverse()
        return path_score, best_path

    def forward(self, sentence):
        lstm_feats = self._get_lstm_features(sentence)
        score, tag_seq = self._viterbi_decode(lstm_feats)
        return score, tag_seq


@case(BiLSTM_CRF)
def bilstm_crf(rng):
    return torch.tensor(words(rng, 1, 9))


class Hypothesis:
    def __init__(self, tokens, score, state):
        self.tokens = tokens
        self.score = score
        self.state = state

    def extended(self, token, logp, state):
        return Hypothesis([*self.tokens, token], self.score + logp, state)

    @property
    def finished(self):
        return self.tokens[-1] == STOP

    @property
    def normalized(self):
        return self.score / len(self.tokens)


class BeamSearchDecoder(nn.Module):
    """Beam search over a GRU decoder, hypotheses as objects, sorted by their scores."""

    def __init__(self, dim=6, vocabulary=8, width=3, max_length=5):
        super().__init__()
        self.width, self.max_length = width, max_length
        self.embedding = nn.Embedding(vocabulary, dim)
        self.cell = nn.GRUCell(dim, dim)
        self.out = nn.Linear(dim, vocabulary)

    def forward(self, state):
        beam = [Hypothesis([START], 0.0, state)]
        done = []
        for _ in range(self.max_length):
            candidates = []
            for hypothesis in beam:
                h = self.cell(self.embedding.weight[hypothesis.tokens[-1]], hypothesis.state)
                logps, ids = F.log_softmax(self.out(h), dim=-1).topk(self.width)
                for logp, token in zip(logps.tolist(), ids.tolist()):
                    candidates.append(hypothesis.extended(token, logp, h))
            candidates.sort(key=lambda hypothesis: hypothesis.score, reverse=True)
            beam = []
            for hypothesis in candidates[: self.width]:
                (done if hypothesis.finished else beam).append(hypothesis)
            if not beam:
                break
        best = max(done or beam, key=operator.attrgetter("normalized"))
        return best.tokens, best.score


@case(BeamSearchDecoder)
def beam_search_decoder(rng):
    return vector(rng, 6)


class BestFirstDecoder(nn.Module):
    """Best-first search with a heap, as in many parsers' decoders; stops at the first complete hypothesis."""

    def __init__(self, dim=6, vocabulary=6, budget=12):
        super().__init__()
        self.budget = budget
        self.embedding = nn.Embedding(vocabulary, dim)
        self.cell = nn.RNNCell(dim, dim)
        self.out = nn.Linear(dim, vocabulary)

    def forward(self, state):
        queue = [(0.0, 0, [START], state)]
        counter = 0
        for _ in range(self.budget):
            cost, _, tokens, h = heapq.heappop(queue)
            if tokens[-1] == STOP:
                return tokens
            h = self.cell(self.embedding.weight[tokens[-1]], h)
            costs = -F.log_softmax(self.out(h), dim=0)
            for token in range(len(costs)):
                counter += 1
                heapq.heappush(queue, (cost + costs[token].item(), counter, tokens + [token], h))
        return heapq.heappop(queue)[2]


@case(BestFirstDecoder)
def best_first_decoder(rng):
    return vector(rng, 6)


class CopyGenerator(nn.Module):
    """Generation with copying (See et al. 2017): the vocabulary's distribution is blended with the attention on source words."""

    def __init__(self, dim=6):
        super().__init__()
        self.embedding = nn.Embedding(VOCABULARY, dim)
        self.encoder = nn.LSTM(dim, dim)
        self.cell = nn.LSTMCell(dim, dim)
        self.attn = nn.Bilinear(dim, dim, 1)
        self.vocab = nn.Linear(2 * dim, VOCABULARY)
        self.gate = nn.Linear(2 * dim, 1)

    def forward(self, source):
        ids = torch.tensor(source)
        memory, _ = self.encoder(self.embedding(ids))
        h = memory[-1]
        c = torch.zeros_like(h)
        produced = []
        token = START
        while token != STOP and len(produced) < 6:
            h, c = self.cell(self.embedding.weight[token], (h, c))
            scores = self.attn(memory, h.expand_as(memory)).squeeze(-1)
            alpha = F.softmax(scores, dim=0)
            features = torch.cat([h, alpha @ memory])
            p_gen = torch.sigmoid(self.gate(features))
            distribution = p_gen * F.softmax(self.vocab(features), dim=0)
            distribution = distribution.scatter_add(0, ids, (1 - p_gen) * alpha)
            token = distribution.argmax().item()
            produced.append(token)
        return produced


@case(CopyGenerator)
def copy_generator(rng):
    return words(rng, 1, 8)
