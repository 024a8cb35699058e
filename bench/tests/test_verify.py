"""Which outputs count as right, and how answers and instances are stored and hashed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from bench.answers import Answer, load, rms, save
from bench.handover import Reader, Writer
from bench.outputs import Wrong, fingerprint, flatten
from bench.verifier import Verifier
from bench.verify import FEWER_BITS, TOLERANCES, Difference, Expected


def check(answers: list[tuple[Any, Any]], outputs: Any) -> Difference:
    return Expected(answers).check(flatten(outputs), Difference())


ONE = np.array([1.0, -2.0, 4.0])


@pytest.mark.parametrize("error", [3e-4, -3e-4])
def test_rounding_is_within_tolerance(error: float) -> None:
    found = check([(ONE, None), (2 * ONE, None)], [ONE, 2 * ONE * np.float32(1 + error)])
    assert found.n == 2
    assert found.relative == pytest.approx(3e-4, rel=1e-3)


@pytest.mark.parametrize(
    "bad", [ONE * 1.01, ONE + np.array([0, 0, 0.1]), ONE * np.nan, np.array([1.0, np.inf, 4.0]), ONE[::-1], -ONE]
)
def test_a_wrong_element_is_not(bad: np.ndarray) -> None:
    with pytest.raises(Wrong, match="instance 1"):
        check([(ONE, None), (ONE, None)], [ONE, bad])


@pytest.mark.parametrize("bad", [[ONE], [ONE, ONE[:2]], [ONE, [ONE]], [[ONE, ONE]], [ONE, ONE.astype(int)], [ONE, None]])
def test_the_structure_counts(bad: Any) -> None:
    with pytest.raises(Wrong):
        check([(ONE, None), (ONE, None)], bad)


def test_a_list_of_scalars_is_an_array() -> None:
    assert check([(ONE, None)], [[np.float32(x) for x in ONE]]).n == 1
    assert check([([ONE, ONE], None)], [np.stack([ONE, ONE])]).n == 1


def test_outputs_of_different_lengths() -> None:
    assert check([(ONE, None), (ONE[:1], None), ([], None)], [ONE, ONE[:1], []]).n == 3


def test_an_index_is_right_if_its_score_is_as_good() -> None:
    scores = np.array([[0.1, 5.0, 5.000001], [3.0, 1.0, 2.0]])
    answers = [(np.array([2, 0]), scores)]
    assert check(answers, [np.array([1, 0])]).n == 1
    for wrong in ([0, 0], [2, 2], [2, 3], [2, -3]):
        with pytest.raises(Wrong, match="index"):
            check(answers, [np.array(wrong)])


def test_an_index_without_scores_must_be_equal() -> None:
    with pytest.raises(Wrong, match="index 1 instead of 2"):
        check([(np.array(2), None)], [np.array(1)])


def test_small_instances_are_held_to_their_own_scale() -> None:
    with pytest.raises(Wrong, match="instance 1"):
        check([(1e6 * ONE, None), (ONE, None)], [1e6 * ONE, ONE + 0.05])


def test_answers_survive_the_disk() -> None:
    answers = [Answer(ONE), Answer([ONE, [np.array(1)]], [np.eye(2)], 1e-7), Answer([])]
    back = load(save(answers))
    assert flatten([a.output for a in back]).shape == flatten([a.output for a in answers]).shape
    np.testing.assert_array_equal(back[1].output[0], ONE)
    assert back[0].scores is None
    np.testing.assert_array_equal(back[1].scores[0], np.eye(2))
    assert [a.float32_error for a in back] == [None, 1e-7, None]


def test_errors_are_measured_by_those_of_float32() -> None:
    """One of ten instances may be far off, because its model took another path; two may not."""
    right = np.random.default_rng(0).normal(0, 1, (10, 50))
    single = right.astype(np.float32)
    answers = [Answer(a, None, rms(a, b)) for a, b in zip(right, single, strict=True)]
    half = right.astype(np.float16).astype(np.float32) * np.float32(1 + 2**-20)
    for coarse, least, most in ((0, 0, 2), (1, 0, FEWER_BITS), (2, FEWER_BITS, 1e6), (10, FEWER_BITS, 1e6)):
        outputs = [*half[:coarse], *single[coarse:]]
        assert least <= Expected(answers).check(flatten(outputs), Difference()).times_float32 <= most, coarse
    assert Expected([(a, None) for a in right]).check(flatten(list(half)), Difference()).times_float32 == 0
    assert rms(np.array(1), np.array(1)) is None
    assert rms([ONE, ONE], ONE) is None


@dataclass
class Tree:
    word: int
    children: list[Any]
    vector: np.ndarray


def test_fingerprint_sees_every_number() -> None:
    def make(word: int = 1, inner: int = 2, element: float = 3.0, extra: bool = False) -> list[Tree]:
        leaf = Tree(inner, [], np.array([element, 0.0]))
        return [Tree(word, [leaf, leaf] if extra else [leaf], np.zeros(2))]

    same = fingerprint(make())
    assert fingerprint(make()) == same
    for other in (make(word=5), make(inner=5), make(element=3.0000001), make(extra=True)):
        assert fingerprint(other) != same


def test_choices_may_fall_either_way_where_they_were_too_near_to_call() -> None:
    """The second choice of the second instance was a tie, so anything from there on is right, also a longer output or an end.
    Nothing before it and no other instance may differ."""
    right = [[4, 5, 6], [7, 8, 9], []]
    margins = [np.array(m) for m in ([0.1, 0.1, 0.1, 0.1], [0.1, 1e-6, 0.1, 0.1], [0.1])]
    answers = [Answer([np.array(w) for w in words], None, None, near) for words, near in zip(right, margins, strict=True)]
    answers = load(save(answers))
    np.testing.assert_array_equal(answers[1].margins, margins[1])

    def check(*outputs: list[int]) -> int:
        flat = flatten([[np.int64(x) for x in words] for words in outputs])
        memory = Reader()
        described = Writer(memory.descriptor).write([(0, flat)])[0]
        try:
            expected = Expected(answers)
            return expected.check(memory.read(described, expected), Difference()).n
        finally:
            memory.close()

    for second in ([7, 8, 9], [7, 1, 9], [7], [7, 1, 2, 3, 4]):
        assert check([4, 5, 6], second, []) == 3
    for wrong in (
        ([4, 5, 6], [1, 8, 9], []),
        ([4, 5, 6], [7, 8, 1], []),
        ([4, 5, 6], [], []),
        ([4, 5], [7, 8, 9], []),
        ([4, 5, 6, 7], [7, 8, 9], []),
        ([4, 5, 6], [7, 8, 9], [1]),
    ):
        with pytest.raises(Wrong, match="choice"):
            check(*wrong)
    with pytest.raises(Wrong, match="structure"):
        check([4, 5, 6], [7, 8, 9])
    with pytest.raises(Wrong, match="structure"):
        Expected(answers).check(flatten([[np.float32(x) for x in words] for words in right]), Difference())


@pytest.mark.parametrize(("precision", "bits"), [("tf32", 10), ("bf16", 7)])
def test_fewer_bits_have_a_tolerance_of_their_own(precision: str, bits: int) -> None:
    """Products with rounded operands are right if that precision was asked for, else wrong; dropped terms are always wrong."""
    rng = np.random.default_rng(0)
    x, w = rng.standard_normal((64, 200)), rng.standard_normal((200, 30))

    def rounded(values: np.ndarray) -> np.ndarray:
        fraction, exponent = np.frexp(values)
        return np.ldexp(np.round(fraction * 2.0 ** (bits + 1)) / 2.0 ** (bits + 1), exponent)

    right = [(row,) for row in x @ w]
    got = list((rounded(x) @ rounded(w)).astype(np.float32))
    seen = Expected(right, precision).check(flatten(got), Difference())
    assert 0 < seen.relative < TOLERANCES[precision][1]
    with pytest.raises(Wrong):
        Expected(right).check(flatten(got), Difference())
    without = list((rounded(x)[:, :-8] @ rounded(w)[:-8]).astype(np.float32))
    with pytest.raises(Wrong):
        Expected(right, precision).check(flatten(without), Difference())


@pytest.mark.parametrize(("answer", "told"), [(Answer(ONE), "off by 0.0e"), (Answer(np.array([2])), "outputs are indices")])
def test_a_row_of_fewer_bits_tells_how_far_off_it_is_or_that_outputs_cannot_tell(answer: Answer, told: str) -> None:
    verifier = Verifier(None, "bf16")  # type: ignore[arg-type]
    verifier.expect(0, [answer])
    (flag,) = verifier.judge_precision("")
    assert flag.startswith("products in bf16: ") and told in flag
