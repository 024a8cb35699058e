"""Compares each model with its equations, which are written out here again, and runs its smallest instances."""

from __future__ import annotations

import itertools
import math
from typing import Any

import pytest
import torch
from torch import Tensor

from workloads.beam.model import Beam
from workloads.birnn.model import BiRNN
from workloads.crf.model import CRF
from workloads.dagrnn.model import DAGRNN
from workloads.drnn.model import DRNN, Rose, Sample
from workloads.lattice.model import Lattice, LatticeLSTM
from workloads.lattice.model import Word as Span
from workloads.mvrnn.model import MVRNN
from workloads.mvrnn.model import Leaf as Word
from workloads.mvrnn.model import Node as Two
from workloads.seq2seq.model import END, Seq2Seq
from workloads.simtree.model import Pair
from workloads.spec import loaded
from workloads.stackrnn.model import Empty, Push, Sentence, StackRNN
from workloads.tests.conftest import spec
from workloads.treefc import model as treefc
from workloads.treegru import model as treegru
from workloads.treelstm.model import Leaf, Node, TreeLSTM
from workloads.treernn import model as treernn

sig, tanh, cat = torch.sigmoid, torch.tanh, torch.cat


@pytest.fixture(autouse=True)
def _inference() -> Any:
    with torch.inference_mode():
        yield


def tiny(name: str) -> Any:
    return loaded(spec(name), "tiny", 0, torch.float64)


def close(a: Tensor, b: Tensor) -> None:
    torch.testing.assert_close(a, b, rtol=1e-12, atol=1e-12)


def test_treelstm_is_tai_et_als() -> None:
    m: TreeLSTM = tiny("treelstm")
    W_i, W_o, W_u = m.W_i.weight, m.W_o.weight, m.W_u.weight
    U_i, U_o, U_u = m.U_i.weight, m.U_o.weight, m.U_u.weight
    b_i, b_o, b_u = m.W_i.bias, m.W_o.bias, m.W_u.bias

    def node(x: Tensor, children: list[tuple[Tensor, Tensor]]) -> tuple[Tensor, Tensor]:
        h_sum = sum((h for h, _ in children), torch.zeros_like(x))
        i, o = sig(W_i @ x + U_i @ h_sum + b_i), sig(W_o @ x + U_o @ h_sum + b_o)
        u = tanh(W_u @ x + U_u @ h_sum + b_u)
        c = i * u + sum((sig(m.U_f.weight @ h + m.U_f.bias) * c for h, c in children), torch.zeros_like(x))
        return o * tanh(c), c

    a, b, c = (node(m.embedding.weight[w], []) for w in (1, 2, 3))
    none = torch.zeros(16, dtype=torch.float64)
    close(m(Leaf(1)), m.classifier(a[0]))
    close(m(Node([Leaf(1), Node([Leaf(2), Leaf(3)])])), m.classifier(node(none, [a, node(none, [b, c])])[0]))
    close(m(Node([Leaf(1), Leaf(2), Leaf(3)])), m.classifier(node(none, [a, b, c])[0]))


def test_simtree_is_tai_et_als() -> None:
    m = tiny("simtree")
    a, b = Leaf(3), Node([Leaf(1), Node([Leaf(2), Leaf(3)])])
    left, right = m.encode(a)[0], m.encode(b)[0]
    h = sig(m.product.weight @ (left * right) + m.distance.weight @ (left - right).abs() + m.distance.bias)
    scores = m.classifier.weight @ h + m.classifier.bias
    close(m(Pair(a, b)), scores.exp() / scores.exp().sum())
    close(m(Pair(a, b)), m(Pair(b, a)))


def test_mvrnn_is_socher_et_als() -> None:
    m: MVRNN = tiny("mvrnn")
    (v1, m1), (v2, m2) = ((m.vectors.weight[w], m.matrices.weight[w].reshape(16, 16)) for w in (1, 2))
    v, matrix = m.encode(Two(Word(1), Word(2)))
    close(v, tanh(m.W_v.weight @ cat((m2 @ v1, m1 @ v2)) + m.W_v.bias))
    close(matrix, m1 @ m.W_m.weight[:, :16].T + m2 @ m.W_m.weight[:, 16:].T + m.W_m.bias)
    close(m(Word(1)), m.classifier(v1))


def test_birnn_reads_both_ways() -> None:
    m: BiRNN = tiny("birnn")
    x, y = m.embedding.weight[3], m.embedding.weight[5]
    f1 = sig(m.forward_cell(cat((x, m.forward_start))))
    f2 = sig(m.forward_cell(cat((y, f1))))
    b2 = sig(m.backward_cell(cat((y, m.backward_start))))
    b1 = sig(m.backward_cell(cat((x, b2))))
    for outputs, expected in zip(m.scores([3, 5]), (cat((f1, b1)), cat((f2, b2))), strict=True):
        close(outputs, m.classifier(expected))
    assert [index.item() for index in m([3, 5])] == [scores.argmax().item() for scores in m.scores([3, 5])]
    assert m([]) == []
    assert len(m([7])) == 1


def test_nestedrnn_counts_its_steps() -> None:
    m = tiny("nestedrnn")
    for instance in spec("nestedrnn").instances("tiny", 0, 20):
        assert 2 <= len(m(type(instance)(instance.x.double(), instance.key))) <= 5
    x, s = torch.randn(2, 16, dtype=torch.float64)
    z = sig(m.update.weight @ cat((x, s)) + m.update.bias)
    r = sig(m.reset.weight @ cat((x, s)) + m.reset.bias)
    close(m.gru(x, s), (1 - z) * s + z * tanh(m.candidate(cat((x, r * s)))))
    close(m.edges(x, 2), sig(m.edge(cat((x, sig(m.edge(cat((x, x)))))))))


def test_drnn_is_bounded() -> None:
    m: DRNN = tiny("drnn")

    def check(tree: Rose, depth: int) -> int:
        assert depth <= 4
        assert len(tree.children) <= 4
        return len(tree.children) + sum(check(child, depth + 1) for child in tree.children)

    sizes = []
    for i in spec("drnn").instances("tiny", 0, 200):
        tree = m(Sample(i.x.double(), i.h.double(), i.key))
        assert tree.children
        sizes.append(check(tree, 0))
    assert sum(sizes) / len(sizes) == pytest.approx(24.8, rel=0.25)
    assert len(set(sizes)) > 20


def test_berxit_layer_is_berts() -> None:
    m = tiny("berxit")
    x = torch.randn(8, 16, dtype=torch.float64)
    q, k, v = (linear(x).view(8, 2, 8).transpose(0, 1)[None] for linear in (m.query, m.key, m.value))
    context = torch.nn.functional.scaled_dot_product_attention(q, k, v)[0].transpose(0, 1).reshape(8, 16)
    n = m.attention_norm(x + m.attended(context))
    close(m.layer(x), m.layer_norm(n + m.contract(torch.relu(m.expand(n)))))


def test_berxit_leaves_after_every_layer() -> None:
    workload = spec("berxit")
    m = tiny("berxit")
    depths = []
    for instance in workload.instances("tiny", 0, 60):
        x = instance.x.double()
        scores = m.scores(type(instance)(x, instance.key))
        states = [x := m.layer(x) for _ in range(3)]
        (depth,) = (d for d, state in enumerate(states, 1) if torch.equal(m.classify(state), scores))
        depths.append(depth)
    assert {depths.count(d) > 8 for d in (1, 2, 3)} == {True}


@pytest.mark.parametrize(("certainty", "layers"), [(0.99, 1), (0.6, 2), (0.4, 3)])
def test_berxit_leaves_when_it_is_certain(certainty: float, layers: int) -> None:
    workload = spec("berxit", decisions="real")
    m: Any = loaded(workload, "tiny", 0, torch.float64)
    m.certainty.weight.zero_()
    m.certainty.bias.fill_(math.log(certainty / (1 - certainty)))
    (instance,) = workload.instances("tiny", 0, 1)
    x = instance.x.double()
    scores = m.scores(type(instance)(x, instance.key))
    for _ in range(layers):
        x = m.layer(x)
    assert torch.equal(m.classify(x), scores)


def test_stackrnn_parses() -> None:
    m: StackRNN = tiny("stackrnn")
    assert m(Sentence([], 1)).tolist() == m.classifier(m.stack_start).tolist()
    close(m(Sentence([4], 1)), m.classifier(m.step(m.stack_cell, m.embedding.weight[4], m.stack_start)))
    x, y = m.embedding.weight[4], m.embedding.weight[5]
    both = m.step(m.stack_cell, m.compose(x, y), m.stack_start)
    close(m(Sentence([4, 5], 1)), m.classifier(both))
    assert len({tuple(m(Sentence([4, 5, 6], key)).tolist()) for key in range(20)}) == 2  # the two bracketings


def test_a_low_stack_stays_as_it_is() -> None:
    m: StackRNN = tiny("stackrnn")
    assert m.reduce(Empty()) == Empty()
    one = Push(m.stack_start, m.stack_start, Empty())
    assert m.reduce(one) is one


def test_treegru_is_a_gru_on_the_sum() -> None:
    """The GRU of Cho et al. (2014) is written out, since PyTorch's GRU cell applies the reset gate after the product."""
    m: treegru.TreeGRU = tiny("treegru")

    def node(x: Tensor, h: Tensor) -> Tensor:
        z = sig(m.W_z.weight @ x + m.U_z.weight @ h + m.W_z.bias)
        r = sig(m.U_r.weight @ h + m.U_r.bias)
        return z * h + (1 - z) * tanh(m.W_h.weight @ x + m.U_h.weight @ (r * h) + m.W_h.bias)

    none = torch.zeros(16, dtype=torch.float64)
    a, b, c = (node(m.embedding.weight[w], none) for w in (1, 2, 3))
    leaf = treegru.Leaf
    close(m(leaf(1)), m.classifier(a))
    close(m(treegru.Node(leaf(1), treegru.Node(leaf(2), leaf(3)))), m.classifier(node(none, a + node(none, b + c))))


def test_treernn_reads_a_word_at_every_node() -> None:
    m: treernn.TreeRNN = tiny("treernn")
    leaf = treernn.Leaf
    x = [m.W(m.embedding.weight[w]) for w in range(4)]
    inner = tanh(x[2] + m.U.weight @ (tanh(x[0]) + tanh(x[1])))
    close(m(leaf(3)), m.classifier(tanh(x[3])))
    close(m(treernn.Node(2, leaf(0), leaf(1))), m.classifier(inner))
    close(m(treernn.Node(3, treernn.Node(2, leaf(0), leaf(1)), leaf(0))), m.classifier(tanh(x[3] + m.U(inner + tanh(x[0])))))


def test_an_inner_node_is_headed_by_its_last_word() -> None:
    def last(tree: treernn.Tree) -> int:
        return tree.word if isinstance(tree, treernn.Leaf) else last(tree.right)

    def check(tree: treernn.Tree) -> int:
        assert tree.word == last(tree)
        return 1 + (0 if isinstance(tree, treernn.Leaf) else check(tree.left) + check(tree.right))

    assert sum(check(tree) for tree in spec("treernn").instances("tiny", 0, 5)) > 50


def test_treefc_is_one_layer_on_both_children() -> None:
    m: treefc.TreeFC = tiny("treefc")
    a, b, c = m.embedding.weight[:3]
    leaves = [treefc.Leaf(word) for word in range(3)]
    one = tanh(m.cell.weight[:, :16] @ a + m.cell.weight[:, 16:] @ b + m.cell.bias)
    close(m(leaves[0]), a)
    close(m(treefc.Node(treefc.Node(leaves[0], leaves[1]), leaves[2])), tanh(m.cell(cat((one, c)))))


@pytest.mark.parametrize(("size", "levels"), [("tiny", 3), ("small", 7), ("large", 7)])
def test_trees_of_treefc_are_full(size: str, levels: int) -> None:
    def check(tree: treefc.Tree, below: int) -> list[int]:
        if isinstance(tree, treefc.Leaf):
            assert below == 0
            return [tree.word]
        return check(tree.left, below - 1) + check(tree.right, below - 1)

    words = [check(tree, levels) for tree in spec("treefc").instances(size, 0, 2)]
    assert [len(each) for each in words] == [2**levels] * 2
    assert words[0] != words[1]


def test_dagrnn_takes_the_upper_and_the_left_neighbour() -> None:
    m: DAGRNN = tiny("dagrnn")
    x = [m.U(m.embedding.weight[w]) for w in range(6)]
    W = m.W.weight
    a = tanh(x[0])
    b, d = tanh(x[1] + W @ a), tanh(x[3] + W @ a)
    e = tanh(x[4] + W @ (b + d))
    c = tanh(x[2] + W @ b)
    f = tanh(x[5] + W @ (c + e))
    outputs = m([[0, 1, 2], [3, 4, 5]])
    for row, states in zip(outputs, [(a, b, c), (d, e, f)], strict=True):
        for scores, h in zip(row, states, strict=True):
            close(scores, m.classifier(h))


def test_lattice_adds_the_arcs_that_end_at_a_character() -> None:
    m: LatticeLSTM = tiny("lattice")

    def arc(kind: str, x: Tensor, state: tuple[Tensor, Tensor]) -> tuple[Tensor, Tensor]:
        i, f, o, u = (getattr(m, f"{kind}_{gate}")(cat((x, state[0]))) for gate in "ifou")
        c = sig(f) * state[1] + sig(i) * tanh(u)
        return sig(o) * tanh(c), c

    start = (m.start_h, m.start_c)
    first = arc("character", m.characters.weight[7], start)
    second = arc("character", m.characters.weight[8], first)
    third = arc("character", m.characters.weight[9], second)
    over_two, over_all = arc("word", m.words.weight[3], first), arc("word", m.words.weight[4], start)
    outputs = m(Lattice([7, 8, 9], [[], [], [Span(3, 1), Span(4, 0)]]))
    for scores, h in zip(outputs, [first[0], second[0], third[0] + over_two[0] + over_all[0]], strict=True):
        close(scores, m.classifier(h))


def test_lattices_have_the_statistics_that_are_named() -> None:
    """Words lie within the sentence; their number and lengths, and that of characters, are as the specification says."""
    lattices = spec("lattice").instances("small", 0, 400)
    lengths = [len(each.characters) for each in lattices]
    sizes = [j + 1 - w.begin for each in lattices for j, ending in enumerate(each.words) for w in ending]
    assert all(len(each.words) == len(each.characters) for each in lattices)
    assert all(w.begin >= 0 for each in lattices for ending in each.words for w in ending)
    assert set(sizes) == {2, 3, 4}
    assert 43 < sum(lengths) / 400 < 51
    assert 0.37 < len(sizes) / sum(lengths) < 0.42
    assert 0.87 < sizes.count(2) / len(sizes) < 0.93


def test_grids_differ_and_have_no_gaps() -> None:
    for size, low, high in (("tiny", 1, 5), ("small", 6, 14), ("large", 6, 14)):
        grids = spec("dagrnn").instances(size, 0, 60)
        assert all(len({len(row) for row in grid}) == 1 for grid in grids)
        heights, widths = [len(grid) for grid in grids], [len(grid[0]) for grid in grids]
        assert {min(heights), max(heights), min(widths), max(widths)} == {low, high}


def test_seq2seq_is_luong_et_als() -> None:
    m: Seq2Seq = tiny("seq2seq")
    x, state = m.embedding.weight[:2]
    for cell in (m.encoder, m.decoder):
        z = sig(cell.update.weight @ cat((x, state)) + cell.update.bias)
        r = sig(cell.reset.weight @ cat((x, state)) + cell.reset.bias)
        candidate = tanh(cell.candidate.weight @ cat((x, r * state)) + cell.candidate.bias)
        close(m.step(cell, x, state), (1 - z) * state + z * candidate)
    sentence = spec("seq2seq").instances("tiny", 0, 1)[0]
    memory = m.encode(sentence)
    assert len(memory) == len(sentence)
    scores = [h @ m.query.weight @ state for h in memory]
    total = sum(s.exp() for s in scores)
    context = sum((s.exp() / total * h for s, h in zip(scores, memory, strict=True)), torch.zeros_like(state))
    close(m.attend(torch.stack(memory), state), context)
    close(m.classify(state, context), m.output(tanh(m.combine.weight @ cat((context, state)) + m.combine.bias)))


def test_seq2seq_takes_the_best_word_until_the_end() -> None:
    m: Seq2Seq = tiny("seq2seq")
    ended = 0
    for sentence in spec("seq2seq").instances("tiny", 0, 20):
        words = m(sentence)
        best = [int(row.argmax()) for row in m.scores(sentence)]
        assert END not in words
        assert best == (words if len(words) == m.longest else [*words, END])
        ended += len(words) < m.longest
    assert ended > 0


def test_a_beam_of_one_is_greedy() -> None:
    greedy: Seq2Seq = tiny("seq2seq")
    m: Beam = tiny("beam")
    m.width = 1
    for sentence in spec("seq2seq").instances("tiny", 0, 20):
        words = m(sentence)
        assert [word for word in words if word != END] == greedy(sentence)


def test_margins_tell_near_choices() -> None:
    """Two equal rows of the output's weights make every choice of either word a tie, and no other choice."""
    greedy, m = tiny("seq2seq"), tiny("beam")

    def margins_of(name: str, model: Any, sentence: list[int]) -> list[float]:
        return spec(name).margins(model, sentence) or []

    sentences = spec("seq2seq").instances("tiny", 0, 8)
    for words, margins in ((greedy(s), margins_of("seq2seq", greedy, s)) for s in sentences):
        assert len(margins) == min(len(words) + 1, greedy.longest)
        assert all(0 < margin < 1 for margin in margins)
    assert all(0 < margins_of("beam", m, s)[0] < 1 for s in sentences)
    chosen = next(words for s in sentences if (words := greedy(s)))[0]
    for model in (greedy, m):
        for parameter in (model.output.weight.data, model.output.bias.data):
            parameter[11 if chosen != 11 else 10] = parameter[chosen]
    for words, margins in ((greedy(s), margins_of("seq2seq", greedy, s)) for s in sentences):
        assert [margin == 0 for margin in margins[: len(words)]] == [
            word in (chosen, 11 if chosen != 11 else 10) for word in words
        ]
    assert any(margins_of("beam", m, s) == [0] for s in sentences)


def test_a_wide_beam_finds_the_best_translation() -> None:
    """Translations have at most two words here, and the beam is as wide as the vocabulary; every way to end is written out."""
    m: Beam = tiny("beam")
    m.longest, m.width = 2, 12
    for sentence in spec("beam").instances("tiny", 0, 4):
        states = m.encode(sentence)
        memory = torch.stack(states)
        state = m.step(m.decoder, m.target_embedding.weight[END], states[-1])
        first = m.log_probabilities(memory, state).tolist()
        scores_by_path: dict[tuple[int, ...], float] = {(END,): first[END]}
        for word in range(1, len(first)):
            after = m.step(m.decoder, m.target_embedding.weight[word], state)
            scores_by_path[word, END] = first[word] + m.log_probabilities(memory, after)[END].item()
        kept = sorted(scores_by_path, key=lambda path: scores_by_path[path])[-m.width :]
        assert tuple(m(sentence)) in kept
        assert max(kept, key=lambda path: scores_by_path[path] / (len(path) + 1)) == tuple(m(sentence))


def test_ragged_is_pytorchs_own_encoder() -> None:
    m: Any = tiny("ragged")
    theirs = torch.nn.TransformerEncoderLayer(16, 2, 64, dropout=0, batch_first=True, dtype=torch.float64).eval()
    sentence = spec("ragged").instances("tiny", 0, 1)[0]
    x = m.embedding.weight[sentence] + m.positions.weight[: len(sentence)]
    for layer in m.layers:
        three = (layer.query, layer.key, layer.value)
        theirs.load_state_dict(
            {
                "self_attn.in_proj_weight": cat([part.weight for part in three]),
                "self_attn.in_proj_bias": cat([part.bias for part in three]),
                **{
                    f"{to}.{leaf}": getattr(part, leaf)
                    for to, part in {
                        "self_attn.out_proj": layer.attended,
                        "linear1": layer.expand,
                        "linear2": layer.contract,
                        "norm1": layer.attention_norm,
                        "norm2": layer.layer_norm,
                    }.items()
                    for leaf in ("weight", "bias")
                },
            }
        )
        x = theirs(x[None])[0]
    close(m(sentence), x)
    assert m([4]).shape == (1, 16)


def test_crf_finds_the_best_of_all_paths() -> None:
    m: CRF = tiny("crf")
    for sentence in ([3], [3, 5], [8, 2, 3, 5]):
        emissions = m.emissions(sentence)
        paths = {}
        for path in itertools.product(range(7), repeat=len(sentence)):
            score = m.first[path[0]] + m.last[path[-1]] + sum(e[tag] for e, tag in zip(emissions, path, strict=True))
            paths[path] = (score + sum(m.transitions[b, a] for a, b in itertools.pairwise(path))).item()
        assert tuple(m(sentence)) == max(paths, key=lambda path: paths[path])
        for i, row in enumerate(m.scores(sentence)):
            best = [max(score for path, score in paths.items() if path[i] == tag) for tag in range(7)]
            assert row.tolist() == pytest.approx(best, rel=1e-10)
    assert m([]) == m.scores([]) == []


def test_crf_reads_both_ways_with_lstms() -> None:
    m: CRF = tiny("crf")
    x = m.embedding.weight[3]
    states = []
    for cell in (m.ahead, m.behind):
        theirs = torch.nn.LSTMCell(16, 16, dtype=torch.float64)
        gates = (cell.input, cell.forget, cell.candidate, cell.output)  # in PyTorch's order
        of_word, of_state = cat([gate.weight for gate in gates]).chunk(2, dim=1)
        bias = cat([gate.bias for gate in gates])
        theirs.load_state_dict(
            {"weight_ih": of_word, "weight_hh": of_state, "bias_ih": bias, "bias_hh": torch.zeros_like(bias)}
        )
        states.append(theirs(x, (m.start, torch.zeros_like(m.start)))[0])
    close(m.emissions([3])[0], m.emission(cat(states)))
