package authz.invariants_test

test_token_kind_denies if {
	_denied({"subject": {"session": {"token": "otp_pending"}}}) == {"otp_required"}
}

test_token_kind_allows if {
	_denied({"subject": {"session": {"token": "otp_pending"}}, "action": "otp:verify"}) == set()
}
