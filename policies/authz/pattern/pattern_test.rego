package authz.pattern_test

import data.authz.pattern

test_a_pattern_is_tried if {
	pattern.trial == {"valid": true, "matched": true} with input as {"pattern": `^a+$`, "text": "aa"}
}

test_a_text_that_does_not_match_is_told if {
	pattern.trial == {"valid": true, "matched": false} with input as {"pattern": `^a+$`, "text": "b"}
}

test_what_is_no_pattern_is_told if {
	pattern.trial == {"valid": false, "matched": false} with input as {"pattern": `[`, "text": "b"}
}
