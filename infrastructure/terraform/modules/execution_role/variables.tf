variable "name" {
  description = "Name of the role."
  type        = string

  validation {
    condition     = can(regex("^[A-Za-z0-9+=,.@_-]{1,64}$", var.name))
    error_message = "A role name has 1 to 64 letters, digits and any of + = , . @ _ -."
  }
}

variable "endpoint_name" {
  description = "The endpoint whose log the role may write."
  type        = string
}

variable "bucket_arn" {
  description = "The bucket that the role may read."
  type        = string
}

variable "repository_arn" {
  description = "The repository that the role may pull from."
  type        = string
}
