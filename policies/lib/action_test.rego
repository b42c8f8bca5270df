package lib_test

import data.lib

test_an_action_of_the_service_has_its_entry if lib.action("webhook:create", false).wildcard == "webhook:*"

test_an_action_of_an_application_has_the_common_entry if lib.action("ship:steer", true) == data.catalogue.application

test_an_action_that_nothing_defines_has_none if {
	not _found("ship:steer", false)
	not _found("webhook:steer", true)
	not _found("ship", true)
}

_found(name, application) if lib.action(name, application)
