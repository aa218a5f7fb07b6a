"""PURE: the links of a page, how their targets are spelled, and updates after moves."""
