# A private repository for container images: scanned on push, old images removed.

resource "aws_ecr_repository" "images" {
  name                 = var.name
  image_tag_mutability = "IMMUTABLE"
  force_delete         = var.force_delete

  image_scanning_configuration {
    scan_on_push = true
  }

  encryption_configuration {
    encryption_type = "KMS"
  }
}

resource "aws_ecr_lifecycle_policy" "images" {
  repository = aws_ecr_repository.images.name

  policy = jsonencode({
    rules = [
      {
        rulePriority = 1
        description  = "Images without a tag go after a day"
        selection    = { tagStatus = "untagged", countType = "sinceImagePushed", countUnit = "days", countNumber = 1 }
        action       = { type = "expire" }
      },
      {
        rulePriority = 2
        description  = "Only the newest images stay"
        selection    = { tagStatus = "any", countType = "imageCountMoreThan", countNumber = var.kept_images }
        action       = { type = "expire" }
      },
    ]
  })
}
