"""Cases: pages below one directory of the tree, one for each respondent of a survey."""

DIRECTORY = "Cases"
CASE = "case"  # the value of `type` in the front matter of a case
ATTRIBUTES = "attributes"  # the key of a case's attributes: a mapping of values by name
SURVEY = "survey"  # the key of the survey's name
