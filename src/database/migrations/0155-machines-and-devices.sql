-- Clients to which no browser returns: a machine acts as a service account, and a device shows a code that a person enters elsewhere.
alter table oauth_clients drop constraint oauth_clients_kind_check;
alter table oauth_clients add constraint oauth_clients_kind_check
  check (kind in ('web', 'spa', 'native', 'machine', 'device'));
alter table oauth_clients drop constraint oauth_clients_redirect_uris_check;
alter table oauth_clients add constraint oauth_clients_redirect_uris_check
  check (cardinality(redirect_uris) <= 50 and (cardinality(redirect_uris) > 0) = (kind not in ('machine', 'device')));
alter table oauth_clients add column service_account_id uuid;
comment on column oauth_clients.service_account_id is
  'Whom a machine acts as, without a foreign key: it is asked for at each use';
alter table oauth_clients add constraint oauth_clients_account_of_machine
  check ((kind = 'machine') = (service_account_id is not null));

-- The code of a device has no person until one enters the other code.
alter table oauth_models drop constraint oauth_models_kind_check;
alter table oauth_models add constraint oauth_models_kind_check
  check (kind in ('AccessToken', 'AuthorizationCode', 'Consent', 'DeviceCode', 'Grant', 'Interaction',
                  'PushedAuthorizationRequest', 'RefreshToken', 'ReplayDetection'));
alter table oauth_models drop constraint oauth_models_of_person;
alter table oauth_models add constraint oauth_models_of_person
  check (kind in ('DeviceCode', 'Interaction', 'PushedAuthorizationRequest', 'ReplayDetection') or user_id is not null);
alter table oauth_models drop constraint oauth_models_of_grant;
alter table oauth_models add constraint oauth_models_of_grant
  check (kind in ('Consent', 'DeviceCode', 'Interaction', 'PushedAuthorizationRequest', 'ReplayDetection')
         or (session_id is not null and grant_id is not null));
alter table oauth_models add column user_code_hash bytea;
-- With its name: Citus would choose another.
alter table oauth_models add constraint oauth_models_user_code_hash_key unique (user_code_hash);
alter table oauth_models add column polled_at timestamptz;
comment on column oauth_models.user_code_hash is 'Of a device: a MAC of the code that a person enters';
comment on column oauth_models.polled_at is 'Of a device: when it last asked whether a person decided';
