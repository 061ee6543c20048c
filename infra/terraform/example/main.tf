# duebell bundle --actions myservice.actions:worker, then terraform init and apply.
terraform {
  required_version = ">= 1.5"
}

variable "bundle" {
  description = "What `duebell bundle` built."
  type        = string
  default     = "duebell-worker.zip"
}

variable "worker" {
  description = "module:attribute of your Worker."
  type        = string
  default     = "myservice.actions:worker"
}

module "duebell" {
  source = "../"

  bundle = abspath(var.bundle)
  worker = var.worker
}

output "environment_for_editors" {
  description = "What a service that adds tasks needs in its environment."
  value = {
    DUEBELL_TABLE    = module.duebell.table_name
    DUEBELL_RULE     = module.duebell.rule_name
    DUEBELL_FUNCTION = module.duebell.function_name
  }
}

output "policy_for_editors" {
  description = "What its role needs."
  value       = module.duebell.editor_policy_arn
}
