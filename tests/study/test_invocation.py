"""A command is filled in for a run: words, variables, working directory; never a shell."""

from __future__ import annotations

from typing import Any

import pytest

from prumo.study import Command, Run, StudyError, invocation_for
from support.study_factory import command_study


def filled(workload: dict[str, Any], **sections: Any) -> Any:
    study = command_study(workload={"kind": "command", **workload}, **sections)
    assert isinstance(study.workload, Command)
    scenario = list(study.scenarios())[2]
    return invocation_for(study.workload, Run(scenario, 2))


def test_placeholders_stand_for_levels() -> None:
    made = filled(
        {
            "command": ["train", "--a={a}", "{b}", "{{a}}", "{run} {scenario} {replication}"],
            "environment": {"OUT": "{b}-{rate}", "FLAG": "{flag}"},
            "directory": "work/{b}",
        },
        fixed={"rate": 0.5, "flag": True},
    )

    assert made.words == ("train", "--a=2", "x", "{a}", "C03-r2 C3 2")
    assert made.directory == "work/x"
    assert made.environment == {
        "OUT": "x-0.5",
        "FLAG": "true",
        "PRUMO_A": "2",
        "PRUMO_B": "x",
        "PRUMO_RATE": "0.5",
        "PRUMO_FLAG": "true",
        "PRUMO_RUN": "C03-r2",
        "PRUMO_SCENARIO": "C3",
        "PRUMO_REPLICATION": "2",
    }


def test_a_string_is_split_into_words_and_no_shell_sees_it() -> None:
    made = filled({"command": "train '{a} {b}' --log=$HOME; rm -rf *"})

    assert made.words == ("train", "2 x", "--log=$HOME;", "rm", "-rf", "*")


def test_a_level_with_braces_is_not_filled_again() -> None:
    made = filled({"command": ["echo", "{a}"]}, factors={"a": ["x", "y", "{run}"]})

    assert made.words == ("echo", "{run}")


@pytest.mark.parametrize(
    ("workload", "words"),
    [
        ({"command": ["echo", "{batchsize}"]}, "workload.command[1]: '{batchsize}' is not a param"),
        ({"command": ["echo", "{a!r}"]}, "not a plain name"),
        ({"command": ["echo", "{a:>9999999999}"]}, "not a plain name"),
        ({"command": ["echo", "{a.__class__}"]}, "not a plain name"),
        ({"command": ["echo", "{a[0]}"]}, "not a plain name"),
        ({"command": ["echo", "{}"]}, "not a plain name"),
        ({"command": ["echo", "{a"]}, "workload.command[1]: "),
        ({"command": ["echo", "a}"]}, "workload.command[1]: "),
        ({"command": []}, "should name a program"),
        ({"command": ""}, "should name a program"),
        ({"command": [""]}, "should name a program"),
        ({"command": "echo 'open"}, "cannot be split into words"),
        ({"command": ["echo", 3]}, "workload.command[1]: should be text, not 3"),
        ({"command": ["echo", "a\0b"]}, "NUL"),
        ({}, "workload.command: is required"),
        ({"command": "echo", "environment": {"A=B": "x"}}, "name of a variable"),
        ({"command": "echo", "environment": {"A": "{zz}"}}, "workload.environment.A: '{zz}'"),
        ({"command": "echo", "directory": "{zz}"}, "workload.directory: '{zz}'"),
        (
            {"command": "echo", "metrics": {"patterns": ["(?P<x>.)", "("]}},
            "workload.metrics.patterns[1]: is not a regular expression",
        ),
        ({"command": "echo", "metrics": {"patterns": ["abc"]}}, "needs a named group"),
        ({"command": "echo", "metrics": {"keep": {"x": "lst"}}}, "did you mean 'last'?"),
    ],
)
def test_a_command_that_cannot_be_filled_is_refused(workload: dict[str, Any], words: str) -> None:
    with pytest.raises(StudyError) as caught:
        command_study(workload={"kind": "command", **workload})

    assert words in str(caught.value)
