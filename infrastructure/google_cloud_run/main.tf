# The container on Google Cloud Run: paid while it answers, nothing with min_instances = 0.

terraform {
  required_version = ">= 1.7"

  required_providers {
    google = {
      source  = "hashicorp/google"
      version = "~> 6.50"
    }
  }
}

provider "google" {
  project = var.project
  region  = var.region

  default_labels = { prumo-endpoint = var.name }
}

resource "google_service_account" "endpoint" {
  account_id   = var.name
  display_name = "Endpoint ${var.name}, without any rights"
}

resource "google_cloud_run_v2_service" "endpoint" {
  name                = var.name
  location            = var.region
  ingress             = "INGRESS_TRAFFIC_ALL"
  deletion_protection = false

  template {
    service_account                  = google_service_account.endpoint.email
    timeout                          = "60s"
    max_instance_request_concurrency = var.concurrency

    scaling {
      min_instance_count = var.min_instances
      max_instance_count = var.max_instances
    }

    containers {
      image = var.image
      args  = ["serve"]

      ports {
        container_port = 8080
      }

      resources {
        limits            = { cpu = tostring(var.cpus), memory = "${var.memory_mb}Mi" }
        cpu_idle          = true
        startup_cpu_boost = true
      }

      startup_probe {
        period_seconds    = 2
        timeout_seconds   = 2
        failure_threshold = 90

        http_get {
          path = "/ping"
        }
      }

      liveness_probe {
        http_get {
          path = "/v2/health/live"
        }
      }
    }
  }
}

# Nobody may ask who is not named.
resource "google_cloud_run_v2_service_iam_member" "invoker" {
  for_each = toset(var.invokers)

  name     = google_cloud_run_v2_service.endpoint.name
  location = google_cloud_run_v2_service.endpoint.location
  role     = "roles/run.invoker"
  member   = each.value
}

output "url" {
  description = "Where the endpoint answers to requests with an identity token."
  value       = google_cloud_run_v2_service.endpoint.uri
}
