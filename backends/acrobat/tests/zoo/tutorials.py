"""Models as tutorials and well-known repositories write them: state in attributes, vocabularies, trees of tuples, decoders."""

import math
from collections import defaultdict, deque

import torch
import torch.nn as nn
import torch.nn.functional as F

from backends.acrobat.tests.zoo.case import case, vector, words

NAMES = "the a dog cat sat ran on mat fast big red small of to in it he she they we you".split()
START, STOP = "<START>", "<STOP>"


def argmax(vec):
    _, idx = torch.max(vec, 1)
    return idx.item()


class BiLSTMCRF(nn.Module):
    """The tagger of PyTorch's advanced tutorial: the hidden state is an attribute, the decoder keeps lists of back-pointers."""

    def __init__(self, hidden_dim=8):
        super().__init__()
        self.hidden_dim = hidden_dim
        self.word_to_ix = {w: i for i, w in enumerate(NAMES)}
        self.tag_to_ix = {"B": 0, "I": 1, "O": 2, START: 3, STOP: 4}
        self.tagset_size = len(self.tag_to_ix)
        self.word_embeds = nn.Embedding(len(NAMES), 6)
        self.lstm = nn.LSTM(6, hidden_dim // 2, num_layers=1, bidirectional=True)
        self.hidden2tag = nn.Linear(hidden_dim, self.tagset_size)
        self.transitions = nn.Parameter(torch.randn(self.tagset_size, self.tagset_size))
        self.transitions.data[self.tag_to_ix[START], :] = -10000
        self.transitions.data[:, self.tag_to_ix[STOP]] = -10000

    def init_hidden(self):
        return torch.zeros(2, 1, self.hidden_dim // 2), torch.zeros(2, 1, self.hidden_dim // 2)

    def _get_lstm_features(self, sentence):
        self.hidden = self.init_hidden()
        embeds = self.word_embeds(sentence).view(len(sentence), 1, -1)
        lstm_out, self.hidden = self.lstm(embeds, self.hidden)
        lstm_out = lstm_out.view(len(sentence), self.hidden_dim)
        return self.hidden2tag(lstm_out)

    def _viterbi_decode(self, feats):
        backpointers = []
        init_vvars = torch.full((1, self.tagset_size), -10000.0)
        init_vvars[0][self.tag_to_ix[START]] = 0
        forward_var = init_vvars
        for feat in feats:
            bptrs_t = []
            viterbivars_t = []
            for next_tag in range(self.tagset_size):
                next_tag_var = forward_var + self.transitions[next_tag]
                best_tag_id = argmax(next_tag_var)
                bptrs_t.append(best_tag_id)
                viterbivars_t.append(next_tag_var[0][best_tag_id].view(1))
            forward_var = (torch.cat(viterbivars_t) + feat).view(1, -1)
            backpointers.append(bptrs_t)
        terminal_var = forward_var + self.transitions[self.tag_to_ix[STOP]]
        best_tag_id = argmax(terminal_var)
        path_score = terminal_var[0][best_tag_id]
        best_path = [best_tag_id]
        for bptrs_t in reversed(backpointers):
            best_tag_id = bptrs_t[best_tag_id]
            best_path.append(best_tag_id)
        start = best_path.pop()
        assert start == self.tag_to_ix[START]
        best_path.reverse()
        return path_score, best_path

    def forward(self, sentence):
        idxs = torch.tensor([self.word_to_ix[w] for w in sentence], dtype=torch.long)
        lstm_feats = self._get_lstm_features(idxs)
        score, tag_seq = self._viterbi_decode(lstm_feats)
        return score, tag_seq


@case(BiLSTMCRF)
def tutorial_crf(rng):
    return [rng.choice(NAMES) for _ in range(rng.randint(1, 9))]


class EncoderRNN(nn.Module):
    def __init__(self, input_size, hidden_size):
        super().__init__()
        self.hidden_size = hidden_size
        self.embedding = nn.Embedding(input_size, hidden_size)
        self.gru = nn.GRU(hidden_size, hidden_size)

    def forward(self, input, hidden):
        embedded = self.embedding(input).view(1, 1, -1)
        output, hidden = self.gru(embedded, hidden)
        return output, hidden

    def initHidden(self):
        return torch.zeros(1, 1, self.hidden_size)


class AttnDecoderRNN(nn.Module):
    def __init__(self, hidden_size, output_size, dropout_p=0.1, max_length=10):
        super().__init__()
        self.embedding = nn.Embedding(output_size, hidden_size)
        self.attn = nn.Linear(hidden_size * 2, max_length)
        self.attn_combine = nn.Linear(hidden_size * 2, hidden_size)
        self.dropout = nn.Dropout(dropout_p)
        self.gru = nn.GRU(hidden_size, hidden_size)
        self.out = nn.Linear(hidden_size, output_size)

    def forward(self, input, hidden, encoder_outputs):
        embedded = self.dropout(self.embedding(input).view(1, 1, -1))
        attn_weights = F.softmax(self.attn(torch.cat((embedded[0], hidden[0]), 1)), dim=1)
        attn_applied = torch.bmm(attn_weights.unsqueeze(0), encoder_outputs.unsqueeze(0))
        output = torch.cat((embedded[0], attn_applied[0]), 1)
        output = F.relu(self.attn_combine(output).unsqueeze(0))
        output, hidden = self.gru(output, hidden)
        output = F.log_softmax(self.out(output[0]), dim=1)
        return output, hidden, attn_weights


class Translator(nn.Module):
    """The sequence to sequence tutorial: an encoder and a decoder with attention over a padded table of states."""

    def __init__(self, max_length=10):
        super().__init__()
        self.max_length = max_length
        self.encoder = EncoderRNN(15, 8)
        self.decoder = AttnDecoderRNN(8, 12, max_length=max_length)

    def forward(self, input_tensor):
        input_length = input_tensor.size(0)
        encoder_hidden = self.encoder.initHidden()
        encoder_outputs = torch.zeros(self.max_length, self.encoder.hidden_size)
        for ei in range(input_length):
            encoder_output, encoder_hidden = self.encoder(input_tensor[ei], encoder_hidden)
            encoder_outputs[ei] = encoder_output[0, 0]
        decoder_input = torch.tensor([[0]])
        decoder_hidden = encoder_hidden
        decoded_words = []
        for _ in range(self.max_length):
            decoder_output, decoder_hidden, _ = self.decoder(decoder_input, decoder_hidden, encoder_outputs)
            topv, topi = decoder_output.data.topk(1)
            if topi.item() == 1:
                decoded_words.append(-1)
                break
            else:
                decoded_words.append(topi.item())
            decoder_input = topi.squeeze().detach()
        return decoded_words, decoder_hidden


@case(Translator)
def tutorial_translation(rng):
    return torch.tensor([rng.randrange(2, 15) for _ in range(rng.randint(1, 8))] + [1]).view(-1, 1)


class PositionalEncoding(nn.Module):
    def __init__(self, d_model, dropout=0.1, max_len=50):
        super().__init__()
        self.dropout = nn.Dropout(p=dropout)
        pe = torch.zeros(max_len, d_model)
        position = torch.arange(0, max_len, dtype=torch.float).unsqueeze(1)
        div_term = torch.exp(torch.arange(0, d_model, 2).float() * (-math.log(10000.0) / d_model))
        pe[:, 0::2] = torch.sin(position * div_term)
        pe[:, 1::2] = torch.cos(position * div_term)
        pe = pe.unsqueeze(0).transpose(0, 1)
        self.register_buffer("pe", pe)

    def forward(self, x):
        x = x + self.pe[: x.size(0), :]
        return self.dropout(x)


def generate_square_subsequent_mask(sz):
    mask = (torch.triu(torch.ones((sz, sz))) == 1).transpose(0, 1)
    mask = mask.float().masked_fill(mask == 0, float("-inf")).masked_fill(mask == 1, 0.0)
    return mask


class GreedyTransformer(nn.Module):
    """The translation tutorial of torchtext: greedy decoding with `nn.TransformerDecoder`, sequences first."""

    def __init__(self, d=8):
        super().__init__()
        self.src = nn.Embedding(15, d)
        self.tgt = nn.Embedding(12, d)
        self.pos = PositionalEncoding(d)
        self.enc = nn.TransformerEncoder(nn.TransformerEncoderLayer(d, 2, 16), 1, enable_nested_tensor=False)
        self.dec = nn.TransformerDecoder(nn.TransformerDecoderLayer(d, 2, 16), 1)
        self.gen = nn.Linear(d, 12)
        self.d = d

    def forward(self, src):
        memory = self.enc(self.pos(self.src(src).unsqueeze(1) * math.sqrt(self.d)))
        ys = torch.ones(1, 1).fill_(0).type(torch.long)
        for _ in range(6):
            tgt_mask = generate_square_subsequent_mask(ys.size(0))
            out = self.dec(self.pos(self.tgt(ys) * math.sqrt(self.d)), memory, tgt_mask)
            prob = self.gen(out.transpose(0, 1)[:, -1])
            _, next_word = torch.max(prob, dim=1)
            next_word = next_word.item()
            ys = torch.cat([ys, torch.ones(1, 1).type_as(src.data).fill_(next_word)], dim=0)
            if next_word == 1:
                break
        return ys.view(-1)


@case(GreedyTransformer)
def tutorial_transformer(rng):
    return torch.tensor(words(rng, 1, 6, 15))


class Tree:
    def __init__(self, idx):
        self.parent = None
        self.num_children = 0
        self.children = []
        self.idx = idx

    def add_child(self, child):
        child.parent = self
        self.num_children += 1
        self.children.append(child)


class ChildSumTreeLSTM(nn.Module):
    """A dependency tree whose nodes keep their states, with the sentence beside it (Tai et al. 2015)."""

    def __init__(self, in_dim=6, mem_dim=5):
        super().__init__()
        self.emb = nn.Embedding(20, in_dim, padding_idx=0)
        self.mem_dim = mem_dim
        self.ioux = nn.Linear(in_dim, 3 * mem_dim)
        self.iouh = nn.Linear(mem_dim, 3 * mem_dim)
        self.fx = nn.Linear(in_dim, mem_dim)
        self.fh = nn.Linear(mem_dim, mem_dim)

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

    def rec(self, tree, inputs):
        for idx in range(tree.num_children):
            self.rec(tree.children[idx], inputs)
        if tree.num_children == 0:
            child_c = inputs[0].detach().new(1, self.mem_dim).fill_(0.0)
            child_h = inputs[0].detach().new(1, self.mem_dim).fill_(0.0)
        else:
            child_c, child_h = zip(*map(lambda x: x.state, tree.children))
            child_c, child_h = torch.cat(child_c, dim=0), torch.cat(child_h, dim=0)
        tree.state = self.node_forward(inputs[tree.idx].unsqueeze(0), child_c, child_h)
        return tree.state

    def forward(self, instance):
        tree, sentence = instance
        return self.rec(tree, self.emb(sentence))


@case(ChildSumTreeLSTM)
def dependency_tree_with_states(rng):
    nodes = [Tree(i) for i in range(rng.randint(1, 8))]
    for i in range(1, len(nodes)):
        nodes[rng.randrange(i)].add_child(nodes[i])
    return nodes[0], torch.tensor([rng.randrange(20) for _ in nodes])


class SentimentRNTN(nn.Module):
    """The recursive tensor network (Socher et al. 2013) over trees `(label, word)` and `(label, left, right)`, with its loss."""

    def __init__(self, d=4, classes=5):
        super().__init__()
        self.word2idx = {w: i for i, w in enumerate(NAMES)}
        self.L = nn.Embedding(len(NAMES), d)
        self.V = nn.Parameter(torch.randn(d, 2 * d, 2 * d) * 0.1)
        self.W = nn.Linear(2 * d, d)
        self.Ws = nn.Linear(d, classes)
        self.d = d

    def compose(self, node, preds):
        if len(node) == 2:
            h = self.L(torch.tensor(self.word2idx[node[1]]))
        else:
            _, left, right = node
            x = torch.cat((self.compose(left, preds), self.compose(right, preds)))
            t = torch.stack([x @ self.V[i] @ x for i in range(self.d)])
            h = torch.tanh(t + self.W(x))
        preds.append((F.log_softmax(self.Ws(h), dim=0), node[0]))
        return h

    def forward(self, tree):
        preds = []
        h = self.compose(tree, preds)
        loss = sum(-p[label] for p, label in preds)
        return h, loss


@case(SentimentRNTN)
def sentiment_tuples(rng, depth=0):
    if depth > 3 or rng.random() < 0.3:
        return (rng.randrange(5), rng.choice(NAMES))
    return (rng.randrange(5), sentiment_tuples(rng, depth + 1), sentiment_tuples(rng, depth + 1))


class GumbelTree(nn.Module):
    """A tree composed greedily, the best pair of neighbours at each step (Choi et al. 2018), without its noise."""

    def __init__(self, d=6, h=5):
        super().__init__()
        self.leaf = nn.Linear(d, 2 * h)
        self.comp = nn.Linear(2 * h, 5 * h)
        self.q = nn.Parameter(torch.randn(h))

    def forward(self, x):
        h, c = self.leaf(x).chunk(2, dim=1)
        while h.size(0) > 1:
            l_h, r_h = h[:-1], h[1:]
            l_c, r_c = c[:-1], c[1:]
            i, fl, fr, u, o = self.comp(torch.cat([l_h, r_h], dim=1)).chunk(5, dim=1)
            new_c = fl.sigmoid() * l_c + fr.sigmoid() * r_c + i.sigmoid() * u.tanh()
            new_h = o.sigmoid() * new_c.tanh()
            k = (new_h @ self.q).argmax().item()
            h = torch.cat([h[:k], new_h[k : k + 1], h[k + 2 :]], dim=0)
            c = torch.cat([c[:k], new_c[k : k + 1], c[k + 2 :]], dim=0)
        return h.squeeze(0)


@case(GumbelTree)
def gumbel_tree(rng):
    return vector(rng, rng.randint(1, 7), 6)


class FeatureParser(nn.Module):
    """An arc-standard parser over features of the top of the stack and the front of the buffer (Chen and Manning 2014)."""

    def __init__(self, d=5, h=7):
        super().__init__()
        self.emb = nn.Embedding(21, d)
        self.lab = nn.Embedding(3, d)
        self.hid = nn.Linear(6 * d, h)
        self.out = nn.Linear(h, 3)

    def features(self, stack, buffer):
        found = []
        for i in range(3):
            found.append(stack[-1 - i] if len(stack) > i else 20)
        for i in range(2):
            found.append(buffer[i] if len(buffer) > i else 20)
        return found

    def forward(self, sent):
        stack = [0]
        buffer = list(range(1, len(sent) + 1))
        toks = [0] + sent
        heads = {}
        trans = []
        while len(buffer) > 0 or len(stack) > 1:
            found = self.features([toks[i] for i in stack], [toks[i] for i in buffer])
            e = self.emb(torch.tensor(found)).view(-1)
            e = torch.cat([e, self.lab(torch.tensor(len(heads) % 3))])
            scores = self.out(self.hid(e) ** 3)
            legal = [len(buffer) > 0, len(stack) > 2, len(stack) > 1]
            mask = torch.tensor([0.0 if ok else float("-inf") for ok in legal])
            a = int((scores + mask).argmax())
            trans.append(a)
            if a == 0:
                stack.append(buffer.pop(0))
            elif a == 1:
                dep = stack.pop(-2)
                heads[dep] = stack[-1]
            else:
                dep = stack.pop()
                heads[dep] = stack[-1]
        return [heads.get(i, -1) for i in range(1, len(sent) + 1)], trans


@case(FeatureParser)
def feature_parser(rng):
    return [rng.randrange(1, 20) for _ in range(rng.randint(2, 6))]


class SoftDTW(nn.Module):
    """Soft dynamic time warping (Cuturi and Blondel 2017) of two series, its table a list of lists."""

    def __init__(self, gamma=0.5):
        super().__init__()
        self.gamma = gamma
        self.proj = nn.Linear(3, 4)

    def softmin(self, *values):
        z = torch.stack([-x / self.gamma for x in values])
        return -self.gamma * torch.logsumexp(z, dim=0)

    def forward(self, pair):
        a, b = self.proj(pair[0]), self.proj(pair[1])
        n, m = len(a), len(b)
        D = ((a.unsqueeze(1) - b.unsqueeze(0)) ** 2).sum(-1)
        inf = torch.tensor(1e6)
        R = [[inf] * (m + 1) for _ in range(n + 1)]
        R[0][0] = torch.tensor(0.0)
        for i in range(1, n + 1):
            for j in range(1, m + 1):
                R[i][j] = D[i - 1, j - 1] + self.softmin(R[i - 1][j - 1], R[i - 1][j], R[i][j - 1])
        return R[n][m]


@case(SoftDTW)
def soft_dtw(rng):
    return vector(rng, rng.randint(1, 5), 3), vector(rng, rng.randint(1, 5), 3)


class CachedGPT(nn.Module):
    """A decoder with keys and values of all positions as tensors that grow, one pair for each layer."""

    def __init__(self, d=8, heads=2, layers=2, vocabulary=10):
        super().__init__()
        self.wte = nn.Embedding(vocabulary, d)
        self.wpe = nn.Embedding(20, d)
        self.heads = heads
        block = dict(ln1=nn.LayerNorm(d), qkv=nn.Linear(d, 3 * d), proj=nn.Linear(d, d), fc=nn.Linear(d, d))
        self.blocks = nn.ModuleList([nn.ModuleDict(block) for _ in range(layers)])
        self.head = nn.Linear(d, vocabulary, bias=False)

    def step(self, tok, pos, cache):
        x = self.wte(tok) + self.wpe(torch.tensor(pos))
        new = []
        for b, (ks, vs) in zip(self.blocks, cache):
            q, k, v = b["qkv"](b["ln1"](x)).chunk(3, dim=-1)
            ks = torch.cat([ks, k.unsqueeze(0)], 0)
            vs = torch.cat([vs, v.unsqueeze(0)], 0)
            hs = []
            for qh, kh, vh in zip(q.chunk(self.heads, -1), ks.chunk(self.heads, -1), vs.chunk(self.heads, -1)):
                a = F.softmax(kh @ qh / math.sqrt(qh.size(-1)), dim=0)
                hs.append(a @ vh)
            x = x + b["proj"](torch.cat(hs, -1))
            x = x + F.gelu(b["fc"](x))
            new.append((ks, vs))
        return self.head(x), new

    def forward(self, prompt):
        d = self.wte.embedding_dim
        cache = [(torch.zeros(0, d), torch.zeros(0, d)) for _ in self.blocks]
        for pos in range(len(prompt)):
            logits, cache = self.step(prompt[pos], pos, cache)
        out = []
        for i in range(4):
            nxt = logits.argmax(-1)
            out.append(nxt.item())
            if nxt.item() == 0:
                break
            logits, cache = self.step(nxt, len(prompt) + i, cache)
        return out, logits


@case(CachedGPT)
def gpt_with_a_cache(rng):
    return torch.tensor(words(rng, 1, 6, 10))


class DialogueRNN(nn.Module):
    """Speakers' states in a dictionary with a default (Majumder et al. 2019)."""

    def __init__(self, d=5):
        super().__init__()
        self.emb = nn.EmbeddingBag(15, d, mode="mean")
        self.g = nn.GRUCell(2 * d, d)
        self.p = nn.GRUCell(2 * d, d)
        self.out = nn.Linear(2 * d, 4)
        self.d = d

    def forward(self, dialog):
        party = defaultdict(lambda: torch.zeros(1, self.d))
        g = torch.zeros(1, self.d)
        logits = []
        for speaker, utt in dialog:
            u = self.emb(torch.tensor(utt).unsqueeze(0))
            g = self.g(torch.cat([u, party[speaker]], 1), g)
            party[speaker] = self.p(torch.cat([u, g], 1), party[speaker])
            logits.append(self.out(torch.cat([g, party[speaker]], 1)))
        return torch.cat(logits)


@case(DialogueRNN)
def dialogue(rng):
    return [(rng.choice("ABC"), words(rng, 1, 5, 15)) for _ in range(rng.randint(1, 6))]


class Coreference(nn.Module):
    """Spans of a text, each linked to the best one before it, and the clusters that this makes (Lee et al. 2017)."""

    def __init__(self, d=5):
        super().__init__()
        self.emb = nn.Embedding(20, d)
        self.lstm = nn.LSTM(d, d, bidirectional=True)
        self.att = nn.Linear(2 * d, 1)
        self.pair = nn.Linear(12 * d, 1)

    def span(self, h, s, e):
        inside = h[s : e + 1]
        a = torch.softmax(self.att(inside), dim=0)
        return torch.cat([h[s], h[e], torch.sum(a * inside, dim=0)])

    def forward(self, instance):
        tokens, spans = instance
        h, _ = self.lstm(self.emb(torch.tensor(tokens)).unsqueeze(1))
        h = h.squeeze(1)
        reps = [self.span(h, s, e) for s, e in spans]
        clusters = []
        links = []
        for i in range(len(reps)):
            best, arg = 0.0, -1
            for j in range(i):
                sc = self.pair(torch.cat([reps[i], reps[j]])).item()
                if sc > best:
                    best, arg = sc, j
            links.append(arg)
            if arg == -1:
                clusters.append([i])
            else:
                for c in clusters:
                    if arg in c:
                        c.append(i)
        return links, clusters, torch.stack(reps).sum(0)


@case(Coreference)
def coreference(rng):
    n = rng.randint(3, 8)
    starts = [rng.randrange(n) for _ in range(rng.randint(1, 4))]
    return words(rng, n, n, 20), [(s, min(n - 1, s + rng.randrange(3))) for s in starts]


class ArcStandard(nn.Module):
    """A transition system on a deque and a list, which takes the best of the valid actions."""

    SHIFT, LEFT, RIGHT = 0, 1, 2

    def __init__(self, d=6):
        super().__init__()
        self.emb = nn.Embedding(12, d)
        self.act = nn.Linear(3 * d, 3)
        self.comp = nn.Linear(2 * d, d)
        self.empty = nn.Parameter(torch.zeros(d))

    def forward(self, sentence):
        buf = deque(self.emb(torch.tensor(w)) for w in sentence)
        stack = []
        history = []
        while len(buf) > 0 or len(stack) > 1:
            top = stack[-1] if stack else self.empty
            second = stack[-2] if len(stack) >= 2 else self.empty
            front = buf[0] if buf else self.empty
            logits = self.act(torch.cat([top, second, front]))
            valid = []
            if buf:
                valid.append(self.SHIFT)
            if len(stack) >= 2:
                valid += [self.LEFT, self.RIGHT]
            best = max(valid, key=lambda a: logits[a].item())
            if best == self.SHIFT:
                stack.append(buf.popleft())
            else:
                a = stack.pop()
                b = stack.pop()
                head, dep = (a, b) if best == self.LEFT else (b, a)
                stack.append(torch.tanh(self.comp(torch.cat([head, dep]))))
            history.append(best)
        return stack[0], history


@case(ArcStandard)
def arc_standard(rng):
    return words(rng, 2, 7, 12)
