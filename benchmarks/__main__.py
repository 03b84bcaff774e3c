"""Run every benchmark of the product's own speed; fails when one is over its limit."""

from __future__ import annotations

import sys

from benchmarks import (
    analysis,
    data_preparation,
    deploy,
    keep_warm,
    load_generator,
    report_page,
    retina_preparation,
    sagemaker_proxy,
    sampler_cost,
    serverless_front,
    startup,
    tfrecord,
    training_overhead,
)
from benchmarks.serving import comparison

if __name__ == "__main__":
    sys.exit(
        max(
            [
                startup.main(),
                analysis.main(),
                report_page.main(),
                sampler_cost.main(),
                data_preparation.main(),
                keep_warm.main(),
                load_generator.main(),
                retina_preparation.main(),
                tfrecord.main(),
                training_overhead.main(),
                comparison.main(),
                serverless_front.main(),
                sagemaker_proxy.main(),
                deploy.main(),
            ]
        )
    )
