output "url" {
  description = "Where images are pushed to, without a tag."
  value       = aws_ecr_repository.images.repository_url
}

output "arn" {
  description = "ARN of the repository."
  value       = aws_ecr_repository.images.arn
}
