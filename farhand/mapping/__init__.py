"""Mappings: the kinematic bridge between two unlike machines, two-way and power-conserving."""

from farhand.mapping.workspace import WorkspaceMapping

__all__ = ["WorkspaceMapping"]
