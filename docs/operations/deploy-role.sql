-- The login `bailiwick_deploy`, which migrates and is no superuser: as a superuser, with its password in DEPLOY_PASSWORD. It
-- can run again, and on a database that a superuser has migrated before.
\getenv password DEPLOY_PASSWORD
select 'create role bailiwick_deploy login createrole'
  where not exists (select from pg_roles where rolname = 'bailiwick_deploy') \gexec
alter role bailiwick_deploy password :'password';
select format('alter database %I owner to bailiwick_deploy', current_database()) \gexec
select 'grant bailiwick_owner to bailiwick_deploy with admin option' from pg_roles where rolname = 'bailiwick_owner' \gexec
