# METADATA
# title: Helpers
# description: Small pure functions that more than one package needs.
package lib

# METADATA
# title: A text, or null
nullable_text(null)

nullable_text(value) if is_string(value)
