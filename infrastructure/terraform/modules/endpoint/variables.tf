variable "name" {
  description = "Name of the endpoint."
  type        = string

  validation {
    condition     = can(regex("^[a-z0-9]+(-[a-z0-9]+)*$", var.name)) && length(var.name) <= 40
    error_message = "A name has at most 40 small letters and digits, separated by single hyphens."
  }
}

variable "image" {
  description = "The container image in a private repository, with a tag or digest."
  type        = string

  validation {
    condition     = can(regex("^[^/]+/[^:@]+(:[A-Za-z0-9_][A-Za-z0-9_.-]*|@sha256:[0-9a-f]{64})$", var.image))
    error_message = "An image is registry/repository:tag or registry/repository@sha256:digest."
  }
}

variable "model_url" {
  description = "The packaged model, s3://bucket/key.tar.gz; null where the image contains it."
  type        = string
  default     = null

  validation {
    condition     = var.model_url == null || can(regex("^s3://[^/]+/.+\\.tar\\.gz$", var.model_url))
    error_message = "A model is s3://bucket/key.tar.gz."
  }
}

variable "environment" {
  description = "Environment variables of the container, as SAGEMAKER_MODEL_SERVER_WORKERS."
  type        = map(string)
  default     = {}
}

variable "execution_role_arn" {
  description = "The role that the endpoint has."
  type        = string
}

variable "realtime" {
  description = "Instances that are paid as long as they exist; above instances_min they follow the invocations per minute and instance."
  type = object({
    instance_type          = string
    instances_min          = optional(number, 1)
    instances_max          = optional(number, 1)
    invocations_per_minute = optional(number, 600)
  })
  default = null

  validation {
    condition     = var.realtime == null || can(regex("^ml\\.[a-z][a-z0-9-]*\\.[a-z0-9]+$", var.realtime.instance_type))
    error_message = "An instance type begins with ml., as ml.m5.large."
  }

  validation {
    condition     = try(var.realtime.instances_min >= 1 && var.realtime.instances_max >= var.realtime.instances_min, true)
    error_message = "Give 1 <= instances_min <= instances_max."
  }

  validation {
    condition     = try(!startswith(var.realtime.instance_type, "ml.t2.") || var.realtime.instances_max == var.realtime.instances_min, true)
    error_message = "SageMaker does not scale ml.t2 instances: give instances_max = instances_min."
  }

  validation {
    condition     = try(var.realtime.invocations_per_minute > 0, true)
    error_message = "invocations_per_minute must be above 0."
  }
}

variable "serverless" {
  description = "Memory and concurrency; paid by the answer, and provisioned concurrency as long as it exists."
  type = object({
    memory_mb               = number
    max_concurrency         = optional(number, 5)
    provisioned_concurrency = optional(number)
  })
  default = null

  validation {
    condition     = try(contains([1024, 2048, 3072, 4096, 5120, 6144], var.serverless.memory_mb), var.serverless == null)
    error_message = "memory_mb must be 1024, 2048, 3072, 4096, 5120 or 6144."
  }

  validation {
    condition     = try(var.serverless.max_concurrency >= 1 && var.serverless.max_concurrency <= 200, var.serverless == null)
    error_message = "max_concurrency must be from 1 to 200."
  }

  validation {
    condition     = try(coalesce(var.serverless.provisioned_concurrency, 1) >= 1 && coalesce(var.serverless.provisioned_concurrency, 1) <= var.serverless.max_concurrency, var.serverless == null)
    error_message = "provisioned_concurrency must be from 1 to max_concurrency."
  }
}

variable "kms_key_arn" {
  description = "A key of your own for the volumes of real-time instances; null for AWS's."
  type        = string
  default     = null
}

variable "log_days" {
  description = "Days for which the log is kept."
  type        = number
  default     = 14

  validation {
    condition     = contains([1, 3, 5, 7, 14, 30, 60, 90, 120, 150, 180, 365, 400, 545, 731], var.log_days)
    error_message = "log_days must be 1, 3, 5, 7, 14, 30, 60, 90, 120, 150, 180, 365, 400, 545 or 731."
  }
}

variable "alarm_errors_per_minute" {
  description = "Failed answers in a minute that raise the alarm and roll an update back."
  type        = number
  default     = 5

  validation {
    condition     = var.alarm_errors_per_minute >= 1
    error_message = "Give at least one error."
  }
}

variable "alarm_topic_arns" {
  description = "SNS topics that hear of the alarm."
  type        = list(string)
  default     = []
}

variable "budget" {
  description = "A monthly limit for SageMaker in the account; mail at 80 % spent and at 100 % foreseen."
  type        = object({ usd_per_month = number, email = string })
  default     = null

  validation {
    condition     = try(var.budget.usd_per_month > 0 && can(regex("^[^@ ]+@[^@ ]+$", var.budget.email)), var.budget == null)
    error_message = "A budget needs usd_per_month above 0 and an email address."
  }
}

variable "expires_at" {
  description = "When AWS deletes the endpoint, as 2026-12-01T18:00:00Z, in UTC; null for never."
  type        = string
  default     = null

  validation {
    condition     = var.expires_at == null || can(regex("Z$", timeadd(var.expires_at, "0s")))
    error_message = "Write a time in UTC, as 2026-12-01T18:00:00Z."
  }
}
