output "bucket" {
  description = "Bucket to upload the packaged model to."
  value       = module.model_bucket.name
}

output "repository_url" {
  description = "Private repository to push the image to."
  value       = module.private_repository.url
}

output "public_repository_url" {
  description = "Public repository; null without one."
  value       = one(module.public_repository[*].url)
}

output "execution_role_arn" {
  description = "Role of the endpoint."
  value       = module.execution_role.arn
}

output "endpoint_name" {
  description = "Name of the endpoint, for InvokeEndpoint; null without an image."
  value       = one(module.endpoint[*].name)
}

output "endpoint_url" {
  description = "Where the endpoint answers to signed requests; null without an image."
  value       = one(module.endpoint[*].url)
}

output "configuration_name" {
  description = "Name of the configuration that the endpoint should have; null without an image."
  value       = one(module.endpoint[*].configuration_name)
}
