# Terraform destroys what it made. The table refuses while deletion_protection is on; to keep it and destroy the
# rest, `terraform state rm module.<yours>.aws_dynamodb_table.queue` first. See docs/operations.md.
resource "aws_dynamodb_table" "queue" {
  # checkov:skip=CKV_AWS_119: a key of yours is kms_key_arn; without one, no key is billed
  name                        = var.name
  billing_mode                = local.is_provisioned ? "PROVISIONED" : "PAY_PER_REQUEST"
  read_capacity               = local.is_provisioned ? var.min_read_units : null
  write_capacity              = local.is_provisioned ? var.min_write_units : null
  hash_key                    = "lane"
  range_key                   = "id"
  deletion_protection_enabled = var.deletion_protection

  attribute {
    name = "lane"
    type = "S"
  }
  attribute {
    name = "id"
    type = "S"
  }
  attribute {
    name = "queued"
    type = "S"
  }
  attribute {
    name = "past"
    type = "S"
  }

  local_secondary_index {
    name            = "due-index"
    range_key       = "queued"
    projection_type = "KEYS_ONLY"
  }
  # Global: what has ended may be read eventually, and is no part of the 10 GB that a lane may hold.
  global_secondary_index {
    name            = "past-index"
    hash_key        = "lane"
    range_key       = "past"
    projection_type = "KEYS_ONLY"
    read_capacity   = local.is_provisioned ? var.min_read_units : null
    write_capacity  = local.is_provisioned ? var.min_write_units : null
  }

  ttl {
    attribute_name = "expires_at"
    enabled        = true
  }
  point_in_time_recovery {
    enabled = true
  }
  # Without a key of yours the table is encrypted with one that DynamoDB owns. Enabled without a key would be the
  # account's managed one, whose requests KMS charges for.
  server_side_encryption {
    enabled     = var.kms_key_arn != ""
    kms_key_arn = var.kms_key_arn == "" ? null : var.kms_key_arn
  }

  tags = local.tags

  # Application Auto Scaling sets these. An index's cannot be left out: an apply sets those of past-index back to the
  # minimum, and they are scaled again within minutes. https://github.com/hashicorp/terraform-provider-aws/issues/671
  lifecycle {
    ignore_changes = [read_capacity, write_capacity]
  }
}
