"""Cases: pages below one directory of the tree, one for whoever answered a survey."""

DIRECTORY = "Cases"
CASE = "case"  # what `type` says in a case's front matter
ATTRIBUTES = "attributes"  # the key of what is known of a case: a mapping of values by name
SURVEY = "survey"  # the key of the survey's name
