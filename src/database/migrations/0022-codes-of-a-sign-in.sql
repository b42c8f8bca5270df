-- A code sent by e-mail is good in the sign-in that asked for it, and in no other (ASVS v5.0.0-6.6.2).
alter table otp_email_codes add column sign_in_id uuid;
comment on column otp_email_codes.sign_in_id is
  'The session, or the sign-in waiting for a second factor, that asked for the code; null in rows of the release before, which live for minutes';
