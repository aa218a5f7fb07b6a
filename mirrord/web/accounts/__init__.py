"""People who sign in to the console with an account of an identity provider."""
