package lib.shape_test

import data.lib.shape

test_a_text_passes if shape.nullable_text("a")

test_null_passes if shape.nullable_text(null)

test_a_number_fails if not shape.nullable_text(1)

# A missing argument leaves the call undefined and the negation, too: so callers demand, never negate.
test_a_missing_value_fails if not _passes

_passes if shape.nullable_text(input.absent)
