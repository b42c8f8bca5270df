-- Whether a person took part in a tenant before the first proof of their address: then another person did.
grant select (first_proof_at) on users to bailiwick_api;
