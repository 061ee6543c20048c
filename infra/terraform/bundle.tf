# Lambda takes a zip of up to 50 MB from Terraform directly, and a larger one only from S3.
# https://docs.aws.amazon.com/lambda/latest/dg/gettingstarted-limits.html
locals {
  bundle_bytes = length(filebase64(var.bundle)) * 3 / 4 # four characters stand for three bytes
  by_s3        = local.bundle_bytes > 50 * 1000 * 1000
}

resource "aws_s3_bucket" "bundles" {
  # checkov:skip=CKV_AWS_18: nobody but Lambda reads it, and what it runs is in its own log
  # checkov:skip=CKV_AWS_21: one bundle is in it, and the next has another key
  # checkov:skip=CKV_AWS_144: the bundle can be built again
  # checkov:skip=CKV_AWS_145: encrypted with S3's own key, which costs nothing
  # checkov:skip=CKV2_AWS_62: nobody waits for a bundle
  count         = local.by_s3 ? 1 : 0
  bucket_prefix = "${substr(lower(var.name), 0, 28)}-bundles-" # 37 characters at most
  force_destroy = true                                         # bundles only, and they can be built again
  tags          = local.tags
}

resource "aws_s3_bucket_public_access_block" "bundles" {
  count                   = local.by_s3 ? 1 : 0
  bucket                  = aws_s3_bucket.bundles[0].id
  block_public_acls       = true
  block_public_policy     = true
  ignore_public_acls      = true
  restrict_public_buckets = true
}

resource "aws_s3_bucket_server_side_encryption_configuration" "bundles" {
  count  = local.by_s3 ? 1 : 0
  bucket = aws_s3_bucket.bundles[0].id

  rule {
    apply_server_side_encryption_by_default {
      sse_algorithm = "AES256"
    }
  }
}

# Terraform deletes a bundle when another takes its place. What is left is parts of uploads that were broken off.
resource "aws_s3_bucket_lifecycle_configuration" "bundles" {
  count  = local.by_s3 ? 1 : 0
  bucket = aws_s3_bucket.bundles[0].id

  rule {
    id     = "broken-off-uploads"
    status = "Enabled"
    filter {}
    abort_incomplete_multipart_upload {
      days_after_initiation = 7
    }
  }
}

data "aws_iam_policy_document" "bundles" {
  count = local.by_s3 ? 1 : 0

  statement {
    sid       = "TlsOnly"
    effect    = "Deny"
    actions   = ["s3:*"]
    resources = [aws_s3_bucket.bundles[0].arn, "${aws_s3_bucket.bundles[0].arn}/*"]
    principals {
      type        = "*"
      identifiers = ["*"]
    }
    condition {
      test     = "Bool"
      variable = "aws:SecureTransport"
      values   = ["false"]
    }
  }
}

resource "aws_s3_bucket_policy" "bundles" {
  count  = local.by_s3 ? 1 : 0
  bucket = aws_s3_bucket.bundles[0].id
  policy = data.aws_iam_policy_document.bundles[0].json
}

resource "aws_s3_object" "bundle" {
  # checkov:skip=CKV_AWS_186: encrypted with S3's own key, which costs nothing
  count       = local.by_s3 ? 1 : 0
  bucket      = aws_s3_bucket.bundles[0].id
  key         = "bundles/${filesha256(var.bundle)}.zip"
  source      = var.bundle
  source_hash = filesha256(var.bundle)
  tags        = local.tags

  lifecycle {
    create_before_destroy = true # the worker changes over in between
  }
}
