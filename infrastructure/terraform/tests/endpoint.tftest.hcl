# The endpoint module alone, without an account: `terraform test` in the folder above.

mock_provider "aws" {
  mock_data "aws_region" {
    defaults = { name = "sa-east-1" }
  }
  mock_data "aws_partition" {
    defaults = { partition = "aws" }
  }
  mock_data "aws_caller_identity" {
    defaults = { account_id = "123456789012" }
  }
  mock_resource "aws_iam_role" {
    defaults = { arn = "arn:aws:iam::123456789012:role/mocked" }
  }
}

variables {
  name               = "retina"
  image              = "123456789012.dkr.ecr.sa-east-1.amazonaws.com/retina:v1"
  execution_role_arn = "arn:aws:iam::123456789012:role/retina"
}

run "realtime" {
  module {
    source = "./modules/endpoint"
  }
  variables {
    model_url = "s3://models/model.tar.gz"
    realtime  = { instance_type = "ml.m5.xlarge", instances_max = 3 }
  }
  assert {
    condition     = one(aws_sagemaker_endpoint_configuration.this.production_variants).instance_type == "ml.m5.xlarge"
    error_message = "The instance type is not taken over."
  }
  assert {
    condition     = aws_appautoscaling_target.instances[0].max_capacity == 3 && aws_appautoscaling_target.instances[0].min_capacity == 1
    error_message = "It does not scale from 1 to 3."
  }
  assert {
    condition     = aws_sagemaker_model.this.enable_network_isolation
    error_message = "The container is not isolated."
  }
  assert {
    condition     = one(one(aws_sagemaker_endpoint.this.deployment_config).auto_rollback_configuration).alarms != null
    error_message = "An update is not rolled back."
  }
  assert {
    condition     = aws_cloudwatch_log_group.this.name == "/aws/sagemaker/Endpoints/retina" && aws_cloudwatch_log_group.this.retention_in_days == 14
    error_message = "The log is not kept for 14 days."
  }
  assert {
    condition     = output.url == "https://runtime.sagemaker.sa-east-1.amazonaws.com/endpoints/retina/invocations"
    error_message = "The URL is wrong."
  }
}

run "one_instance_does_not_scale" {
  module {
    source = "./modules/endpoint"
  }
  variables {
    realtime = { instance_type = "ml.t2.medium" }
  }
  assert {
    condition     = length(aws_appautoscaling_target.instances) == 0
    error_message = "One instance scales."
  }
}

run "serverless_with_budget_and_deadline" {
  module {
    source = "./modules/endpoint"
  }
  variables {
    serverless = { memory_mb = 2048, max_concurrency = 10, provisioned_concurrency = 2 }
    budget     = { usd_per_month = 50, email = "owner@example.org" }
    expires_at = "2030-12-01T18:00:00Z"
  }
  assert {
    condition     = one(one(aws_sagemaker_endpoint_configuration.this.production_variants).serverless_config).provisioned_concurrency == 2
    error_message = "Provisioned concurrency is not taken over."
  }
  assert {
    condition     = length(aws_sagemaker_endpoint.this.deployment_config) == 0 && !aws_sagemaker_model.this.enable_network_isolation
    error_message = "Something is set that serverless endpoints do not support."
  }
  assert {
    condition     = aws_budgets_budget.this[0].limit_amount == "50.00" && length(aws_budgets_budget.this[0].notification) == 2
    error_message = "The budget is wrong."
  }
  assert {
    condition     = aws_scheduler_schedule.expiry[0].schedule_expression == "at(2030-12-01T18:00:00)" && jsondecode(aws_scheduler_schedule.expiry[0].target[0].input).EndpointName == "retina"
    error_message = "The deadline is wrong."
  }
  assert {
    condition     = jsondecode(aws_iam_role_policy.expiry[0].policy).Statement[0].Resource == "arn:aws:sagemaker:sa-east-1:123456789012:endpoint/retina"
    error_message = "The deadline may delete more than the endpoint."
  }
}

run "neither_kind" {
  command = plan
  module {
    source = "./modules/endpoint"
  }
  expect_failures = [aws_sagemaker_endpoint_configuration.this]
}

run "both_kinds" {
  command = plan
  module {
    source = "./modules/endpoint"
  }
  variables {
    realtime   = { instance_type = "ml.m5.large" }
    serverless = { memory_mb = 1024 }
  }
  expect_failures = [aws_sagemaker_endpoint_configuration.this]
}

run "bad_values" {
  command = plan
  module {
    source = "./modules/endpoint"
  }
  variables {
    name                    = "Retina_1"
    image                   = "retina"
    model_url               = "model.zip"
    serverless              = { memory_mb = 1500 }
    log_days                = 15
    budget                  = { usd_per_month = 0, email = "owner@example.org" }
    expires_at              = "tomorrow"
    alarm_errors_per_minute = 0
  }
  expect_failures = [
    var.name, var.image, var.model_url, var.serverless, var.log_days, var.budget, var.expires_at,
    var.alarm_errors_per_minute,
  ]
}

run "instance_type_without_ml" {
  command = plan
  module {
    source = "./modules/endpoint"
  }
  variables {
    realtime = { instance_type = "m5.large" }
  }
  expect_failures = [var.realtime]
}

run "t2_does_not_scale" {
  command = plan
  module {
    source = "./modules/endpoint"
  }
  variables {
    realtime = { instance_type = "ml.t2.medium", instances_max = 2 }
  }
  expect_failures = [var.realtime]
}

run "more_provisioned_than_concurrent" {
  command = plan
  module {
    source = "./modules/endpoint"
  }
  variables {
    serverless = { memory_mb = 6144, max_concurrency = 2, provisioned_concurrency = 3 }
  }
  expect_failures = [var.serverless]
}
