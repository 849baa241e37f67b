provider "kafka" {
  bootstrap_servers = ["shop-1:9092"]
  tls_enabled       = false
}

locals {
  partitions = { orders = 12, customers = 6 }
}

# Every business event of the shop.
resource "kafka_topic" "shop" {
  for_each           = local.partitions
  name               = "shop.${each.key}"
  partitions         = each.value
  replication_factor = 3
  config = {
    "min.insync.replicas" = "2"
  }
}

resource "kafka_acl" "billing" {
  resource_name       = kafka_topic.shop["orders"].name
  resource_type       = "Topic"
  acl_principal       = "User:billing"
  acl_host            = "*"
  acl_operation       = "Read"
  acl_permission_type = "Allow"
}

resource "kafka_quota" "billing" {
  entity_type = "user"
  entity_name = "billing"
  config      = { consumer_byte_rate = "10485760" }
}
