"""Transactions of a caller's own: buffered in memory, done all or nothing at the end of their block."""

from typing import TYPE_CHECKING

from filetools.deferred import deferred

if TYPE_CHECKING:
    from filetools.facade.transactions.results import TransactedPath, TransactionResult
    from filetools.facade.transactions.transaction import Transaction
else:
    __getattr__, __dir__ = deferred(
        __name__,
        {
            "filetools.facade.transactions.results": "TransactedPath, TransactionResult",
            "filetools.facade.transactions.transaction": "Transaction",
        },
    )

__all__ = ["TransactedPath", "Transaction", "TransactionResult"]
