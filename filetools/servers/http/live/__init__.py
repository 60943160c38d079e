"""The live protocol: documents, events and approvals of one workspace over a connection that stays open."""
