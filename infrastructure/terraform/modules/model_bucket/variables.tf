variable "name" {
  description = "Name of the bucket, unique in all of AWS."
  type        = string

  validation {
    condition     = can(regex("^[a-z0-9][a-z0-9-]{1,61}[a-z0-9]$", var.name))
    error_message = "A bucket name has 3 to 63 small letters, digits and hyphens."
  }
}

variable "old_version_days" {
  description = "Days after which a replaced or deleted model is gone for good."
  type        = number
  default     = 30

  validation {
    condition     = var.old_version_days >= 1
    error_message = "Give at least one day."
  }
}

variable "force_destroy" {
  description = "Whether `destroy` also deletes the models in the bucket; without it, it refuses."
  type        = bool
  default     = false
}
