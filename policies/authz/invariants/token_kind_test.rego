package authz.invariants_test

test_token_kind_denies if {
	_denied({"subject": {"session": {"token": "otp_pending"}}}) == {"otp_required"}
}

test_token_kind_allows if {
	_denied({"subject": {"session": {"token": "otp_pending"}}, "action": "otp:verify"}) == set()
}

test_key_not_allowed_denies if {
	given := {"subject": {"session": {"token": "key", "in_scope": true}}, "action": "session:list"}
	_denied(given) == {"key_not_allowed"}
}

test_impersonation_not_allowed_denies if {
	given := {"subject": {"session": {"token": "impersonation"}}, "action": "session:list"}
	_denied(given) == {"impersonation_not_allowed"}
}

test_an_impersonation_is_accepted if {
	_denied({"subject": {"session": {"token": "impersonation"}}}) == set()
}

test_application_not_allowed_denies if {
	given := {"subject": {"session": {"token": "oauth", "in_scope": true}}, "action": "session:list"}
	_denied(given) == {"application_not_allowed"}
}

test_an_application_needs_a_scope_for_everything if {
	given := {"subject": {"session": {"token": "oauth", "in_scope": false}}}
	_denied(given) == {"scope_missing"}
	_denied(object.union(given, {"action": "profile:read"})) == {"scope_missing"}
	_denied(object.union(_question, {
		"phase": "route",
		"subject": {"session": {"token": "oauth", "in_scope": false}},
	})) == {"scope_missing"}
	_denied({"subject": {"session": {"token": "oauth", "in_scope": true}}}) == set()
}

test_scope_missing_denies if {
	_denied({"subject": {"session": {"token": "key", "in_scope": false}}}) == {"scope_missing"}
}

test_a_key_is_accepted if {
	_denied({"subject": {"session": {"token": "key", "in_scope": true}}}) == set()
}

test_a_key_asks_about_itself_without_a_scope if {
	_denied(object.union(_question, {"resource": {"owner_id": "user-1"}})) == set()
	_denied(object.union(_question, {"phase": "route"})) == set()
}

test_a_key_asks_about_others_with_the_scope_only if {
	_denied(object.union(_question, {"resource": {"owner_id": "user-2"}})) == {"scope_missing"}
	_denied(object.union(_question, {"resource": {"owner_id": null}})) == {"scope_missing"}
}

_question := {"action": "access:evaluate", "subject": {"session": {"token": "key", "in_scope": false}}}
