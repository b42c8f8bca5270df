package authz.pattern_test

import data.authz.pattern

test_a_pattern_is_tried if {
	pattern.trial == {"valid": true, "matched": true} with input as {"pattern": `^a+$`, "text": "aa"}
}

test_a_text_that_does_not_match_is_reported if {
	pattern.trial == {"valid": true, "matched": false} with input as {"pattern": `^a+$`, "text": "b"}
}

test_an_invalid_pattern_is_reported if {
	pattern.trial == {"valid": false, "matched": false} with input as {"pattern": `[`, "text": "b"}
}
