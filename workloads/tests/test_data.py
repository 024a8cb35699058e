"""Readers and generators: errors name the place, and generated instances have the statistics of the published ones."""

from __future__ import annotations

import subprocess
import sys
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from workloads import sentences, text, trees
from workloads.tests.conftest import spec
from workloads.text import DataError

SHARED = Path(__file__).resolve().parents[3] / "shared" / "data"
FILES = [SHARED / "sst" / "dev.txt", SHARED / "sst" / "test.txt", SHARED / "wikiner" / "dev.txt"]


def real(path: Path) -> Path:
    if not path.exists():
        pytest.skip(f"{path} is not here: real data does not come with the project")
    return path


def parse(line: str) -> Any:
    """Words as ids, inner nodes as lists."""
    return trees.parse(line, "f:1", 1000, int, list)


def word(name: str) -> int:
    return text.word_id(name, 1000)


def shape(tree: Any) -> tuple[int, int, int]:
    """The numbers of leaves, nodes and levels."""
    if isinstance(tree, int):
        return 1, 1, 1
    parts = [shape(child) for child in tree]
    return sum(p[0] for p in parts), 1 + sum(p[1] for p in parts), 1 + max(p[2] for p in parts)


def shapes(trees_read: list[Any]) -> np.ndarray:
    return np.array([shape(tree) for tree in trees_read])


def test_a_tree_is_read() -> None:
    assert parse("(3 (2 good) (2 (1 -LRB-) (2 film)))") == [word("good"), [word("-LRB-"), word("film")]]
    assert parse("  (3 one)\r\n") == word("one")


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("3 (2 a)", "f:1:1: a tree starts with '(', not '3'"),
        ("(3 (2 a) (2 b)", "f:1:15: 1 '(' not closed"),
        ("(3 (2 a) (2 b)))", "f:1:16: ')' outside of a tree"),
        ("(3 a) (2 b)", "f:1:7: '(' outside of a tree"),
        ("(3 (2 a) ((2 b))", "f:1:10: a label must follow '('"),
        ("()", "f:1:1: a label must follow '('"),
        ("(3 (2 a))", "f:1:9: the node '3' closed here has 1 parts"),
        ("(3)", "f:1:3: the node '3' closed here has 0 parts"),
        ("(3 (2 a) (2 b) (2 c))", "f:1:21: the node '3' closed here has 3 parts"),
        ("(3 (2 a) b)", "f:1:11: the node '3' closed here has 2 parts"),
        ("(3 a b)", "f:1:7: the node '3' closed here has 2 parts"),
    ],
)
def test_a_bad_bracket_is_named(line: str, message: str) -> None:
    with pytest.raises(DataError) as error:
        parse(line)
    assert str(error.value).startswith(message)


def test_errors_name_the_line(tmp_path: Path) -> None:
    path = tmp_path / "trees.txt"
    path.write_text("(1 a)\n\n(1 (2 b)\n")
    assert len(spec("treelstm", data=str(path)).instances("tiny", 0, 1)) == 1
    with pytest.raises(DataError, match=r"trees\.txt:3:9: 1 '\(' not closed"):
        spec("treelstm", data=str(path)).instances("tiny", 0, 2)


@pytest.mark.parametrize("name", ["treelstm", "mvrnn", "simtree", "birnn", "stackrnn", "crf", "seq2seq", "beam", "ragged"])
def test_files_that_cannot_be_read(name: str, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"absent\.txt: No such file"):
        spec(name, data=str(tmp_path / "absent.txt")).instances("tiny", 0, 1)
    (tmp_path / "blank.txt").write_text("\n  \n")
    with pytest.raises(DataError, match=r"blank\.txt: the file is empty"):
        spec(name, data=str(tmp_path / "blank.txt")).instances("tiny", 0, 1)
    (tmp_path / "binary.txt").write_bytes("(1 é)\n\n(2 ".encode() + b"\xff\x00)")
    with pytest.raises(DataError, match=r"binary\.txt:3:4: the byte 0xff cannot be decoded"):
        spec(name, data=str(tmp_path / "binary.txt")).instances("tiny", 0, 1)
    (tmp_path / "wide.txt").write_text("(1 a)\n", encoding="utf-16")
    with pytest.raises(DataError, match=r"wide\.txt:1:1: the file is in UTF-16"):
        spec(name, data=str(tmp_path / "wide.txt")).instances("tiny", 0, 1)
    with pytest.raises(DataError, match="Is a directory"):
        spec(name, data=str(tmp_path)).instances("tiny", 0, 1)


@pytest.mark.parametrize("name", ["treelstm", "mvrnn", "birnn", "stackrnn"])
def test_a_byte_order_mark_is_no_word(name: str, tmp_path: Path) -> None:
    plain, marked = tmp_path / "plain.txt", tmp_path / "marked.txt"
    plain.write_text("(1 a)\n")
    marked.write_text("(1 a)\n", encoding="utf-8-sig")
    spec(name, data=str(marked)).check("tiny")
    assert spec(name, data=str(marked)).instances("tiny", 0, 1) == spec(name, data=str(plain)).instances("tiny", 0, 1)


def nested(levels: int) -> str:
    return "(0 (1 a) " * (levels - 1) + "(2 b)" + ")" * (levels - 1)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("(1 a)\n" * 20 + "(1 (2 b)\n", r":21:9: 1 '\(' not closed"),
        ("(1 a)\n(1 (2 b) (9 c))\n", r":2:11: the label 9 is none of the 5 classes, 0 to 4"),
        ("(1 a)\n" + nested(trees.MAX_LEVELS + 1), rf":2:1: a tree of {trees.MAX_LEVELS + 1} levels"),
        ("(1 " + "a" * 1001 + ")", r":1:4: a word of 1001 letters"),
    ],
)
def test_the_whole_file_is_checked(content: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "trees.txt"
    path.write_text(content)
    for name in ("treelstm", "mvrnn"):
        with pytest.raises(DataError, match="trees.txt" + message):
            spec(name, data=str(path)).check("tiny")


def test_what_is_allowed_passes_the_check(tmp_path: Path) -> None:
    path = tmp_path / "trees.txt"
    path.write_text(f"(NP (DT the) (4 end))\n{nested(trees.MAX_LEVELS)}\n")
    spec("treelstm", data=str(path)).check("tiny")
    assert len(spec("treelstm", data=str(path)).instances("tiny", 0, 2)) == 2


def test_two_lines_are_a_pair(tmp_path: Path) -> None:
    path = tmp_path / "trees.txt"
    path.write_text("(1 a)\n(2 (1 a) (1 b))\n\n(3 c)\n(4 d)\n")
    workload = spec("simtree", data=str(path))
    workload.check("tiny")
    shapes_of = [(type(p.left).__name__, type(p.right).__name__) for p in workload.instances("tiny", 0, 3)]
    assert shapes_of == [("Leaf", "Node"), ("Leaf", "Leaf"), ("Leaf", "Node")]
    path.write_text("(1 a)\n(2 b)\n\n(3 c)\n")
    with pytest.raises(DataError, match=r"trees\.txt:4: the last of 3 trees has no partner"):
        spec("simtree", data=str(path)).check("tiny")


def test_generated_pairs_are_as_long_as_sicks_sentences() -> None:
    from workloads.simtree.spec import SICK

    drawn = shapes(list(islice(trees.generate(np.random.default_rng(0), 1000, int, list, SICK), 4000)))[:, 0]
    assert drawn.mean() == pytest.approx(9.6, rel=0.02)
    assert drawn.std() == pytest.approx(3.0, rel=0.05)
    assert (drawn.min(), drawn.max() <= 30) == (3, True)


@pytest.mark.parametrize("name", ["birnn", "stackrnn"])
def test_a_text_without_lines_is_refused(name: str, tmp_path: Path) -> None:
    path = tmp_path / "sentences.txt"
    path.write_text("one two\n" + "word " * (text.MAX_WORDS + 1))
    with pytest.raises(DataError, match=rf"sentences.txt:2:50001: more than {text.MAX_WORDS} words in one line"):
        spec(name, data=str(path)).check("tiny")
    path.write_text("word " * text.MAX_WORDS)
    spec(name, data=str(path)).check("tiny")


def test_a_sentence_longer_than_the_positions_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "sentences.txt"
    path.write_text("one two\n" + "word " * 201)
    with pytest.raises(DataError, match=r"sentences\.txt:2: a sentence of 201 words; the model has 200 positions"):
        spec("ragged", data=str(path)).check("tiny")
    spec("ragged", data=str(path)).check("small")


def test_importing_specifications_does_not_import_torch() -> None:
    """The harness's own process imports and constructs every specification and every backend; torch would cost it a second."""
    names = [path.parent.name for path in Path(text.__file__).parent.glob("*/spec.py")]
    backends = Path(text.__file__).parents[1] / "backends"
    modules = [f"workloads.{name}.spec" for name in names] + [
        f"backends.{path.parent.name}.backend" for path in backends.glob("*/backend.py")
    ]
    code = f"import importlib, sys; [importlib.import_module(m) for m in {modules}]; print('torch' in sys.modules)"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout == "False\n"


def test_models_are_made_without_drawing_values() -> None:
    """Drawing on the meta device imports torch's compiler: a second of every process of a cell."""
    code = (
        "import sys; from workloads.treelstm.spec import Spec; s = Spec(); s.model('tiny'); s.params('tiny', 0);"
        "print('sympy' in sys.modules, 'torch._dynamo' in sys.modules)"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout == "False False\n"


def test_files_start_over(tmp_path: Path) -> None:
    path = tmp_path / "trees.txt"
    path.write_text("(1 a)\n(1 (2 b) (3 c))\n")
    found = spec("mvrnn", data=str(path)).instances("tiny", 0, 5)
    assert found == [found[0], found[1]] * 2 + [found[0]]


def test_sentences_with_and_without_tags(tmp_path: Path) -> None:
    path = tmp_path / "sentences.txt"
    path.write_text("The|O U.S.|I-LOC |\n\nThe U.S. |\n")
    first, second = sentences.read(path, 1000, 2)
    assert first == second == [word("The"), word("U.S."), word("|")]


@given(st.text(min_size=1), st.integers(1, 10_000))
def test_words_are_rows_of_the_table(name: str, vocabulary: int) -> None:
    assert 0 <= text.word_id(name, vocabulary) < vocabulary


def test_words_hash_alike_everywhere() -> None:
    assert [text.word_id(name, 10_000) for name in ("the", "film", "é")] == [3078, 3202, 9326]


def test_generated_words_are_rows_of_the_table() -> None:
    drawn = text.draw_words(np.random.default_rng(0), 50_000, 1000)
    assert min(drawn) == 0
    assert max(drawn) == 999
    counts = np.bincount(drawn)
    assert counts[0] > 5 * counts[9] > 0


@given(st.integers(0, 2**32), st.integers(2, 60))
def test_brackets_keep_the_words_in_order(seed: int, n: int) -> None:
    def flat(tree: Any) -> list[int]:
        return [tree] if isinstance(tree, int) else [leaf for child in tree for leaf in flat(child)]

    assert flat(trees.bracket(np.random.default_rng(seed), list(range(n)), list)) == list(range(n))


def test_generated_trees_are_like_the_treebank() -> None:
    found = shapes(list(islice(trees.generate(np.random.default_rng(0), 1000, int, list), 5000)))
    np.testing.assert_allclose(found.mean(axis=0), PUBLISHED_TREES, rtol=0.03)
    assert found[:, 0].min() == 2
    assert found[:, 0].max() <= 56
    assert found[:, 2].max() < 40


PUBLISHED_TREES = (19.2, 37.4, 10.9)
"""Leaves, nodes, levels of the treebank."""


@pytest.mark.parametrize("path", FILES[:2], ids=lambda path: path.name)
def test_the_treebank_is_as_published(path: Path) -> None:
    lines = real(path).read_text().splitlines()
    found = shapes(trees.read(path, 1000, int, list, len(lines)))
    np.testing.assert_allclose(found.mean(axis=0), PUBLISHED_TREES, rtol=0.01)
    assert found[:, 0].max() <= 56
    drawn = shapes(list(islice(trees.generate(np.random.default_rng(1), 1000, int, list), 5000)))
    np.testing.assert_allclose(drawn.std(axis=0), found.std(axis=0), rtol=0.1)


def test_generated_sentences_are_like_wikiner() -> None:
    lengths = [len(s) for s in islice(sentences.generate(np.random.default_rng(0), 1000), 5000)]
    assert np.mean(lengths) == pytest.approx(23.0, rel=0.03)
    assert np.std(lengths) == pytest.approx(13.1, rel=0.05)
    assert min(lengths) >= 1
    assert max(lengths) <= 144


def test_wikiner_is_as_published() -> None:
    path = real(FILES[2])
    lengths = [len(s) for s in sentences.read(path, 1000, 1696)]
    assert np.mean(lengths) == pytest.approx(23.0, rel=0.01)
    assert np.std(lengths) == pytest.approx(13.1, rel=0.01)
    drawn = [len(s) for s in islice(sentences.generate(np.random.default_rng(0), 1000), 5000)]
    quantiles = [0.1, 0.25, 0.5, 0.75, 0.9]
    np.testing.assert_allclose(np.quantile(drawn, quantiles), np.quantile(lengths, quantiles), rtol=0.1)


@pytest.mark.parametrize("name", ["treelstm", "mvrnn"])
def test_real_trees_run(name: str) -> None:
    assert len(spec(name, data=str(real(FILES[0]))).instances("small", 0, 20)) == 20


@pytest.mark.parametrize("name", ["birnn", "stackrnn"])
def test_real_sentences_run(name: str) -> None:
    assert len(spec(name, data=str(real(FILES[2]))).instances("small", 0, 20)) == 20


def test_structures_map() -> None:
    import torch

    from workloads.drnn.model import Rose
    from workloads.structures import arrays, map_tensors

    rose = Rose(torch.ones(2), torch.zeros(1), [Rose(torch.ones(1), torch.ones(1), [])])
    doubled = map_tensors(lambda t: t * 2, rose)
    assert isinstance(doubled, Rose)
    x, h, ((child, _, none),) = arrays(doubled)
    assert (x.tolist(), h.tolist(), child.tolist(), none) == ([2, 2], [0], [2], [])
    assert arrays([(1, torch.tensor(2))]) == [(1, 2)]


def test_tensors_are_copied_to_the_host_together_and_stay_apart() -> None:
    import torch

    from workloads.structures import on_host

    tensors = [torch.arange(6).reshape(2, 3), torch.tensor(0.5), torch.zeros(0, 4), torch.tensor([7]), torch.ones(3).bool()]
    for tensor, array in zip(tensors, on_host(tensors), strict=True):
        assert array.shape == tuple(tensor.shape) and array.dtype == tensor.numpy().dtype
        assert array.tolist() == tensor.tolist()
    assert on_host([]) == []


def test_slices_of_one_buffer_are_copied_with_it_and_a_small_part_of_one_is_not() -> None:
    import torch

    from workloads.structures import on_host

    buffer, large = torch.arange(12.0), torch.arange(1000.0)
    tensors = [buffer[4:8].view(2, 2), large[990:992], buffer[:4], buffer[8:8], buffer.view(3, 4)[:, 1], buffer[8:]]
    tensors += [torch.arange(5)[1:4], torch.empty(0, 3)]
    for order in (tensors, tensors[::-1]):
        found = on_host(order)
        assert [a.shape for a in found] == [t.shape for t in order]
        assert all(np.array_equal(t.numpy(), a) and a.dtype == t.numpy().dtype for t, a in zip(order, found, strict=True))
    bases = {id(a.base if a.base is not None else a) for a in on_host([buffer[:6], buffer[6:]])}
    assert len(bases) == 1
