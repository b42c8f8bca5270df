# METADATA
# title: Patterns
# description: What a pattern costs can only be measured, in an instance of its own before it is stored.
package authz.pattern

# METADATA
# title: Trial
# description: Whether a pattern can be used at all, after one match of it against a text.
# entrypoint: true
trial := {"valid": regex.is_valid(input.pattern), "matched": _matched}

default _matched := false

_matched if regex.match(input.pattern, input.text)
