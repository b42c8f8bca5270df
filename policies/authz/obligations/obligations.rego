# METADATA
# title: Obligations
# description: What the policies that were met demand of the answer, each demand once and the strictest.
package authz.obligations

# METADATA
# title: Merged
# description: >-
#   The obligations of several policies: one mask of all fields, one step up of the shortest age and the highest
#   class, any other type as it stands.
merged(policies) := [] if {
	count(policies) == 0
} else := _merged({obligation |
	some policy in policies
	some obligation in policy.obligations
})

_merged(all) := array.concat(_masks(all), array.concat(_step_ups(all), [obligation |
	some obligation in all
	not _strictest[obligation.type]
]))

# Of these the strictest stands for all.
_strictest := {"mask_fields": true, "step_up": true}

_masks(all) := [{"type": "mask_fields", "properties": {"fields": sort(fields)}} |
	fields := {field |
		some obligation in all
		obligation.type == "mask_fields"
		some field in obligation.properties.fields
	}
	count(fields) > 0
]

_step_ups(all) := [{"type": "step_up", "properties": object.union(_youngest(demands), _strongest(demands))}] if {
	demands := [obligation.properties | some obligation in all; obligation.type == "step_up"]
	count(demands) > 0
} else := []

_youngest(demands) := {"max_age": min(ages)} if {
	ages := {demand.max_age | some demand in demands}
	count(ages) > 0
} else := {}

# A demand that names no class asks for a second factor.
_strongest(demands) := {} if {
	every demand in demands {
		not demand.acr
	}
} else := {"acr": "aal1"} if {
	every demand in demands {
		demand.acr == "aal1"
	}
} else := {"acr": "aal2"}
