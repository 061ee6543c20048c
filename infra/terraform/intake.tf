# Messages that add and change tasks. What the worker cannot take now comes again: it says when, and a hundred times are a
# day. If a run dies, its messages come again after the visibility timeout, at worst a hundred times in six and a half days.
# The timeout is what AWS advises: six times the function's, and the batch window.
# https://docs.aws.amazon.com/lambda/latest/dg/services-sqs-configure.html
resource "aws_sqs_queue" "intake" {
  count                      = var.intake ? 1 : 0
  name                       = local.intake
  message_retention_seconds  = 604800
  visibility_timeout_seconds = 6 * var.timeout + 1
  sqs_managed_sse_enabled    = var.kms_key_arn == "" ? true : null
  kms_master_key_id          = var.kms_key_arn == "" ? null : var.kms_key_arn
  policy                     = data.aws_iam_policy_document.tls_only.json
  tags                       = local.tags

  redrive_policy = jsonencode({
    deadLetterTargetArn = aws_sqs_queue.intake_dead_letters[0].arn
    maxReceiveCount     = 100
  })

  # Whoever lets others send to it gives it another policy.
  lifecycle {
    ignore_changes = [policy]
  }
}

# Messages that cannot be right; the worker sends them with the reason. And those that never could be taken.
resource "aws_sqs_queue" "intake_dead_letters" {
  count                     = var.intake ? 1 : 0
  name                      = "${local.intake}-dead-letters"
  message_retention_seconds = 1209600
  sqs_managed_sse_enabled   = var.kms_key_arn == "" ? true : null
  kms_master_key_id         = var.kms_key_arn == "" ? null : var.kms_key_arn
  policy                    = data.aws_iam_policy_document.tls_only.json
  tags                      = local.tags
}

# A few batches at a time: a burst waits in the queue, and leaves Lambda's concurrency to others. Without tags, as China
# refuses them: https://github.com/aws-cloudformation/cloudformation-coverage-roadmap/issues/2137
resource "aws_lambda_event_source_mapping" "intake" {
  count                              = var.intake ? 1 : 0
  event_source_arn                   = aws_sqs_queue.intake[0].arn
  function_name                      = var.snap_start ? aws_lambda_alias.live[0].arn : aws_lambda_function.worker.function_name
  batch_size                         = 100
  maximum_batching_window_in_seconds = 1
  function_response_types            = ["ReportBatchItemFailures"]

  scaling_config {
    maximum_concurrency = 4
  }
  depends_on = [aws_iam_role_policy.worker]
}
