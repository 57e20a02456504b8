"""Scripts for people who measure or change this project."""
