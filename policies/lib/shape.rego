# METADATA
# title: Shapes
# description: What a value of the input may be where it may also be absent.
package lib.shape

# METADATA
# title: A text, or null
nullable_text(null)

nullable_text(value) if is_string(value)
