-- Undoing a change of address gives back what the account had proved before the change, and takes a password chosen since.
alter table link_tokens add column first_proof_at timestamptz;
comment on column link_tokens.first_proof_at is
  'Of a link that undoes a change of address: the first_proof_at that its person had before the change';

alter table users add column password_set_at timestamptz;
comment on column users.password_set_at is 'When the password was last changed or reset; null while it is that of the registration';
grant update (password_set_at) on users to bailiwick_system;
