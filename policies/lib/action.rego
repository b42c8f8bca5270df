package lib

import data.catalogue

# METADATA
# title: Action
# description: >-
#   What the catalogue says of an action: of the service's own by its name, of an application's the same for all.
#   Undefined for an unknown verb of the service.
action(name, application) := catalogue.actions[name] if {
	application == false
} else := catalogue.application if {
	application
	[resource, _] := split(name, ":")
	not catalogue.resources[resource]
}
