"""Rules are a small language of conditions that is never executed."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prumo.study import Level, Rule, RuleError

LEVELS = {
    "framework": ("mxnet", "pytorch", "pytorch@2.13.0"),
    "image_size": (32, 64),
    "learning_rate": (-0.5, 0.1),
    "channels_last": (True, False),
    "mixed": ("auto", 4),
}
VALUES: dict[str, Level] = {
    "framework": "mxnet",
    "image_size": 64,
    "learning_rate": -0.5,
    "channels_last": True,
    "mixed": 4,
}


@pytest.mark.parametrize(
    ("text", "holds"),
    [
        ("framework == mxnet", True),
        ("framework == 'mxnet'", True),
        ("framework != mxnet", False),
        ("framework == 'pytorch@2.13.0'", False),
        ("image_size > 32", True),
        ("32 < image_size <= 64", True),
        ("32 < image_size < 64", False),
        ("image_size in [32, 48]", False),
        ("image_size not in (32, 48)", True),
        ("framework in [mxnet, pytorch] and image_size == 64", True),
        ("framework == pytorch or image_size == 64", True),
        ("not framework == mxnet", False),
        ("learning_rate == -0.5", True),
        ("channels_last", True),
        ("not channels_last", False),
        ("channels_last == true", True),
        ("channels_last == False", False),
        ("mixed == auto", False),
        ("mixed == 4", True),
        ("image_size == 48", False),
        ("  image_size ==\n 64 ", True),
    ],
)
def test_conditions(text: str, *, holds: bool) -> None:
    assert Rule.over(text, LEVELS).holds(VALUES) is holds


def test_a_mapping_holds_when_all_its_levels_match() -> None:
    rule = Rule.over({"framework": ["mxnet", "pytorch"], "image_size": 64}, LEVELS)

    assert rule.holds(VALUES)
    assert not rule.holds(VALUES | {"image_size": 32})
    assert not rule.holds(VALUES | {"framework": "pytorch@2.13.0"})
    assert rule.names == {"framework", "image_size"}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("framwork == mxnet", "did you mean 'framework'?"),
        ("framework == mxnt", "did you mean 'mxnet'?"),
        ("framework == 'mxnt'", "'mxnt' is not a level of framework; did you mean 'mxnet'?"),
        ("framework in [mxnet, 'torch']", "is not a level of framework"),
        ("image_size == '32'", "never equal"),
        ("channels_last == 1", "never equal"),
        ("image_size in ['32']", "never equal"),
        ("framework < 3", "not a number"),
        ("framework < mxnet", "not a number"),
        ("mixed > 3", "not a number"),
        ("channels_last > 0", "not a number"),
        ("image_size", "not a condition"),
        ("framework and image_size == 32", "not a condition"),
        ("image_size is 32", "write == or !="),
        ("image_size in 32", "list"),
        ("image_size in []", "list"),
        ("1 < image_size in [32]", "chain"),
        ("image_size + 1 == 33", "not understood"),
        ("framework == pytorch@2.13", "in quotes"),
        ("framework == pytorch@mxnet", "in quotes"),
        ("__import__('os').system('true')", "not understood"),
        ("image_size.real == 32", "not understood"),
        ("(lambda: 1)() == 1", "not understood"),
        ("[x for x in [1]] == 1", "not understood"),
        ("image_size == (y := 32)", "not understood"),
        ("image_size == 1j", "not understood"),
        ("image_size == None", "not understood"),
        ("f'{image_size}' == framework", "not understood"),
        ("", "not a condition"),
        ("image_size ==", "not a condition"),
        ("image_size = 32", "not a condition"),
        ("a\0b", "not a condition"),
        ("not " * 400 + "channels_last", "nested too deeply"),
        ("(" * 300 + "channels_last" + ")" * 300, "not a condition"),
        ("-" * 1500 + "1 == image_size", "not "),
        ("channels_last" + " or channels_last" * 1000, "longer than"),
    ],
)
def test_what_is_not_a_condition_is_refused_in_words(text: str, words: str) -> None:
    with pytest.raises(RuleError) as caught:
        Rule.over(text, LEVELS)

    assert words in str(caught.value)


@pytest.mark.parametrize(
    ("mapping", "words"),
    [
        ({}, "empty"),
        ({"framwork": "mxnet"}, "did you mean 'framework'?"),
        ({"framework": "mxnt"}, "did you mean 'mxnet'?"),
        ({"image_size": 48}, "48 is not a level of image_size"),
        ({"channels_last": 1}, "1 is not a level"),
        ({"image_size": {"a": 1}}, "not a level"),
        ({"image_size": [None]}, "not a level"),
    ],
)
def test_a_mapping_that_cannot_match_is_refused(mapping: dict[str, object], words: str) -> None:
    with pytest.raises(RuleError, match=words.replace("?", r"\?")):
        Rule.over(mapping, LEVELS)


OPERANDS = [*LEVELS, "mxnet", "nobody", "True", "32", "-1.5", "'x'"]
WORD_SIGNS = ["and", "or", "not", "in", "is", "if", "else", "lambda"]
SIGNS = ["==", "!=", "<", ">=", "(", ")", "[", "]", ",", ":", ".", "@", "**"]
WORDS = st.sampled_from([*OPERANDS, *WORD_SIGNS, *SIGNS])


@given(st.one_of(st.text(max_size=60), st.lists(WORDS, max_size=14).map(" ".join)))
def test_any_text_is_a_rule_or_a_rule_error(text: str) -> None:
    try:
        rule = Rule.over(text, LEVELS)
    except RuleError:
        return
    assert rule.holds(VALUES) in {True, False}
    assert rule.names <= LEVELS.keys()


COMPARISONS = st.tuples(
    st.sampled_from(["image_size", "learning_rate"]),
    st.sampled_from(["==", "!=", "<", "<=", ">", ">="]),
    st.sampled_from(["32", "64", "0.1", "-0.5"]),
).map(" ".join)
CONDITIONS = st.recursive(
    COMPARISONS,
    lambda inner: st.one_of(
        st.tuples(inner, st.sampled_from(["and", "or"]), inner).map(lambda t: f"({' '.join(t)})"),
        inner.map(lambda text: f"not ({text})"),
    ),
    max_leaves=8,
)


@given(CONDITIONS, st.sampled_from([32, 64]), st.sampled_from([-0.5, 0.1]))
def test_a_condition_means_what_python_means(text: str, image_size: int, rate: float) -> None:
    values: dict[str, Level] = {"image_size": image_size, "learning_rate": rate}

    assert Rule.over(text, LEVELS).holds(values) is eval(text, {}, dict(values))  # noqa: S307 (the oracle)
