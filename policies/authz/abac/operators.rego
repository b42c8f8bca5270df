package authz.abac

# Whether the result of a comparison is the wanted one. A value that is missing, null (of another type) or not
# comparable makes the result undefined, so neither the comparison nor its opposite holds.
_holds(leaf, attrs) if _outcome(leaf, attrs) == leaf.w

_outcome(leaf, attrs) := _verdict(leaf.o, value, _operand(leaf, attrs)) if {
	value := attrs[leaf.k]
	value != null
} else := _presence(leaf, attrs) if leaf.o == "exists"

_presence(leaf, attrs) if {
	attrs[leaf.k] != null
} else := false if object.get(attrs, leaf.k, false) == false

_operand(leaf, attrs) := value if {
	value := leaf.v
	value != null
} else := value if {
	value := attrs[leaf.f]
	value != null
} else := [attrs[leaf.e[0]], attrs[leaf.e[1]]]

# One chain of else, ordered by cost and use: of separate rules, all would be tried.
_verdict(operator, value, operand) := _equal(value, operand) if {
	operator == "eq"
} else := _element(value, operand) if {
	operator == "in"
} else := _less(value, operand) if {
	operator == "lt"
} else := _at_most(value, operand) if {
	operator == "lte"
} else := _between(value, operand) if {
	operator == "between"
} else := _element(operand, value) if {
	operator == "has"
} else := _verdict_on_texts(operator, value, operand)

_verdict_on_texts(operator, value, operand) := startswith(value, operand) if {
	operator == "starts_with"
} else := endswith(value, operand) if {
	operator == "ends_with"
} else := contains(value, operand) if {
	operator == "contains"
} else := _in_networks(value, operand) if {
	operator == "cidr"
} else := regex.match(operand, value) if {
	operator == "matches"
} else := _verdict_on_lists(operator, value, operand)

_verdict_on_lists(operator, value, operand) := _overlap(value, operand) if {
	operator == "overlaps"
} else := _subset(operand, value) if {
	operator == "includes"
} else := _subset(value, operand) if {
	operator == "subset"
}

_equal(value, operand) if {
	value == operand
} else := false if type_name(value) == type_name(operand)

_less(value, operand) := value < operand if {
	is_number(value)
	is_number(operand)
}

_at_most(value, operand) := value <= operand if {
	is_number(value)
	is_number(operand)
}

_between(value, ends) if {
	_at_most(ends[0], value)
	_at_most(value, ends[1])
} else := false if {
	is_number(value)
	is_number(ends[0])
	is_number(ends[1])
}

_element(value, list) := value in list if is_array(list)

_overlap(one, other) if {
	is_array(one)
	is_array(other)
	some value in one
	value in other
} else := false if {
	is_array(one)
	is_array(other)
}

_subset(part, whole) if {
	is_array(part)
	is_array(whole)
	every value in part {
		value in whole
	}
} else := false if {
	is_array(part)
	is_array(whole)
}

# Addresses and networks come from the host in canonical form: a malformed network would contain every address.
_in_networks(address, networks) if {
	is_string(address)
	is_array(networks)
	some network in networks
	net.cidr_contains(network, address)
} else := false if {
	is_string(address)
	is_array(networks)
}
