-- Tokens that are bound to a key of their client (RFC 9449).
alter table oauth_clients add column dpop_bound boolean not null default false;
comment on column oauth_clients.dpop_bound is 'It gets no token without a proof of its key (RFC 9449)';
