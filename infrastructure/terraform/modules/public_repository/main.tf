# A public repository, from which anybody can pull. AWS offers neither scans nor lifecycle rules
# for these, and SageMaker takes images only from private ones.

resource "aws_ecrpublic_repository" "images" {
  repository_name = var.name
  force_destroy   = var.force_delete

  catalog_data {
    description       = var.description
    architectures     = ["x86-64", "ARM 64"]
    operating_systems = ["Linux"]
  }
}
