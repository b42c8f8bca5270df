-- Applications push their requests (RFC 9126), and prove who they are with keys of their own (RFC 7523).
alter table oauth_clients add column require_par boolean not null default false;
alter table oauth_clients add column jwks jsonb;
alter table oauth_clients add column jwks_uri text;
comment on column oauth_clients.require_par is 'Requests that were not pushed are refused (RFC 9126)';
comment on column oauth_clients.jwks is 'The public keys of private_key_jwt (RFC 7517)';
comment on column oauth_clients.jwks_uri is 'Where these keys are instead';
alter table oauth_clients drop constraint oauth_clients_token_endpoint_auth_method_check;
alter table oauth_clients add constraint oauth_clients_token_endpoint_auth_method_check
  check (token_endpoint_auth_method in ('client_secret_basic', 'client_secret_post', 'private_key_jwt', 'none'));
alter table oauth_clients add constraint oauth_clients_keys_of_method
  check (num_nonnulls(jwks, jwks_uri) = (token_endpoint_auth_method = 'private_key_jwt')::integer);

-- A pushed request has no person yet, and a used assertion never one.
alter table oauth_models drop constraint oauth_models_kind_check;
alter table oauth_models add constraint oauth_models_kind_check
  check (kind in ('AccessToken', 'AuthorizationCode', 'Consent', 'Grant', 'Interaction', 'PushedAuthorizationRequest',
                  'RefreshToken', 'ReplayDetection'));
alter table oauth_models drop constraint oauth_models_check;
alter table oauth_models add constraint oauth_models_of_person
  check (kind in ('Interaction', 'PushedAuthorizationRequest', 'ReplayDetection') or user_id is not null);
alter table oauth_models drop constraint oauth_models_check1;
alter table oauth_models add constraint oauth_models_of_grant
  check (kind in ('Interaction', 'Consent', 'PushedAuthorizationRequest', 'ReplayDetection')
         or (session_id is not null and grant_id is not null));
