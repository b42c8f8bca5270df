-- The decision that permits a change is logged in the transaction of the change.
grant insert on decisions to bailiwick_api;
