"""Updates and deletions of single items, as calls of their own and as statements of a batch."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

__all__ = ["Item", "ItemChange", "ItemDeletion", "ItemUpdate"]

#: Attributes as DynamoDB's API has them: each by its name, under its type.
Item = Mapping[str, Mapping[str, Any]]


class ItemUpdate(NamedTuple):
    """An update of an item that is as expected.

    key      its key
    where    attributes with the values that they must have
    unless   attributes that must not all have these values; such an update goes in a call of its own
    sets     attributes with their new values
    adds     numbers to add to attributes
    removes  names of attributes to remove
    returns  whether the updated item is to be returned
    """

    key: Item
    where: Item
    sets: Item
    adds: Item = {}  # noqa: RUF012 (nobody writes to it)
    removes: Sequence[str] = ()
    returns: bool = False
    unless: Item = {}  # noqa: RUF012

    def call(self) -> dict[str, Any]:
        """The arguments of UpdateItem."""
        sets = [f"#{name} = :{name}" for name in self.sets]
        sets += [f"#{name} = #{name} + :{name}" for name in self.adds]
        expression = f"SET {', '.join(sets)}"
        if self.removes:
            expression += f" REMOVE {', '.join(f'#{name}' for name in self.removes)}"
        conditions = [f"#{name} = :if_{name}" for name in self.where]
        if self.unless:
            conditions.append(f"({' OR '.join(f'#{name} <> :not_{name}' for name in self.unless)})")
        names = {*self.where, *self.unless, *self.sets, *self.adds, *self.removes}
        return {
            "Key": self.key,
            "UpdateExpression": expression,
            "ConditionExpression": " AND ".join(conditions),
            "ExpressionAttributeNames": {f"#{name}": name for name in names},
            "ExpressionAttributeValues": {
                **{f":{name}": value for name, value in {**self.sets, **self.adds}.items()},
                **{f":if_{name}": value for name, value in self.where.items()},
                **{f":not_{name}": value for name, value in self.unless.items()},
            },
            "ReturnValues": "ALL_NEW" if self.returns else "NONE",
        }

    def statement(self, table: str) -> dict[str, Any]:
        """The same in PartiQL, as one of the statements of BatchExecuteStatement.

        https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/ql-reference.update.html
        """
        clauses = [f'SET "{name}"=?' for name in self.sets]
        clauses += [f'SET "{name}"="{name}"+?' for name in self.adds]
        clauses += [f'REMOVE "{name}"' for name in self.removes]
        expected = {**self.key, **self.where}
        conditions = " AND ".join(f'"{name}"=?' for name in expected)
        returning = " RETURNING ALL NEW *" if self.returns else ""
        return {
            "Statement": f'UPDATE "{table}" {" ".join(clauses)} WHERE {conditions}{returning}',
            "Parameters": [*self.sets.values(), *self.adds.values(), *expected.values()],
        }


class ItemDeletion(NamedTuple):
    """The deletion of an item that is as expected.

    key      its key
    where    attributes with the values that they must have
    """

    key: Item
    where: Item

    def call(self) -> dict[str, Any]:
        """The arguments of DeleteItem."""
        return {
            "Key": self.key,
            "ConditionExpression": " AND ".join(f"#{name} = :{name}" for name in self.where),
            "ExpressionAttributeNames": {f"#{name}": name for name in self.where},
            "ExpressionAttributeValues": {f":{name}": value for name, value in self.where.items()},
        }

    def statement(self, table: str) -> dict[str, Any]:
        """The same in PartiQL.

        https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/ql-reference.delete.html
        """
        expected = {**self.key, **self.where}
        conditions = " AND ".join(f'"{name}"=?' for name in expected)
        return {
            "Statement": f'DELETE FROM "{table}" WHERE {conditions}',  # noqa: S608 (values are parameters)
            "Parameters": list(expected.values()),
        }


ItemChange = ItemUpdate | ItemDeletion
