variable "name" {
  description = "Name of the repository."
  type        = string

  validation {
    condition     = can(regex("^[a-z0-9]+([._/-][a-z0-9]+)*$", var.name))
    error_message = "A repository name has small letters and digits, separated by . _ / or -."
  }
}

variable "description" {
  description = "What people read in the public gallery."
  type        = string
  default     = "A neural network that answers over HTTP, served by Prumo."
}

variable "force_delete" {
  description = "Whether `destroy` also deletes the images in the repository; without it, it refuses."
  type        = bool
  default     = false
}
