-- A call of the API by an application reads its grant, in the name of the person.
grant select (id, kind, user_id, client_id, session_id, payload) on oauth_models to bailiwick_api;
create index oauth_models_by_id on oauth_models (id) where id is not null;
