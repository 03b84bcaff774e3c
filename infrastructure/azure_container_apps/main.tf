# The container on Azure Container Apps: paid while it answers, nothing with min_replicas = 0.

terraform {
  required_version = ">= 1.7"

  required_providers {
    azurerm = {
      source  = "hashicorp/azurerm"
      version = "~> 4.55"
    }
  }
}

provider "azurerm" {
  features {}
}

locals {
  tags = merge({ "prumo-endpoint" = var.name }, var.tags)
}

# Deleting the group deletes everything in it.
resource "azurerm_resource_group" "endpoint" {
  name     = var.name
  location = var.location
  tags     = local.tags
}

resource "azurerm_log_analytics_workspace" "endpoint" {
  name                = var.name
  resource_group_name = azurerm_resource_group.endpoint.name
  location            = azurerm_resource_group.endpoint.location
  retention_in_days   = 30
  tags                = local.tags
}

resource "azurerm_container_app_environment" "endpoint" {
  name                       = var.name
  resource_group_name        = azurerm_resource_group.endpoint.name
  location                   = azurerm_resource_group.endpoint.location
  log_analytics_workspace_id = azurerm_log_analytics_workspace.endpoint.id
  tags                       = local.tags
}

resource "azurerm_user_assigned_identity" "endpoint" {
  name                = var.name
  resource_group_name = azurerm_resource_group.endpoint.name
  location            = azurerm_resource_group.endpoint.location
  tags                = local.tags
}

resource "azurerm_role_assignment" "pull" {
  count = var.registry == null ? 0 : 1

  scope                = var.registry.id
  role_definition_name = "AcrPull"
  principal_id         = azurerm_user_assigned_identity.endpoint.principal_id
}

resource "azurerm_container_app" "endpoint" {
  name                         = var.name
  resource_group_name          = azurerm_resource_group.endpoint.name
  container_app_environment_id = azurerm_container_app_environment.endpoint.id
  revision_mode                = "Single"
  tags                         = local.tags

  identity {
    type         = "UserAssigned"
    identity_ids = [azurerm_user_assigned_identity.endpoint.id]
  }

  dynamic "registry" {
    for_each = var.registry[*]

    content {
      server   = registry.value.server
      identity = azurerm_user_assigned_identity.endpoint.id
    }
  }

  ingress {
    external_enabled = var.is_public
    target_port      = 8080

    traffic_weight {
      latest_revision = true
      percentage      = 100
    }
  }

  template {
    min_replicas = var.min_replicas
    max_replicas = var.max_replicas

    container {
      name   = "server"
      image  = var.image
      args   = ["serve"]
      cpu    = var.cpus
      memory = "${var.cpus * 2}Gi"

      startup_probe {
        transport               = "HTTP"
        port                    = 8080
        path                    = "/ping"
        interval_seconds        = 5
        failure_count_threshold = 30
      }

      readiness_probe {
        transport = "HTTP"
        port      = 8080
        path      = "/v2/health/ready"
      }

      liveness_probe {
        transport = "HTTP"
        port      = 8080
        path      = "/v2/health/live"
      }
    }

    http_scale_rule {
      name                = "requests"
      concurrent_requests = tostring(var.concurrency)
    }
  }

  depends_on = [azurerm_role_assignment.pull]
}

output "url" {
  description = "Where the endpoint answers."
  value       = "https://${azurerm_container_app.endpoint.ingress[0].fqdn}"
}
