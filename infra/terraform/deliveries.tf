# The deliveries as the worker reads them, and the ARNs in them by what the worker may do with each.
locals {
  deliveries = jsonencode({
    for name, one in var.deliveries : name => { for field, value in one : field => value if value != null }
  })

  delivery_arns = distinct(concat(
    var.delivery_arns,
    [for one in var.deliveries : one.to if startswith(one.to, "arn:")],
    [for one in var.deliveries : one.secret if one.secret != null],
  ))

  # The permission for a version or an alias of a state machine is that for the state machine.
  # https://docs.aws.amazon.com/step-functions/latest/dg/auth-version-alias.html
  may_deliver = {
    for sid, one in {
      DeliverToQueues        = { service = "sqs", action = "sqs:SendMessage", parts = 6 }
      DeliverToTopics        = { service = "sns", action = "sns:Publish", parts = 6 }
      DeliverToBuses         = { service = "events", action = "events:PutEvents", parts = 6 }
      DeliverToFunctions     = { service = "lambda", action = "lambda:InvokeFunction", parts = 8 }
      DeliverToStateMachines = { service = "states", action = "states:StartExecution", parts = 7 }
      ReadSecrets            = { service = "secretsmanager", action = "secretsmanager:GetSecretValue", parts = 7 }
      ReadParameters         = { service = "ssm", action = "ssm:GetParameter", parts = 6 }
      } : sid => {
      action = one.action
      arns = sort(distinct([
        for arn in local.delivery_arns : join(":", slice(split(":", arn), 0, min(one.parts, length(split(":", arn)))))
        if split(":", arn)[2] == one.service
      ]))
    }
  }
}
