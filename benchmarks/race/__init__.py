"""seqloom and its peers side by side: the same seeded work, in processes of their own, by turns."""
