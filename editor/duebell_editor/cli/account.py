"""Which AWS the options choose. They win over the environment, which every part of this program goes by."""

import os

__all__ = ["choose_account"]

#: What the SDK would take before the profile that AWS_PROFILE names.
_BEFORE_A_PROFILE = (
    "AWS_ACCESS_KEY_ID",
    "AWS_SECRET_ACCESS_KEY",
    "AWS_SESSION_TOKEN",
    "AWS_SECURITY_TOKEN",
    "AWS_DEFAULT_PROFILE",
    "AWS_ROLE_ARN",
    "AWS_ROLE_SESSION_NAME",
    "AWS_WEB_IDENTITY_TOKEN_FILE",
)


def choose_account(
    *, profile: str | None = None, region: str | None = None, endpoint_url: str | None = None
) -> None:
    """Set this process's environment so that the SDK can choose nothing else; None leaves it as it is."""
    if profile is not None:
        _forget(*_BEFORE_A_PROFILE)
        os.environ["AWS_PROFILE"] = profile
    if region is not None:
        os.environ["AWS_REGION"] = os.environ["AWS_DEFAULT_REGION"] = region
    if endpoint_url is not None:
        _forget(*(name for name in os.environ if name.startswith("AWS_ENDPOINT_URL")))
        os.environ["AWS_ENDPOINT_URL"] = endpoint_url
        # Said, not only left out: a profile's settings can ask for it too.
        os.environ["AWS_IGNORE_CONFIGURED_ENDPOINT_URLS"] = "false"


def _forget(*names: str) -> None:
    for name in names:
        os.environ.pop(name, None)
