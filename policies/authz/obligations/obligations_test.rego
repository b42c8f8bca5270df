package authz.obligations_test

import data.authz.obligations

_policy(properties) := {"obligations": [{"type": "step_up", "properties": properties}]}

_demand(policies) := [obligation.properties | some obligation in obligations.merged(policies)]

test_the_youngest_and_the_highest_are_demanded if {
	demanded := _demand([_policy({"acr": "aal1", "max_age": 60}), _policy({"max_age": 600})])
	demanded == [{"acr": "aal2", "max_age": 60}]
}

test_a_class_that_all_name_is_kept if {
	_demand([_policy({"acr": "aal1"}), _policy({"acr": "aal1", "max_age": 9})]) == [{"acr": "aal1", "max_age": 9}]
}

test_a_class_that_no_policy_names_is_not_added if _demand([_policy({"max_age": 9}), _policy({})]) == [{"max_age": 9}]

test_without_obligations_the_result_is_empty if {
	obligations.merged([]) == []
	obligations.merged([{"obligations": []}, {}]) == []
}
