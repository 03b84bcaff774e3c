variable "project" {
  description = "Google Cloud project."
  type        = string
}

variable "region" {
  description = "Region, as southamerica-east1."
  type        = string
  default     = "us-central1"
}

variable "name" {
  description = "Name of the service and of its account."
  type        = string

  validation {
    condition     = can(regex("^[a-z][a-z0-9-]{4,28}[a-z0-9]$", var.name))
    error_message = "A name has 6 to 30 small letters, digits and hyphens and begins with a letter."
  }
}

variable "image" {
  description = "Image in Artifact Registry, with a tag or digest; the model is inside."
  type        = string
}

variable "cpus" {
  description = "vCPUs of an instance."
  type        = number
  default     = 1

  validation {
    condition     = contains([1, 2, 4, 6, 8], var.cpus)
    error_message = "cpus must be 1, 2, 4, 6 or 8."
  }
}

variable "memory_mb" {
  description = "Memory of an instance."
  type        = number
  default     = 1024

  validation {
    condition     = var.memory_mb >= 512 && var.memory_mb <= 32768
    error_message = "memory_mb must be from 512 to 32768."
  }
}

variable "concurrency" {
  description = "Requests that an instance gets at a time."
  type        = number
  default     = 4
}

variable "min_instances" {
  description = "Instances that are kept warm, and paid for."
  type        = number
  default     = 0
}

variable "max_instances" {
  description = "Most instances at a time."
  type        = number
  default     = 3
}

variable "invokers" {
  description = "Who may ask, as user:someone@example.org or serviceAccount:…."
  type        = list(string)
  default     = []
}
