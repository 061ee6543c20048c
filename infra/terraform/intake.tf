# Messages that add and change tasks. What the worker cannot take now comes again: it says when, else after the visibility
# timeout, which Lambda wants to be no shorter than the worker's. A hundred times are a day.
resource "aws_sqs_queue" "intake" {
  count                      = var.intake ? 1 : 0
  name                       = local.intake
  message_retention_seconds  = 345600
  visibility_timeout_seconds = var.timeout
  sqs_managed_sse_enabled    = var.kms_key_arn == "" ? true : null
  kms_master_key_id          = var.kms_key_arn == "" ? null : var.kms_key_arn
  tags                       = local.tags

  redrive_policy = jsonencode({
    deadLetterTargetArn = aws_sqs_queue.intake_dead_letters[0].arn
    maxReceiveCount     = 100
  })
}

# Messages that cannot be right; the worker sends them with the reason. And those that never could be taken.
resource "aws_sqs_queue" "intake_dead_letters" {
  count                     = var.intake ? 1 : 0
  name                      = "${local.intake}-dead-letters"
  message_retention_seconds = 1209600
  sqs_managed_sse_enabled   = var.kms_key_arn == "" ? true : null
  kms_master_key_id         = var.kms_key_arn == "" ? null : var.kms_key_arn
  tags                      = local.tags
}

# A few batches at a time: a burst waits in the queue, and leaves Lambda's concurrency to others.
resource "aws_lambda_event_source_mapping" "intake" {
  count                              = var.intake ? 1 : 0
  event_source_arn                   = aws_sqs_queue.intake[0].arn
  function_name                      = var.snap_start ? aws_lambda_alias.live[0].arn : aws_lambda_function.worker.function_name
  batch_size                         = 100
  maximum_batching_window_in_seconds = 1
  function_response_types            = ["ReportBatchItemFailures"]
  tags                               = local.tags

  scaling_config {
    maximum_concurrency = 4
  }
  depends_on = [aws_iam_role_policy.worker]
}
