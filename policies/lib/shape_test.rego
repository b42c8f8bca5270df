package lib_test

import data.lib

test_a_text_passes if lib.nullable_text("a")

test_null_passes if lib.nullable_text(null)

test_a_number_fails if not lib.nullable_text(1)

# A missing argument leaves the call undefined, and also its negation. So callers never negate it.
test_a_missing_value_fails if not _passes

_passes if lib.nullable_text(input.absent)
