package lib

import data.catalogue

# METADATA
# title: Action
# description: >-
#   The catalogue entry of an action: by name for an action of the service, one entry for all actions of applications.
#   Undefined for an unknown action of the service.
action(name, application) := catalogue.actions[name] if {
	application == false
} else := catalogue.application if {
	application
	[resource, _] := split(name, ":")
	not catalogue.resources[resource]
}
