"""Links between pages of an app: addresses of the app in its bodies, and paths of files in its pages."""
