"""Path rules, and opening paths so that no race can redirect them."""
