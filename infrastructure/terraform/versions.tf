terraform {
  required_version = ">= 1.7"

  required_providers {
    aws = {
      source  = "hashicorp/aws"
      version = "~> 5.100"
    }
  }
}

locals {
  tags = merge({ "prumo:endpoint" = var.name, "prumo:managed-by" = "terraform" }, var.tags)
}

provider "aws" {
  region = var.region

  default_tags {
    tags = local.tags
  }
}

# Public repositories exist in this region only.
provider "aws" {
  alias  = "us_east_1"
  region = "us-east-1"

  default_tags {
    tags = local.tags
  }
}
