-- People see which of their sessions a browser keeps by a cookie of the service, and which a client by its tokens.
alter table sessions add column kind text not null default 'token' check (kind in ('token', 'browser'));
comment on column sessions.kind is 'token: its client has the tokens; browser: a cookie of the pages or the console stands for it';
