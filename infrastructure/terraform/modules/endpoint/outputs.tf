output "name" {
  description = "Name of the endpoint, for InvokeEndpoint."
  value       = aws_sagemaker_endpoint.this.name
}

output "arn" {
  description = "ARN of the endpoint."
  value       = aws_sagemaker_endpoint.this.arn
}

output "url" {
  description = "Where the endpoint answers to signed requests."
  value       = "https://runtime.sagemaker.${data.aws_region.current.name}.amazonaws.com/endpoints/${aws_sagemaker_endpoint.this.name}/invocations"
}

output "configuration_name" {
  description = "Name of the configuration that it should have."
  value       = aws_sagemaker_endpoint_configuration.this.name
}

output "model_name" {
  description = "Name of the SageMaker model that answers."
  value       = aws_sagemaker_model.this.name
}
