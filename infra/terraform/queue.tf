# Terraform destroys what it made. The table refuses while deletion_protection is on; to keep it and destroy the
# rest, `terraform state rm module.<yours>.aws_dynamodb_table.queue` first. See docs/operations.md.
resource "aws_dynamodb_table" "queue" {
  # checkov:skip=CKV_AWS_119: a key of yours is kms_key_arn; without one, no key is billed
  name                        = var.name
  billing_mode                = "PAY_PER_REQUEST"
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

  local_secondary_index {
    name            = "due-index"
    range_key       = "queued"
    projection_type = "KEYS_ONLY"
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
}
