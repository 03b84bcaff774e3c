variable "name" {
  description = "Name of the repository."
  type        = string

  validation {
    condition     = can(regex("^[a-z0-9]+([._/-][a-z0-9]+)*$", var.name))
    error_message = "A repository name has small letters and digits, separated by . _ / or -."
  }
}

variable "kept_images" {
  description = "How many images are kept; older ones are removed."
  type        = number
  default     = 10

  validation {
    condition     = var.kept_images >= 2
    error_message = "Keep at least two images, so that the one before can come back."
  }
}

variable "force_delete" {
  description = "Whether `destroy` also deletes the images in the repository; without it, it refuses."
  type        = bool
  default     = false
}
