package authz.invariants_test

test_membership_denies if {
	_denied({"subject": {"membership": null}}) == {"no_active_membership"}
}

test_membership_allows_what_needs_none if {
	_denied({"subject": {"membership": null}, "action": "session:logout"}) == set()
}

test_a_customer_of_an_application_needs_no_membership if {
	_denied(object.union(_customer, {"subject": {"type": "customer"}})) == set()
}

test_a_user_of_an_application_needs_a_membership if {
	_denied(_customer) == {"no_active_membership"}
}

_customer := {"application": true, "action": "ship:steer", "subject": {"type": "user", "membership": null}}
