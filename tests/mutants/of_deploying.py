"""Mutants of bundling and deploying: what may go into a bundle, and what is done to what is there."""

from .mutant import Killer, Mutant

__all__ = ["OF_DEPLOYING"]

_REQUIREMENTS = "infra/duebell_infra/bundle/dependencies.py"
_DEPENDENCIES = "infra/duebell_infra/bundle/dependencies.py"
_ARTIFACTS = "infra/duebell_infra/deploy/artifacts.py"
_TABLE = "infra/duebell_infra/deploy/queue_table.py"
_DEPLOY = "infra/duebell_infra/deploy/deploy.py"

OF_DEPLOYING = (
    Mutant(
        name="a requirement that is an option",
        file=_REQUIREMENTS,
        line="    if _OPTION.search(text):\n",
        broken="    if False:\n",
        why="a line of somebody's file tells pip to ask another index",
        killers=(Killer.REQUIREMENTS,),
    ),
    Mutant(
        name="a requirement from a URL or the folder",
        file=_REQUIREMENTS,
        line="    if _ELSEWHERE.search(text):\n",
        broken="    if False:\n",
        why="what nobody published runs with the worker's rights",
        killers=(Killer.REQUIREMENTS,),
    ),
    Mutant(
        name="one without a hash among those that have one",
        file=_REQUIREMENTS,
        line="        if (needs_hashes or found.are_hashed) and not one.hashes:\n",
        broken="        if False:\n",
        why="the line to mend is not named",
        killers=(Killer.REQUIREMENTS,),
    ),
    Mutant(
        name="a library built from source",
        file=_DEPENDENCIES,
        line=', "--only-binary=:all:"]',
        broken="]",
        why="the code of a library's build runs where the bundle is made",
        killers=(Killer.DEPENDENCIES,),
    ),
    Mutant(
        name="hashes that nobody compares with what the file does not name",
        file=_DEPENDENCIES,
        line='    if requirements.are_hashed:\n        options.append("--require-hashes")\n',
        broken="    requirements = replace(requirements, wanted=tuple("
        "replace(one, hashes=()) for one in requirements.wanted))\n",
        why="a library that was replaced goes into the bundle, with a lock that says otherwise",
        killers=(Killer.DEPENDENCIES,),
    ),
    Mutant(
        name="what may not be listed counts as there",
        file=_ARTIFACTS,
        line="        found = answer_unless(_ABSENT | _REFUSED, self._client.get_object_tagging, **there)\n",
        broken="        try:\n"
        "            found = answer_unless(_ABSENT, self._client.get_object_tagging, **there)\n"
        "        except ClientError:\n"
        "            return True\n",
        why="a bundle is never uploaded, and the stack is told to take it",
        killers=(Killer.ARTIFACTS,),
    ),
    Mutant(
        name="the bundle in use is left to expire",
        file=_ARTIFACTS,
        line='return found is not None and REPLACED not in found["TagSet"]',
        broken="return found is not None",
        why="CloudFormation cannot roll the next change back",
        killers=(Killer.ARTIFACTS,),
    ),
    Mutant(
        name="a table's key is switched off each time",
        file=_TABLE,
        line="        if _key_of(self._describe()) != wanted.key:\n",
        broken="        if True:\n",
        why="DynamoDB takes four changes of encryption a day, and refuses the fifth deployment",
        killers=(Killer.TABLE_SETTINGS,),
    ),
    Mutant(
        name="a table of an earlier version is left without past-index",
        file=_TABLE,
        line="        if name in _indexes(self._describe()):\n",
        broken="        if True:\n",
        why="nothing that has ended can be listed",
        killers=(Killer.TABLE_CAPACITY,),
    ),
    Mutant(
        name="units that were scaled are set to the least",
        file=_TABLE,
        line="        if wanted.provisioned and not is_provisioned:\n",
        broken="        if wanted.provisioned:\n",
        why="each deployment throttles a queue under load, until it is scaled again",
        killers=(Killer.TABLE_CAPACITY,),
    ),
    Mutant(
        name="a failed update leaves the rule as CloudFormation wrote it",
        file=_DEPLOY,
        line="                Backend.connect(settings_of(name, before), session).armer.verify()\n",
        broken="                pass\n",
        why="the rule is parked, and no task is woken for",
        killers=(Killer.DEPLOYING,),
    ),
    Mutant(
        name="a failed update is not told",
        file=_DEPLOY,
        line="armer.verify()\n        raise\n",
        broken="armer.verify()\n        return settings\n",
        why="a deployment that failed looks as if it had been made",
        killers=(Killer.DEPLOYING,),
    ),
)
