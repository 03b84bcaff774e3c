"""`prumo check`: prove that the frameworks of a study train the same networks."""

from __future__ import annotations

import sys
from contextlib import suppress
from pathlib import Path

import click

from prumo.cli.console import print_json, shown_progress, table_console
from prumo.cli.options import load_study, results_option, scale_option
from prumo.errors import InputError, UnavailableError
from prumo.exit_codes import ExitCode


@click.command(
    epilog="Example:  prumo check study.yaml --framework pytorch --framework tensorflow@2.14.0"
)
@click.argument("study_file", metavar="STUDY", type=click.Path(path_type=Path))
@click.option(
    "--framework",
    "frameworks",
    multiple=True,
    metavar="NAME[@VERSION]",
    help="Check this framework instead of the study's; repeatable.",
)
@scale_option
@results_option("Folder for equality.json.  [default: results/NAME]")
@click.option("--json", "as_json", is_flag=True, help="Print the outcome as JSON.")
def command(
    study_file: Path,
    frameworks: tuple[str, ...],
    scale: str | None,
    results: Path | None,
    as_json: bool,
) -> None:
    """Prove that the frameworks of STUDY train the same networks.

    Every framework gets the same weights, from one seed. Parameter counts, the scores of a
    small batch, its loss, and the loss after one step of SGD must agree. The study's own data
    are prepared and missing environments created first. Earlier proofs are kept and compared
    again. A framework that cannot express a network is listed as refused.

    Exit codes: 0 nothing differs, 1 something differs or failed, or no network could be
    compared between two frameworks, 2 bad input.
    """
    from prumo.environments.frameworks import find_framework
    from prumo.report.equality import compared_networks, print_equality
    from prumo.report.language import english
    from prumo.results.folder import ResultsFolder
    from prumo.run.equality import check_equality
    from prumo.run.execution import default_results
    from prumo.run.workloads import open_workload
    from prumo.study import Training

    study = load_study(study_file, scale)
    if not isinstance(study.workload, Training):
        raise InputError(
            f"{study.name} does not compare frameworks; only trainings can be checked, "
            f"of the kind `training` and not `{study.workload.kind}`"
        )
    for name in frameworks:
        # A name that is no framework is refused; one that cannot be had here is in the table.
        with suppress(UnavailableError):
            find_framework(name)
    folder = ResultsFolder((results or default_results(study)).absolute())
    folder.create()
    with folder.locked(), shown_progress() as progress:
        networks = open_workload(study, progress).architectures(study.scenarios())
        wanted = {network: frameworks or own for network, own in networks.items()}
        equality = check_equality(study, wanted, folder.path, progress)
    if as_json:
        equal = equality.holds and bool(compared_networks(equality))
        print_json({**equality.model_dump(mode="json"), "equal": equal})
    else:
        print_equality(equality, table_console(), english())
    to_compare = any(len(set(names)) > 1 for names in wanted.values())
    if not equality.holds or (to_compare and not compared_networks(equality)):
        sys.exit(ExitCode.FINDINGS)
