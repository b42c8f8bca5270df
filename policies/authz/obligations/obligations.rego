# METADATA
# title: Obligations
# description: What the policies demand of the answer, each kind of demand once and the strictest.
package authz.obligations

# METADATA
# title: Merged
# description: >-
#   The obligations of several policies: one mask of all fields, one step-up with the shortest age and the highest
#   class, and other types unchanged.
merged(policies) := [] if {
	count(policies) == 0
} else := _merged({obligation |
	some policy in policies
	some obligation in policy.obligations
})

_merged(all) := array.concat(_masks(all), array.concat(_step_ups(all), [obligation |
	some obligation in all
	not _merged_types[obligation.type]
]))

# Types that are merged into one.
_merged_types := {"mask_fields": true, "step_up": true}

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

# A demand without a class requires a second factor.
_strongest(demands) := {} if {
	every demand in demands {
		not demand.acr
	}
} else := {"acr": "aal1"} if {
	every demand in demands {
		demand.acr == "aal1"
	}
} else := {"acr": "aal2"}
