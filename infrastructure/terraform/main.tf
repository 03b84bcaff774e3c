# Everything that one endpoint needs. Without `image` only the bucket, the repositories and the role
# are made, so that there is a place to push the image to; these cost next to nothing.

data "aws_caller_identity" "current" {}

module "model_bucket" {
  source        = "./modules/model_bucket"
  name          = "${var.name}-${data.aws_caller_identity.current.account_id}"
  force_destroy = var.force_destroy
}

module "private_repository" {
  source       = "./modules/private_repository"
  name         = var.name
  force_delete = var.force_destroy
}

module "public_repository" {
  source       = "./modules/public_repository"
  count        = var.public_repository ? 1 : 0
  name         = var.name
  force_delete = var.force_destroy
  providers    = { aws = aws.us_east_1 }
}

module "execution_role" {
  source         = "./modules/execution_role"
  name           = "${var.name}-${var.region}"
  endpoint_name  = var.name
  bucket_arn     = module.model_bucket.arn
  repository_arn = module.private_repository.arn
}

module "endpoint" {
  source                  = "./modules/endpoint"
  count                   = var.image == null ? 0 : 1
  name                    = var.name
  image                   = join(can(regex("^sha256:", var.image)) ? "@" : ":", [module.private_repository.url, var.image])
  model_url               = var.model_key == null ? null : "s3://${module.model_bucket.name}/${var.model_key}"
  environment             = var.environment
  execution_role_arn      = module.execution_role.arn
  realtime                = var.realtime
  serverless              = var.serverless
  log_days                = var.log_days
  alarm_errors_per_minute = var.alarm_errors_per_minute
  alarm_topic_arns        = var.alarm_topic_arns
  budget                  = var.budget
  expires_at              = var.expires_at
}
