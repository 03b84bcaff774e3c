output "url" {
  description = "Where images are pushed to and pulled from, without a tag."
  value       = aws_ecrpublic_repository.images.repository_uri
}
