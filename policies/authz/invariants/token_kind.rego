package authz.invariants

# The temporary token of an unfinished sign-in is valid for the second factor only.
denials contains "otp_required" if {
	not _token_accepted
	not _is_key
	not _is_impersonation
	not _is_application
}

# What people do themselves takes a session, and a key makes no other keys.
denials contains "key_not_allowed" if {
	not _token_accepted
	_is_key
}

# Who acts as another member can do what a key can.
denials contains "impersonation_not_allowed" if {
	not _token_accepted
	_is_impersonation
}

# An application can do for a person what a key can.
denials contains "application_not_allowed" if {
	not _token_accepted
	_is_application
}

# An application does what its token names, and nothing else: the scopes limit also what needs no permission.
denials contains "scope_missing" if {
	_is_application
	not input.subject.session.in_scope
}

# A key with scopes permits only what they name. Scopes are permissions: they do not limit what needs none.
denials contains "scope_missing" if {
	_is_key
	_action.permission
	not input.subject.session.in_scope
	not _needs_no_scope
}

# A key can ask what it may do itself: the answer keeps within its scopes. In the route phase the question is not known yet.
default _needs_no_scope := false

_needs_no_scope if {
	_action.unscoped
	input.phase == "route"
} else if {
	_action.unscoped
	input.resource.owner_id == input.subject.id
}

default _is_key := false

_is_key if input.subject.session.token == "key"

default _is_impersonation := false

_is_impersonation if input.subject.session.token == "impersonation"

default _is_application := false

_is_application if input.subject.session.token == "oauth"

default _token_accepted := false

_token_accepted if _action.tokens[input.subject.session.token]

# Without a session, only an application's question is complete (see incomplete_input.rego).
_token_accepted if is_null(input.subject.session)
