"""Networks over sequences: taggers, classifiers, encoders."""

import math
from dataclasses import dataclass

import torch
import torch.nn as nn
import torch.nn.functional as F

from backends.acrobat.tests.zoo.case import case, vector, words

VOCABULARY = 30


class BiLSTMTagger(nn.Module):
    """The tagger of PyTorch's own tutorial, bidirectional, with PyTorch's LSTM."""

    def __init__(self, embedding_dim=6, hidden_dim=5, tagset_size=4):
        super().__init__()
        self.word_embeddings = nn.Embedding(VOCABULARY, embedding_dim)
        self.lstm = nn.LSTM(embedding_dim, hidden_dim, num_layers=2, bidirectional=True)
        self.hidden2tag = nn.Linear(2 * hidden_dim, tagset_size)

    def forward(self, sentence):
        embeds = self.word_embeddings(sentence)
        lstm_out, _ = self.lstm(embeds.view(len(sentence), 1, -1))
        tag_space = self.hidden2tag(lstm_out.view(len(sentence), -1))
        return F.log_softmax(tag_space, dim=1)


@case(BiLSTMTagger)
def bilstm_tagger(rng):
    return torch.tensor(words(rng, 1, 12))


@dataclass
class Word:
    text: str
    characters: list[int]


class CharacterWordTagger(nn.Module):
    """Words from their characters when they are rare, from a table otherwise (Lample et al. 2016, section 4)."""

    def __init__(self, dim=6):
        super().__init__()
        self.vocabulary = {"<unk>": 0, "the": 1, "cat": 2, "sat": 3}
        self.words = nn.Embedding(len(self.vocabulary), dim)
        self.characters = nn.Embedding(26, dim)
        self.forwards = nn.LSTMCell(dim, dim)
        self.backwards = nn.LSTMCell(dim, dim)
        self.combine = nn.Linear(2 * dim, dim)
        self.tagger = nn.GRUCell(dim, dim)
        self.out = nn.Linear(dim, 3)

    def last(self, cell, ids):
        h = c = torch.zeros(1, cell.hidden_size)
        for i in ids:
            h, c = cell(self.characters.weight[i].unsqueeze(0), (h, c))
        return h

    def represent(self, word):
        if word.text in self.vocabulary:
            return self.words.weight[self.vocabulary[word.text]].unsqueeze(0)
        spelled = torch.cat(
            [self.last(self.forwards, word.characters), self.last(self.backwards, word.characters[::-1])], dim=1
        )
        return self.combine(spelled)

    def forward(self, sentence):
        state = torch.zeros(1, self.tagger.hidden_size)
        tags = []
        for word in sentence:
            state = self.tagger(self.represent(word), state)
            tags.append(self.out(state).argmax(dim=-1).item())
        return tags


@case(CharacterWordTagger)
def character_word_tagger(rng):
    spelled = [rng.choice(["the", "cat", "sat", "xyzzy", "plugh"]) for _ in range(rng.randint(1, 7))]
    return [Word(text, [ord(letter) - ord("a") for letter in text]) for text in spelled]


class TextCNN(nn.Module):
    """Convolutions over words of several widths, the maximum over time (Kim 2014)."""

    def __init__(self, dim=6, filters=4, widths=(2, 3, 4), classes=2):
        super().__init__()
        self.embed = nn.Embedding(VOCABULARY, dim)
        self.convs = nn.ModuleList([nn.Conv1d(dim, filters, width, padding=width - 1) for width in widths])
        self.dropout = nn.Dropout(0.5)
        self.fc = nn.Linear(filters * len(widths), classes)

    def forward(self, ids):
        x = self.embed(torch.tensor(ids)).t().unsqueeze(0)
        pooled = [F.relu(conv(x)).max(dim=2)[0] for conv in self.convs]
        return self.fc(self.dropout(torch.cat(pooled, dim=1))).squeeze(0)


@case(TextCNN)
def text_cnn(rng):
    return words(rng, 1, 15)


class HierarchicalAttention(nn.Module):
    """Documents of sentences of words, with attention on both levels (Yang et al. 2016)."""

    def __init__(self, dim=6, classes=5):
        super().__init__()
        self.embedding = nn.Embedding(VOCABULARY, dim)
        self.word_rnn = nn.GRU(dim, dim, batch_first=True, bidirectional=True)
        self.sentence_rnn = nn.GRU(2 * dim, dim, batch_first=True, bidirectional=True)
        self.word_attention = nn.Linear(2 * dim, 2 * dim)
        self.word_context = nn.Parameter(torch.randn(2 * dim))
        self.sentence_attention = nn.Linear(2 * dim, 2 * dim)
        self.sentence_context = nn.Parameter(torch.randn(2 * dim))
        self.classify = nn.Linear(2 * dim, classes)

    def attend(self, states, projection, context):
        u = torch.tanh(projection(states))
        alpha = torch.softmax(u @ context, dim=0)
        return (alpha.unsqueeze(-1) * states).sum(dim=0)

    def forward(self, document):
        sentences = []
        for sentence in document:
            states, _ = self.word_rnn(self.embedding(torch.tensor(sentence)).unsqueeze(0))
            sentences.append(self.attend(states[0], self.word_attention, self.word_context))
        states, _ = self.sentence_rnn(torch.stack(sentences).unsqueeze(0))
        return self.classify(self.attend(states[0], self.sentence_attention, self.sentence_context))


@case(HierarchicalAttention)
def hierarchical_attention(rng):
    return [words(rng, 1, 7) for _ in range(rng.randint(1, 5))]


class PositionalEncoding(nn.Module):
    """Sinusoidal positions (Vaswani et al. 2017, section 3.5), as PyTorch's tutorial has it."""

    def __init__(self, d_model, max_len=50):
        super().__init__()
        position = torch.arange(max_len).unsqueeze(1)
        div_term = torch.exp(torch.arange(0, d_model, 2) * (-math.log(10000.0) / d_model))
        pe = torch.zeros(max_len, 1, d_model)
        pe[:, 0, 0::2] = torch.sin(position * div_term)
        pe[:, 0, 1::2] = torch.cos(position * div_term)
        self.register_buffer("pe", pe)

    def forward(self, x):
        return x + self.pe[: x.size(0)]


class TransformerClassifier(nn.Module):
    """PyTorch's own TransformerEncoder over a sentence of its own length."""

    def __init__(self, d_model=8, nhead=2, classes=3):
        super().__init__()
        self.d_model = d_model
        self.embedding = nn.Embedding(VOCABULARY, d_model)
        self.position = PositionalEncoding(d_model)
        layer = nn.TransformerEncoderLayer(d_model, nhead, dim_feedforward=16)
        self.encoder = nn.TransformerEncoder(layer, num_layers=2, enable_nested_tensor=False)
        self.head = nn.Linear(d_model, classes)

    def forward(self, tokens):
        x = self.embedding(tokens).unsqueeze(1) * math.sqrt(self.d_model)
        x = self.encoder(self.position(x))
        return self.head(x.mean(dim=0)).squeeze(0)


@case(TransformerClassifier)
def transformer_classifier(rng):
    return torch.tensor(words(rng, 1, 12))


class CausalSelfAttention(nn.Module):
    def __init__(self, n_embd, n_head):
        super().__init__()
        assert n_embd % n_head == 0
        self.c_attn = nn.Linear(n_embd, 3 * n_embd)
        self.c_proj = nn.Linear(n_embd, n_embd)
        self.n_head, self.n_embd = n_head, n_embd

    def forward(self, x):
        T, C = x.size()
        q, k, v = self.c_attn(x).split(self.n_embd, dim=1)
        q, k, v = (t.view(T, self.n_head, C // self.n_head).transpose(0, 1) for t in (q, k, v))
        att = (q @ k.transpose(-2, -1)) * (1.0 / math.sqrt(k.size(-1)))
        att = att.masked_fill(torch.tril(torch.ones(T, T)) == 0, float("-inf"))
        y = F.softmax(att, dim=-1) @ v
        return self.c_proj(y.transpose(0, 1).contiguous().view(T, C))


class SmallGPT(nn.Module):
    """A causal transformer in the manner of minGPT that continues a prompt greedily until it writes token 0."""

    def __init__(self, n_embd=8, n_head=2, layers=2, block=24):
        super().__init__()
        self.block = block
        self.wte = nn.Embedding(VOCABULARY, n_embd)
        self.wpe = nn.Embedding(block, n_embd)
        self.blocks = nn.ModuleList(
            nn.ModuleDict(
                {
                    "ln_1": nn.LayerNorm(n_embd),
                    "attn": CausalSelfAttention(n_embd, n_head),
                    "ln_2": nn.LayerNorm(n_embd),
                    "mlp": nn.Sequential(nn.Linear(n_embd, 4 * n_embd), nn.GELU(), nn.Linear(4 * n_embd, n_embd)),
                }
            )
            for _ in range(layers)
        )
        self.ln_f = nn.LayerNorm(n_embd)
        self.lm_head = nn.Linear(n_embd, VOCABULARY, bias=False)

    def logits(self, ids):
        x = self.wte(torch.tensor(ids)) + self.wpe(torch.arange(len(ids)))
        for block in self.blocks:
            x = x + block["attn"](block["ln_1"](x))
            x = x + block["mlp"](block["ln_2"](x))
        return self.lm_head(self.ln_f(x)[-1])

    def forward(self, prompt):
        ids = list(prompt)
        while len(ids) < self.block:
            token = int(torch.argmax(self.logits(ids)))
            if token == 0:
                break
            ids.append(token)
        return ids


@case(SmallGPT)
def small_gpt(rng):
    return words(rng, 1, 6)


class AdaptiveComputation(nn.Module):
    """Adaptive computation time (Graves 2016): each word is pondered over until the halting probabilities sum to nearly one."""

    def __init__(self, dim=6, epsilon=0.01, max_ponder=6):
        super().__init__()
        self.epsilon, self.max_ponder = epsilon, max_ponder
        self.embedding = nn.Embedding(VOCABULARY, dim)
        self.cell = nn.RNNCell(dim + 1, dim)
        self.halt = nn.Linear(dim, 1)

    def ponder(self, x, state):
        total, steps = 0.0, 0
        accumulated = torch.zeros_like(state)
        while True:
            flag = torch.ones(1) if steps == 0 else torch.zeros(1)
            state = self.cell(torch.cat([x, flag]), state)
            p = torch.sigmoid(self.halt(state)).item()
            steps += 1
            if total + p >= 1 - self.epsilon or steps == self.max_ponder:
                accumulated += (1 - total) * state
                break
            total += p
            accumulated += p * state
        return accumulated, steps

    def forward(self, sentence):
        state = torch.zeros(self.cell.hidden_size)
        ponders = []
        for word in sentence:
            state, steps = self.ponder(self.embedding.weight[word], state)
            ponders.append(steps)
        return state, sum(ponders) / len(ponders)


@case(AdaptiveComputation)
def adaptive_computation(rng):
    return words(rng, 1, 8)


class Highway(nn.Module):
    def __init__(self, size, layers=2):
        super().__init__()
        self.transform = nn.ModuleList(nn.Linear(size, size) for _ in range(layers))
        self.gate = nn.ModuleList(nn.Linear(size, size) for _ in range(layers))

    def forward(self, x):
        for transform, gate in zip(self.transform, self.gate):
            t = torch.sigmoid(gate(x))
            x = t * F.relu(transform(x)) + (1 - t) * x
        return x


class CharacterLanguageModel(nn.Module):
    """Character-aware language model (Kim et al. 2016): convolutions over characters, highway layers, an LSTM over words; answers
    with the loss of the sentence."""

    def __init__(self, dim=5, filters=4, hidden=6, vocabulary=20):
        super().__init__()
        self.char = nn.Embedding(27, dim, padding_idx=26)
        self.conv2 = nn.Conv1d(dim, filters, 2)
        self.conv3 = nn.Conv1d(dim, filters, 3)
        self.highway = Highway(2 * filters)
        self.lstm = nn.LSTMCell(2 * filters, hidden)
        self.decode = nn.Linear(hidden, vocabulary)

    def word(self, letters):
        x = self.char(torch.tensor([26, *letters, 26])).t()
        pooled = torch.cat([torch.tanh(conv(x)).amax(dim=-1) for conv in (self.conv2, self.conv3)])
        return self.highway(pooled)

    def forward(self, sample):
        sentence, targets = sample["words"], sample["targets"]
        h, c = torch.zeros(6), torch.zeros(6)
        loss = torch.zeros(())
        for letters, target in zip(sentence, targets):
            h, c = self.lstm(self.word(letters), (h, c))
            loss = loss + F.cross_entropy(self.decode(h).unsqueeze(0), torch.tensor([target]))
        return loss / len(targets)


@case(CharacterLanguageModel)
def character_language_model(rng):
    n = rng.randint(1, 6)
    return {"words": [words(rng, 1, 6, 26) for _ in range(n)], "targets": [rng.randrange(20) for _ in range(n)]}


class StackAugmentedRNN(nn.Module):
    """A recurrent network with a continuous stack (Joulin and Mikolov 2015): push and pop are blended by a softmax."""

    def __init__(self, dim=6, depth=5):
        super().__init__()
        self.embedding = nn.Embedding(VOCABULARY, dim)
        self.u, self.r, self.p = nn.Linear(dim, dim), nn.Linear(dim, dim), nn.Linear(dim, dim)
        self.action = nn.Linear(dim, 2)
        self.push = nn.Linear(dim, dim)
        self.depth = depth
        self.dim = dim

    def forward(self, sentence):
        hidden = torch.zeros(self.dim)
        stack = torch.zeros(self.depth, self.dim)
        for word in sentence:
            hidden = torch.sigmoid(self.u(self.embedding.weight[word]) + self.r(hidden) + self.p(stack[0]))
            push, pop = F.softmax(self.action(hidden), dim=-1)
            pushed = torch.cat([torch.sigmoid(self.push(hidden)).unsqueeze(0), stack[:-1]])
            popped = torch.cat([stack[1:], torch.zeros(1, self.dim)])
            stack = push * pushed + pop * popped
        return hidden, stack


@case(StackAugmentedRNN)
def stack_augmented_rnn(rng):
    return words(rng, 1, 9)


class WindowedKeywordSpotter(nn.Module):
    """A frame-wise network over a recording of its own length: batch norm in evaluation, frames pooled by attention."""

    def __init__(self, mels=10, channels=6, classes=4):
        super().__init__()
        self.conv1 = nn.Conv1d(mels, channels, 3, padding=1)
        self.bn1 = nn.BatchNorm1d(channels)
        self.conv2 = nn.Conv1d(channels, channels, 3, stride=2, padding=1)
        self.bn2 = nn.BatchNorm1d(channels)
        self.attention = nn.Linear(channels, 1)
        self.fc = nn.Linear(channels, classes)

    def forward(self, mel):
        x = mel.transpose(0, 1).unsqueeze(0)
        x = F.relu(self.bn1(self.conv1(x)))
        x = F.relu(self.bn2(self.conv2(x)))
        x = x.squeeze(0).transpose(0, 1)
        weights = torch.softmax(self.attention(x), dim=0)
        return self.fc(torch.sum(weights * x, dim=0))


@case(WindowedKeywordSpotter)
def windowed_keyword_spotter(rng):
    return vector(rng, rng.randint(3, 20), 10)
