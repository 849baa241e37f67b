variable "partitions" {
  default = 6
}
variable "unknown" {}
resource "kafka_topic" "orders" {
  name               = "orders"
  partitions         = var.partitions
  replication_factor = 3
}
resource "kafka_topic" "lost" {
  name               = var.unknown
  partitions         = 1
  replication_factor = 1
}
resource "kafka_acl" "billing" {
  resource_name                = "orders"
  resource_type                = "Topic"
  resource_pattern_type_filter = "Prefixed"
  acl_principal                = "User:billing"
  acl_host                     = "*"
  acl_operation                = "Read"
  acl_permission_type          = "Allow"
}
resource "confluent_service_account" "sa" {
  display_name = "sa"
}
output "name" {
  value = kafka_topic.orders.name
}
