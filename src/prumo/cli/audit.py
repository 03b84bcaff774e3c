"""`prumo audit`: stated claims against the data."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from prumo.cli.console import print_json, table_console
from prumo.cli.options import confidence_option, language_option
from prumo.exit_codes import ExitCode

if TYPE_CHECKING:
    from prumo.report.language import Language


@click.command(
    epilog="Example:  prumo audit results/ufrgs-serverless studies/ufrgs-serverless/claims.yaml"
)
@click.argument("study", metavar="RESULTS|STUDY", type=click.Path(path_type=Path))
@click.argument("claims_file", metavar="CLAIMS", type=click.Path(path_type=Path))
@click.argument("folder", required=False, type=click.Path(path_type=Path))
@confidence_option
@language_option
@click.option("--json", "as_json", is_flag=True, help="Print the audit as JSON.")
def command(  # noqa: PLR0913 (one argument per option)
    study: Path,
    claims_file: Path,
    folder: Path | None,
    confidence: float,
    language: Language,
    *,
    as_json: bool,
) -> None:
    """Check the claims in the YAML file CLAIMS against measured results.

    RESULTS is a results folder. For a study file, the results are read from FOLDER, or from
    results/NAME. A claim states a mean, a standard deviation, a ratio, a percentage, or that
    one value is less than another. It agrees with the data, differs from them by some amount,
    is contradicted by them, or cannot be decided from them. If a figure is wrong, the audit
    looks for other scenarios for which it is true.

    Exit codes: 0 all claims agree, 1 some do not, 2 bad input.
    """
    from prumo.foreign.audit import Judgement
    from prumo.foreign.claims import load_claims
    from prumo.report.audit import audit_document, audit_results, print_audit
    from prumo.results.tables import Results
    from prumo.run.execution import default_results
    from prumo.study import load

    claims = load_claims(claims_file)
    if study.is_file():
        study = folder or default_results(load(study))
    elif folder is not None:
        raise click.UsageError("FOLDER goes with a study's file; RESULTS is a folder already.")
    audited = audit_results(Results(study), claims, confidence)
    if as_json:
        print_json(audit_document(audited, language))
    else:
        print_audit(audited, confidence, language, table_console())
    if any(item.judgement is not Judgement.AGREES for item in audited):
        sys.exit(ExitCode.FINDINGS)
