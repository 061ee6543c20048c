output "table_name" {
  description = "DUEBELL_TABLE for the editors"
  value       = aws_dynamodb_table.queue.name
}

output "rule_name" {
  description = "DUEBELL_RULE for the editors"
  value       = var.name
}

output "function_name" {
  description = "The worker, and DUEBELL_FUNCTION for the editors"
  value       = var.snap_start ? "${aws_lambda_function.worker.function_name}:live" : aws_lambda_function.worker.function_name
}

output "log_group" {
  description = "Where the worker logs to"
  value       = aws_cloudwatch_log_group.worker.name
}

output "lost_rings_url" {
  description = "The queue of rings that never reached the worker"
  value       = aws_sqs_queue.lost_rings.id
}

output "failed_runs_url" {
  description = "The queue of runs that failed to the last of Lambda's tries"
  value       = aws_sqs_queue.failed_runs.id
}

output "intake_url" {
  description = "The intake queue, for those who send to it; null without one"
  value       = one(aws_sqs_queue.intake[*].id)
}

output "intake_arn" {
  description = "The intake queue's ARN, for their policies; null without one"
  value       = one(aws_sqs_queue.intake[*].arn)
}

output "intake_dead_letters_url" {
  description = "The queue of messages that could not be taken; null without one"
  value       = one(aws_sqs_queue.intake_dead_letters[*].id)
}

output "editor_policy_arn" {
  description = "The policy that a service's role needs to add and change tasks"
  value       = aws_iam_policy.editor.arn
}
