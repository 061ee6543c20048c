"""The scheduler as a construct for the AWS CDK; needs the extra `cdk`, and Node.js as all of the CDK does."""

from duebell_infra.deploy.cdk import Scheduler

__all__ = ["Scheduler"]
