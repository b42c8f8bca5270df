-- The few whose account is switched off: lists of active people leave these out, in place of asking each of the others.
create index users_inactive on users (id) where not is_active;
