# METADATA
# title: Patterns
# description: The cost of a pattern can only be measured. The host does so in a separate instance before storing it.
package authz.pattern

# METADATA
# title: Trial
# description: Whether a pattern is valid, and whether it matches a text.
# entrypoint: true
trial := {"valid": regex.is_valid(input.pattern), "matched": _matched}

default _matched := false

_matched if regex.match(input.pattern, input.text)
