"""SageMaker endpoints: created for a study, asked through a local proxy, and removed again."""

LEDGER_FILE = "sagemaker.jsonl"
"""In the results folder: what was created."""
