package authz.invariants

# The temporary token of an unfinished sign-in is valid for the second factor only.
denials contains "otp_required" if not _token_accepted

default _token_accepted := false

_token_accepted if _action.tokens[input.subject.session.token]

# Without a session, only an application's question is complete (see incomplete_input.rego).
_token_accepted if is_null(input.subject.session)
