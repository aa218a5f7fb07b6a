"""Drafts: change sets whose files lie over a tenant's tree until they are applied."""
