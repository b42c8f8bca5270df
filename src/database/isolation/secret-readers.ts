/** The run-time roles that can read columns with password hashes, token hashes and encrypted secrets. */
export const secretReaders: Record<string, string[]> = {
  'api_keys.key_hash': ['bailiwick_system'],
  'browser_sessions.cookie_hash': ['bailiwick_system'],
  'application_tokens.token_hash': ['bailiwick_system'],
  // The API shows what it seals, and workers seal it again and find erased people in it.
  'connection_sign_ins.claims_sealed': ['bailiwick_api', 'bailiwick_worker'],
  'connections.client_secret_sealed': ['bailiwick_system'],
  'federation_flows.answer_sealed': ['bailiwick_system'],
  'federation_flows.asserted_sealed': ['bailiwick_system'],
  'federation_flows.browser_hash': ['bailiwick_system'],
  'federation_flows.kept_sealed': ['bailiwick_system'],
  'federation_flows.mail_hash': ['bailiwick_system'],
  'federation_flows.state_hash': ['bailiwick_system'],
  // The API opens it for the caller of the first call only, and workers seal it again.
  'idempotency_keys.answer_sealed': ['bailiwick_api', 'bailiwick_worker'],
  'invitations.token_hash': ['bailiwick_system'],
  'link_tokens.token_hash': ['bailiwick_system'],
  'mails.content_sealed': ['bailiwick_worker'],
  'manifest_client_secrets.secret_hash': ['bailiwick_api', 'bailiwick_system'],
  'manifest_webhooks.previous_secret_sealed': ['bailiwick_system', 'bailiwick_worker'],
  'manifest_webhooks.secret_sealed': ['bailiwick_system', 'bailiwick_worker'],
  // The API looks a client up within its tenant; the system role together with a code or token.
  'oauth_client_secrets.secret_hash': ['bailiwick_api', 'bailiwick_system'],
  'oauth_models.id_hash': ['bailiwick_system', 'bailiwick_worker'],
  'oauth_models.user_code_hash': ['bailiwick_system'],
  'otp_devices.secret_sealed': ['bailiwick_system'],
  'otp_email_codes.code_hash': ['bailiwick_system'],
  'otp_recovery_codes.code_hash': ['bailiwick_system'],
  'refresh_families.jti_hash': ['bailiwick_system'],
  'id_token_keys.private_jwk_sealed': ['bailiwick_system'],
  'signing_keys.private_jwk_sealed': ['bailiwick_system'],
  'users.password_hash': ['bailiwick_system'],
  // The API stores calls; a worker process with the API's role carries them out, and every worker seals them again.
  'stored_calls.call_sealed': ['bailiwick_api', 'bailiwick_worker'],
  'webhooks.previous_secret_sealed': ['bailiwick_worker'],
  // The API copies it to previous_secret_sealed, and decrypts neither.
  'webhooks.secret_sealed': ['bailiwick_api', 'bailiwick_worker'],
}
