# A SageMaker endpoint, real-time or serverless. A new image, model or configuration gets a name of
# its own, so the endpoint moves to it only when the new one is healthy.

locals {
  variant       = "AllTraffic"
  is_serverless = var.serverless != null
  model = {
    image       = var.image
    model_url   = var.model_url
    environment = var.environment
    is_isolated = !local.is_serverless
  }
  model_name = "${var.name}-${substr(sha1(jsonencode(local.model)), 0, 8)}"
  capacity   = { realtime = var.realtime, serverless = var.serverless, kms_key_arn = var.kms_key_arn }
  configuration_name = join("-", [
    var.name, substr(sha1(jsonencode([local.model_name, local.capacity])), 0, 8)
  ])
}

resource "aws_sagemaker_model" "this" {
  # checkov:skip=CKV_AWS_370: isolated wherever SageMaker can, which is not on serverless endpoints
  name                     = local.model_name
  execution_role_arn       = var.execution_role_arn
  enable_network_isolation = local.model.is_isolated

  primary_container {
    image          = var.image
    model_data_url = var.model_url
    environment    = var.environment
  }

  lifecycle {
    create_before_destroy = true
  }
}

resource "aws_sagemaker_endpoint_configuration" "this" {
  # checkov:skip=CKV_AWS_98: AWS encrypts the volumes with its own key; kms_key_arn sets another
  name        = local.configuration_name
  kms_key_arn = var.kms_key_arn

  production_variants {
    variant_name           = local.variant
    model_name             = aws_sagemaker_model.this.name
    instance_type          = try(var.realtime.instance_type, null)
    initial_instance_count = try(var.realtime.instances_min, null)

    dynamic "serverless_config" {
      for_each = var.serverless[*]

      content {
        memory_size_in_mb       = serverless_config.value.memory_mb
        max_concurrency         = serverless_config.value.max_concurrency
        provisioned_concurrency = serverless_config.value.provisioned_concurrency
      }
    }
  }

  lifecycle {
    create_before_destroy = true

    precondition {
      condition     = (var.realtime == null) == local.is_serverless
      error_message = "Give either realtime or serverless."
    }
  }
}

resource "aws_sagemaker_endpoint" "this" {
  name                 = var.name
  endpoint_config_name = aws_sagemaker_endpoint_configuration.this.name

  dynamic "deployment_config" {
    for_each = var.realtime[*]

    content {
      blue_green_update_policy {
        traffic_routing_configuration {
          type                     = "ALL_AT_ONCE"
          wait_interval_in_seconds = 300
        }
      }

      auto_rollback_configuration {
        alarms {
          alarm_name = aws_cloudwatch_metric_alarm.errors.alarm_name
        }
      }
    }
  }

  # The log is kept as long as said, and the deadline is set, before anything costs money.
  depends_on = [aws_cloudwatch_log_group.this, aws_scheduler_schedule.expiry]
}

resource "aws_appautoscaling_target" "instances" {
  count = local.scales ? 1 : 0

  service_namespace  = "sagemaker"
  scalable_dimension = "sagemaker:variant:DesiredInstanceCount"
  resource_id        = "endpoint/${aws_sagemaker_endpoint.this.name}/variant/${local.variant}"
  min_capacity       = var.realtime.instances_min
  max_capacity       = var.realtime.instances_max
}

resource "aws_appautoscaling_policy" "instances" {
  count = local.scales ? 1 : 0

  name               = "${var.name}-invocations"
  policy_type        = "TargetTrackingScaling"
  service_namespace  = aws_appautoscaling_target.instances[0].service_namespace
  scalable_dimension = aws_appautoscaling_target.instances[0].scalable_dimension
  resource_id        = aws_appautoscaling_target.instances[0].resource_id

  target_tracking_scaling_policy_configuration {
    target_value = var.realtime.invocations_per_minute

    predefined_metric_specification {
      predefined_metric_type = "SageMakerVariantInvocationsPerInstance"
    }
  }
}

locals {
  scales = try(var.realtime.instances_max > var.realtime.instances_min, false)
}
