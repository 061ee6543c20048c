"""Mutants of bundling and deploying: what may go into a bundle, and what is done to what is there."""

from .mutant import Killer, Mutant

__all__ = ["OF_DEPLOYING"]

_REQUIREMENTS = "infra/duebell_infra/requirements.py"
_DEPENDENCIES = "infra/duebell_infra/dependencies.py"
_ARTIFACTS = "infra/duebell_infra/artifacts.py"

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
        line="            if hashed and not one.hashes:\n",
        broken="            if False:\n",
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
        line='hashes = ["--require-hashes"] if requirements.are_hashed else []',
        broken="hashes = []\n    requirements = replace(requirements, wanted=tuple("
        "replace(one, hashes=()) for one in requirements.wanted))",
        why="a library that was replaced goes into the bundle, with a lock that says otherwise",
        killers=(Killer.DEPENDENCIES,),
    ),
    Mutant(
        name="what may not be listed counts as there",
        file=_ARTIFACTS,
        line="            if code_of(error) in _ABSENT | _REFUSED:\n                return False\n",
        broken="            if code_of(error) in _REFUSED:\n                return True\n"
        "            if code_of(error) in _ABSENT:\n                return False\n",
        why="a bundle is never uploaded, and the stack is told to take it",
        killers=(Killer.ARTIFACTS,),
    ),
    Mutant(
        name="the bundle in use is left to expire",
        file=_ARTIFACTS,
        line='return bucket_of_ours.REPLACED not in found["TagSet"]',
        broken="return True",
        why="CloudFormation cannot roll the next change back",
        killers=(Killer.ARTIFACTS,),
    ),
    Mutant(
        name="a table's key is switched off each time",
        file="infra/duebell_infra/table_settings.py",
        line="    if _key_of(table) != key:\n",
        broken="    if True:\n",
        why="DynamoDB takes four changes of encryption a day, and refuses the fifth deployment",
        killers=(Killer.TABLE_SETTINGS,),
    ),
    Mutant(
        name="a table of an earlier version is left without past-index",
        file="infra/duebell_infra/table_capacity.py",
        line="    if _PAST not in indexes:\n",
        broken="    if False:\n",
        why="nothing that has ended can be listed",
        killers=(Killer.TABLE_CAPACITY,),
    ),
    Mutant(
        name="units that were scaled are set to the least",
        file="infra/duebell_infra/table_capacity.py",
        line='    if wanted.provisioned and mode != "PROVISIONED":\n',
        broken="    if wanted.provisioned:\n",
        why="each deployment throttles a queue under load, until it is scaled again",
        killers=(Killer.TABLE_CAPACITY,),
    ),
)
