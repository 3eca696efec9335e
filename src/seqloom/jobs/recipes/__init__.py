"""Recipes: their form, those that come along, what they cost and what was published of them."""
