# The whole, without an account.

mock_provider "aws" {
  mock_data "aws_caller_identity" {
    defaults = { account_id = "123456789012" }
  }
  mock_data "aws_region" {
    defaults = { name = "us-east-1" }
  }
  mock_data "aws_partition" {
    defaults = { partition = "aws" }
  }
  mock_resource "aws_iam_role" {
    defaults = { arn = "arn:aws:iam::123456789012:role/retina" }
  }
  mock_resource "aws_s3_bucket" {
    defaults = { arn = "arn:aws:s3:::retina-123456789012" }
  }
  mock_resource "aws_ecr_repository" {
    defaults = {
      arn            = "arn:aws:ecr:us-east-1:123456789012:repository/retina"
      repository_url = "123456789012.dkr.ecr.us-east-1.amazonaws.com/retina"
    }
  }
}

mock_provider "aws" {
  alias = "us_east_1"
}

variables {
  name = "retina"
}

run "no_endpoint_without_an_image" {
  assert {
    condition     = output.endpoint_name == null && output.repository_url != null && output.public_repository_url == null
    error_message = "There is an endpoint, or no repository."
  }
}

run "an_endpoint_and_a_public_repository" {
  variables {
    image             = "sha256:aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
    model_key         = "model.tar.gz"
    serverless        = { memory_mb = 1024 }
    public_repository = true
  }
  assert {
    condition     = output.endpoint_name == "retina" && output.public_repository_url != null
    error_message = "The endpoint or the public repository is missing."
  }
}

run "only_tls" {
  module {
    source = "./modules/model_bucket"
  }
  variables {
    name = "retina-123456789012"
  }
  assert {
    condition     = jsondecode(aws_s3_bucket_policy.models.policy).Statement[0].Condition.Bool["aws:SecureTransport"] == "false"
    error_message = "The bucket answers without TLS."
  }
  assert {
    condition     = aws_s3_bucket_public_access_block.models.restrict_public_buckets && aws_s3_bucket_versioning.models.versioning_configuration[0].status == "Enabled"
    error_message = "The bucket is public or not versioned."
  }
}

run "least_privilege" {
  module {
    source = "./modules/execution_role"
  }
  variables {
    name           = "retina"
    endpoint_name  = "retina"
    bucket_arn     = "arn:aws:s3:::retina-123456789012"
    repository_arn = "arn:aws:ecr:us-east-1:123456789012:repository/retina"
  }
  assert {
    condition = [
      for statement in jsondecode(aws_iam_role_policy.endpoint.policy).Statement : statement.Sid
      if contains(statement.Resource, "*")
    ] == ["LogInToRegistry", "WriteMetrics"]
    error_message = "The role may do more than it needs."
  }
}

run "bad_names" {
  command = plan
  variables {
    name   = "Retina"
    region = "Virginia"
  }
  expect_failures = [var.name, var.region]
}
