# Provisioned capacity follows the use: of the table and of past-index, reads and writes each.
locals {
  is_provisioned = var.capacity == "provisioned"

  bounds = {
    Read  = { min = var.min_read_units, max = var.max_read_units }
    Write = { min = var.min_write_units, max = var.max_write_units }
  }
  scaled = {
    table-reads  = { of = "table", what = "Read", resource = "table/${aws_dynamodb_table.queue.name}" }
    table-writes = { of = "table", what = "Write", resource = "table/${aws_dynamodb_table.queue.name}" }
    past-reads   = { of = "index", what = "Read", resource = "table/${aws_dynamodb_table.queue.name}/index/past-index" }
    past-writes  = { of = "index", what = "Write", resource = "table/${aws_dynamodb_table.queue.name}/index/past-index" }
  }
}

resource "aws_appautoscaling_target" "scaled" {
  for_each = { for name, one in local.scaled : name => one if local.is_provisioned }

  service_namespace  = "dynamodb"
  resource_id        = each.value.resource
  scalable_dimension = "dynamodb:${each.value.of}:${each.value.what}CapacityUnits"
  min_capacity       = local.bounds[each.value.what].min
  max_capacity       = local.bounds[each.value.what].max
  tags               = local.tags
}

resource "aws_appautoscaling_policy" "scaled" {
  for_each = aws_appautoscaling_target.scaled

  name               = "${var.name}-${each.key}"
  policy_type        = "TargetTrackingScaling"
  service_namespace  = each.value.service_namespace
  resource_id        = each.value.resource_id
  scalable_dimension = each.value.scalable_dimension

  target_tracking_scaling_policy_configuration {
    target_value = 70

    predefined_metric_specification {
      predefined_metric_type = "DynamoDB${local.scaled[each.key].what}CapacityUtilization"
    }
  }
}
