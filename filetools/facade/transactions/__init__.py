"""Transactions of a caller's own: buffered in memory, done all or nothing at the end of their block."""

from filetools.facade.transactions.results import TransactedPath, TransactionResult
from filetools.facade.transactions.transaction import Transaction

__all__ = ["TransactedPath", "Transaction", "TransactionResult"]
