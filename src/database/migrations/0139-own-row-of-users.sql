-- In the scope of a tenant, the API role sees its caller's own row of users and no other: a tenant reads people from `memberships`.
drop policy fellow_members on users;
