"""The inference server: SageMaker's contract, the Open Inference Protocol, a page for people."""
