package authz.invariants

# The temporary token of an unfinished login opens the second factor and nothing else.
denials contains "otp_required" if not _token_accepted

default _token_accepted := false

_token_accepted if _action.tokens[input.subject.session.token]

# Complete without a session is only the question of an application about somebody.
_token_accepted if is_null(input.subject.session)
