variable "name" {
  description = "Name of the endpoint and of everything that belongs to it."
  type        = string

  validation {
    condition     = can(regex("^[a-z0-9]+(-[a-z0-9]+)*$", var.name)) && length(var.name) >= 2 && length(var.name) <= 40
    error_message = "A name has 2 to 40 small letters and digits, separated by single hyphens."
  }
}

variable "region" {
  description = "AWS region."
  type        = string
  default     = "us-east-1"

  validation {
    condition     = can(regex("^[a-z]{2}(-[a-z]+)+-[0-9]$", var.region))
    error_message = "A region is written as us-east-1 or sa-east-1."
  }
}

variable "tags" {
  description = "More tags for everything that can have tags."
  type        = map(string)
  default     = {}
}

variable "force_destroy" {
  description = "Whether `destroy` also deletes uploaded models and images; without it, it refuses while there are any."
  type        = bool
  default     = false
}

variable "public_repository" {
  description = "Whether to make a public repository beside the private one."
  type        = bool
  default     = false
}

variable "image" {
  description = "Tag, or sha256:digest, of the image in the private repository; null for no endpoint yet."
  type        = string
  default     = null
}

variable "model_key" {
  description = "Key of the packaged model in the bucket, as model.tar.gz; null where the image contains it."
  type        = string
  default     = null
}

variable "environment" {
  description = "Environment variables of the container."
  type        = map(string)
  default     = {}
}

variable "realtime" {
  description = "Either this: instances, paid as long as they exist."
  type = object({
    instance_type          = string
    instances_min          = optional(number, 1)
    instances_max          = optional(number, 1)
    invocations_per_minute = optional(number, 600)
  })
  default = null
}

variable "serverless" {
  description = "Or this: memory and concurrency, paid by the answer."
  type = object({
    memory_mb               = number
    max_concurrency         = optional(number, 5)
    provisioned_concurrency = optional(number)
  })
  default = null
}

variable "log_days" {
  description = "Days for which the log is kept."
  type        = number
  default     = 14
}

variable "alarm_errors_per_minute" {
  description = "Failed answers in a minute that raise the alarm and roll an update back."
  type        = number
  default     = 5
}

variable "alarm_topic_arns" {
  description = "SNS topics that hear of the alarm."
  type        = list(string)
  default     = []
}

variable "budget" {
  description = "A monthly limit for SageMaker in the account, with mail before it is reached."
  type        = object({ usd_per_month = number, email = string })
  default     = null
}

variable "expires_at" {
  description = "When AWS deletes the endpoint, as 2026-12-01T18:00:00Z; null for never."
  type        = string
  default     = null
}
