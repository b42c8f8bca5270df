-- The name `oauth` is now that of the service: the action `oauth:authorize` lets a person use an application.
comment on table oauth_clients is 'Applications that sign people in (OpenID Connect), each of one tenant; policies decide who may use them';
