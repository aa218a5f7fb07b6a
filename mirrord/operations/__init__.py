"""Operations that people start: check, export, backup, restore, conflicts."""
