variable "name" {
  description = "Name of the app, of its resource group and of everything in it."
  type        = string

  validation {
    condition     = can(regex("^[a-z][a-z0-9-]{2,30}[a-z0-9]$", var.name))
    error_message = "A name has 4 to 32 small letters, digits and hyphens and begins with a letter."
  }
}

variable "location" {
  description = "Azure region, as brazilsouth."
  type        = string
  default     = "eastus"
}

variable "tags" {
  description = "More tags for everything."
  type        = map(string)
  default     = {}
}

variable "image" {
  description = "Image with a tag or digest; the model is inside."
  type        = string
}

variable "registry" {
  description = "The container registry that the image is in; null for a public one."
  type        = object({ id = string, server = string })
  default     = null
}

variable "is_public" {
  description = "Whether the internet may ask; otherwise only other apps of the environment."
  type        = bool
  default     = false
}

variable "cpus" {
  description = "vCPUs of a replica; it gets 2 GiB of memory for each."
  type        = number
  default     = 0.5

  validation {
    condition     = var.cpus >= 0.25 && var.cpus <= 2 && var.cpus * 4 == floor(var.cpus * 4)
    error_message = "cpus must be from 0.25 to 2 in steps of 0.25."
  }
}

variable "concurrency" {
  description = "Requests at a time from which another replica starts."
  type        = number
  default     = 4
}

variable "min_replicas" {
  description = "Replicas that are kept warm, and paid for."
  type        = number
  default     = 0
}

variable "max_replicas" {
  description = "Most replicas at a time."
  type        = number
  default     = 3
}
