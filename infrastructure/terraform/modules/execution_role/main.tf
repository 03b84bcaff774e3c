# What a SageMaker endpoint may do: read its models, pull its image, write its log and metrics.

data "aws_caller_identity" "current" {}
data "aws_partition" "current" {}
data "aws_region" "current" {}

resource "aws_iam_role" "endpoint" {
  name = var.name

  assume_role_policy = jsonencode({
    Version = "2012-10-17"
    Statement = [{
      Effect    = "Allow"
      Principal = { Service = "sagemaker.amazonaws.com" }
      Action    = "sts:AssumeRole"
      Condition = { StringEquals = { "aws:SourceAccount" = data.aws_caller_identity.current.account_id } }
    }]
  })
}

resource "aws_iam_role_policy" "endpoint" {
  name = "endpoint"
  role = aws_iam_role.endpoint.id

  policy = jsonencode({
    Version = "2012-10-17"
    Statement = [
      {
        Sid      = "ReadModels"
        Effect   = "Allow"
        Action   = ["s3:GetObject", "s3:ListBucket"]
        Resource = [var.bucket_arn, "${var.bucket_arn}/*"]
      },
      {
        Sid      = "PullImage"
        Effect   = "Allow"
        Action   = ["ecr:BatchCheckLayerAvailability", "ecr:BatchGetImage", "ecr:GetDownloadUrlForLayer"]
        Resource = [var.repository_arn]
      },
      {
        Sid      = "LogInToRegistry" # AWS knows no narrower resource for this action
        Effect   = "Allow"
        Action   = ["ecr:GetAuthorizationToken"]
        Resource = ["*"]
      },
      {
        Sid      = "WriteLog"
        Effect   = "Allow"
        Action   = ["logs:CreateLogStream", "logs:DescribeLogStreams", "logs:PutLogEvents"]
        Resource = ["${local.log_groups}:/aws/sagemaker/Endpoints/${var.endpoint_name}:*"]
      },
      {
        Sid       = "WriteMetrics" # nor for this one
        Effect    = "Allow"
        Action    = ["cloudwatch:PutMetricData"]
        Resource  = ["*"]
        Condition = { StringLike = { "cloudwatch:namespace" = ["AWS/SageMaker", "/aws/sagemaker/*"] } }
      },
    ]
  })
}

locals {
  log_groups = join(":", [
    "arn", data.aws_partition.current.partition, "logs", data.aws_region.current.name,
    data.aws_caller_identity.current.account_id, "log-group",
  ])
}
