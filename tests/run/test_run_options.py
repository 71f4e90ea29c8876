"""The options of `tempi run -o`: misspelt names and values are refused, with a hint."""

import pytest


@pytest.mark.parametrize("flag", ["-o", "--option"])
@pytest.mark.parametrize(
    ("word", "hint"),
    [
        ("repotr", "there is no option repotr; did you mean report?"),
        ("TEMPI_STRATEGIE=host", "there is no option TEMPI_STRATEGIE; did you mean strategy?"),
        ("no-direct", "did you mean no_direct?"),
        ("=1", "tempi info lists all options"),
    ],
)
def test_options_that_do_not_exist_are_refused(tempi, flag, word, hint):
    done = tempi("run", flag, word, "--", "echo", "ran")
    assert done.code == 2
    assert hint in done.err
    assert "ran" not in done.out


@pytest.mark.parametrize(
    ("word", "why"),
    [
        ("strategy=foo", "it takes one of auto, library, device, oneshot, staged, direct, host\n"),
        (
            "strategy=One-shot",
            "it takes one of auto, library, device, oneshot, staged, direct, host; did you mean oneshot?",
        ),
        ("TEMPI_LOG=inof", "it takes one of off, error, info; did you mean info?"),
        ("report=perhaps", "it takes 0 or 1"),
        ("pool_limit=much", "it takes an integer from 0 to "),
        ("match_timeout=-5", "it takes an integer from 0 to "),
        ("freed_limit=9223372036854775808", "it takes an integer of 64 bits"),
    ],
)
def test_values_that_an_option_does_not_take_are_refused(tempi, word, why):
    done = tempi("run", "-o", word, "--", "echo", "ran")
    assert done.code == 2
    assert f"{word}: {why}" in done.err
    assert "ran" not in done.out


def test_an_option_without_its_value_is_refused(tempi):
    done = tempi("run", "-o", "strategy", "--", "echo", "ran")
    assert done.code == 2
    assert "strategy needs a value (-o strategy=VALUE): it takes one of auto, " in done.err
    assert "ran" not in done.out
