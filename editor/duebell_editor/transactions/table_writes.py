"""Writes to tables of the user as items of a transaction: made of Python values, and checked."""

from collections.abc import Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from botocore.model import ServiceModel, Shape
from botocore.validate import ParamValidator

from duebell_shared.aws.aws_session import QuickLoader
from duebell_shared.errors import InvalidTransaction
from duebell_shared.quoting import in_brief, quoted

if TYPE_CHECKING:
    from boto3.dynamodb.conditions import ConditionBase

#: The kinds of writes that a transaction takes.
KINDS = ("Put", "Update", "Delete", "ConditionCheck")


def put_of(table: object, item: object, condition: "ConditionBase | str | None") -> dict[str, Any]:
    """The item `{"Put": …}` of a transaction. Raises InvalidTransaction."""
    if not isinstance(table, str) or not table:
        raise InvalidTransaction("table", f"must be the name of a table, not {quoted(table)}")
    if not isinstance(item, Mapping) or not item:
        raise InvalidTransaction("item", f"must be a mapping of attributes to values, not {quoted(item)}")
    put: dict[str, Any] = {"TableName": table, "Item": _serialized("item", item)}
    return check_write({"Put": put | _conditions(condition)})


def check_write(given: object) -> dict[str, Any]:
    """`given`, if it can be an item of a transaction by its form. Raises InvalidTransaction."""
    if not isinstance(given, Mapping) or len(given) != 1 or not {*KINDS}.issuperset(given):
        raise InvalidTransaction(
            "write", f"must be a mapping with one of the keys {', '.join(KINDS)}, not {quoted(given)}"
        )
    report = ParamValidator().validate(dict(given), _shape())
    if report.has_errors():
        raise InvalidTransaction("write", in_brief(report.generate_report()))
    return dict(given)


def table_of(write: Mapping[str, Any]) -> str:
    """The kind of the write and its table, in words."""
    [(kind, arguments)] = write.items()
    return f"{kind} to table {quoted(arguments['TableName'])}"


def _serialized(field: str, values: Mapping[Any, Any]) -> dict[str, Any]:
    from boto3.dynamodb.types import TypeSerializer  # noqa: PLC0415 (few services make transactions)

    serializer, serialized = TypeSerializer(), {}
    for name, value in values.items():
        if not isinstance(name, str):
            raise InvalidTransaction(field, f"has {quoted(name)} as an attribute: names are text")
        try:
            serialized[name] = serializer.serialize(value)
        except (TypeError, ValueError, ArithmeticError, RecursionError) as error:
            raise InvalidTransaction(f"{field}[{quoted(name)}]", in_brief(error)) from None
    return serialized


def _conditions(condition: object) -> dict[str, Any]:
    """The condition as arguments of a write: of boto3's kind, or an expression that is complete by itself."""
    if condition is None:
        return {}
    if isinstance(condition, str) and condition:
        return {"ConditionExpression": condition}
    from boto3.dynamodb.conditions import (  # noqa: PLC0415 (likewise)
        ConditionBase,
        ConditionExpressionBuilder,
    )

    if not isinstance(condition, ConditionBase):
        raise InvalidTransaction(
            "condition",
            f"must be made with boto3's Attr, or be text, such as 'attribute_not_exists(id)', "
            f"not {quoted(condition)}",
        )
    try:
        built = ConditionExpressionBuilder().build_expression(condition)
    except Exception as error:  # noqa: BLE001 (boto3's own, of several kinds)
        raise InvalidTransaction("condition", in_brief(error)) from None
    made = {
        "ConditionExpression": built.condition_expression,
        "ExpressionAttributeNames": built.attribute_name_placeholders,
    }
    if built.attribute_value_placeholders:
        made["ExpressionAttributeValues"] = _serialized("condition", built.attribute_value_placeholders)
    return made


@lru_cache(maxsize=1)
def _shape() -> Shape:
    """The SDK's description of an item of a transaction. The queue's own client checks nothing."""
    model = ServiceModel(QuickLoader().load_service_model("dynamodb", "service-2"))
    call: Any = model.operation_model("TransactWriteItems").input_shape
    shape: Shape = call.members["TransactItems"].member
    return shape
