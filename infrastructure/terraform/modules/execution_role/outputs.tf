output "arn" {
  description = "ARN of the role; known only when its rights are attached."
  value       = aws_iam_role.endpoint.arn
  depends_on  = [aws_iam_role_policy.endpoint]
}
