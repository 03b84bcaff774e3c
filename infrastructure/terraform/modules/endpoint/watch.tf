# What watches an endpoint: log, alarm, budget, and a deadline that holds without any client.

resource "aws_cloudwatch_log_group" "this" {
  # checkov:skip=CKV_AWS_158: the server logs nothing that is sent to it; AWS's own key is enough
  # checkov:skip=CKV_AWS_338: a year of logs is a cost that the user chooses
  name              = "/aws/sagemaker/Endpoints/${var.name}"
  retention_in_days = var.log_days
}

resource "aws_cloudwatch_metric_alarm" "errors" {
  alarm_name          = "${var.name}-errors"
  alarm_description   = "The endpoint ${var.name} fails to answer."
  namespace           = "AWS/SageMaker"
  metric_name         = "Invocation5XXErrors"
  dimensions          = { EndpointName = var.name, VariantName = local.variant }
  statistic           = "Sum"
  period              = 60
  evaluation_periods  = 1
  comparison_operator = "GreaterThanOrEqualToThreshold"
  threshold           = var.alarm_errors_per_minute
  treat_missing_data  = "notBreaching"
  alarm_actions       = var.alarm_topic_arns
  ok_actions          = var.alarm_topic_arns
}

resource "aws_budgets_budget" "this" {
  count = var.budget == null ? 0 : 1

  name         = var.name
  budget_type  = "COST"
  time_unit    = "MONTHLY"
  limit_amount = format("%.2f", var.budget.usd_per_month)
  limit_unit   = "USD"

  cost_filter {
    name   = "Service"
    values = ["Amazon SageMaker"]
  }

  dynamic "notification" {
    for_each = { ACTUAL = 80, FORECASTED = 100 }

    content {
      notification_type          = notification.key
      threshold                  = notification.value
      threshold_type             = "PERCENTAGE"
      comparison_operator        = "GREATER_THAN"
      subscriber_email_addresses = [var.budget.email]
    }
  }
}

data "aws_caller_identity" "current" {}
data "aws_partition" "current" {}
data "aws_region" "current" {}

resource "aws_iam_role" "expiry" {
  count = var.expires_at == null ? 0 : 1
  name  = "${var.name}-expiry"

  assume_role_policy = jsonencode({
    Version = "2012-10-17"
    Statement = [{
      Effect    = "Allow"
      Principal = { Service = "scheduler.amazonaws.com" }
      Action    = "sts:AssumeRole"
      Condition = { StringEquals = { "aws:SourceAccount" = data.aws_caller_identity.current.account_id } }
    }]
  })
}

resource "aws_iam_role_policy" "expiry" {
  count = var.expires_at == null ? 0 : 1
  name  = "delete-endpoint"
  role  = aws_iam_role.expiry[0].id

  policy = jsonencode({
    Version = "2012-10-17"
    Statement = [{
      Effect = "Allow"
      Action = "sagemaker:DeleteEndpoint"
      Resource = join(":", [
        "arn", data.aws_partition.current.partition, "sagemaker", data.aws_region.current.name,
        data.aws_caller_identity.current.account_id, "endpoint/${var.name}",
      ])
    }]
  })
}

resource "aws_scheduler_schedule" "expiry" {
  # checkov:skip=CKV_AWS_297: the schedule holds the endpoint's name and nothing secret
  count = var.expires_at == null ? 0 : 1

  name                         = "${var.name}-expiry"
  description                  = "Deletes the endpoint ${var.name}, whatever became of who made it."
  schedule_expression          = "at(${formatdate("YYYY-MM-DD'T'hh:mm:ss", var.expires_at)})"
  schedule_expression_timezone = "UTC"

  flexible_time_window {
    mode = "OFF"
  }

  target {
    arn      = "arn:${data.aws_partition.current.partition}:scheduler:::aws-sdk:sagemaker:deleteEndpoint"
    role_arn = aws_iam_role.expiry[0].arn
    input    = jsonencode({ EndpointName = var.name })
  }

  depends_on = [aws_iam_role_policy.expiry]
}
