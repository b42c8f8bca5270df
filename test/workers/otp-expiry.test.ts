import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { otpExpiry, sweep, swept } from '../../workers/otp-expiry.ts'
import { openStage, until, usualBackends } from './stage.ts'

const day = 86_400_000
const at = (ms: number) => `'${new Date(ms).toISOString()}'`

t.test('expired rows are deleted in batches, and others stay', async (t) => {
  const { deps, root, rows, tenant } = await openStage(t)
  const now = Date.now()
  const user = '019a1b2c-3d4e-7f50-8a6b-7c8d9e0f1a2b'
  await root.query(`
    insert into users (id, email, password_hash, email_verified_at, date_joined, updated_at) values ('${user}', 'a@example.com', '', now(), now(), now());
    insert into otp_devices (user_id, id, type, name, created_at, confirmed_at) values ('${user}', gen_random_uuid(), 'email', 'E-mail', now(), now());
    insert into otp_email_codes (user_id, id, device_id, code_hash, created_at, expires_at)
      select '${user}', gen_random_uuid(), (select id from otp_devices), '', now(), expires from
        (select ${at(now - 1)}::timestamptz as expires from generate_series(1, 2500) union all select ${at(now + 60_000)}) e;
    insert into passkey_challenges (challenge, purpose, expires_at) values ('a', 'sign_in', ${at(now - 1)}), ('b', 'sign_in', ${at(now + 60_000)});
    insert into pending_sessions (id, user_id, tenant_id, auth_time, created_at, expires_at)
      values (gen_random_uuid(), '${user}', '${tenant}', now(), now(), ${at(now - 1)}), (gen_random_uuid(), '${user}', '${tenant}', now(), now(), ${at(now + 60_000)});
    insert into link_tokens (id, purpose, user_id, tenant_id, email, token_hash, created_at, expires_at)
      values (gen_random_uuid(), 'password_reset', '${user}', '${tenant}', '', 'a', now(), ${at(now - 31 * day)}), (gen_random_uuid(), 'password_reset', '${user}', '${tenant}', '', 'b', now(), ${at(now - day)});
    insert into sessions (id, user_id, tenant_id, acr, amr, auth_time, created_at, last_used_at, expires_at, ended_at)
      select gen_random_uuid(), '${user}', '${tenant}', 'aal1', '{pwd}', now(), now(), now(), expires, ended from (values
        (${at(now + day)}::timestamptz, ${at(now - 31 * day)}::timestamptz), (${at(now - 31 * day)}, null), (${at(now + day)}, ${at(now - day)}), (${at(now + day)}, null)) s (expires, ended);
    insert into refresh_families (id, session_id, user_id, tenant_id, generation, jti_hash, created_at, rotated_at, expires_at)
      select gen_random_uuid(), id, user_id, tenant_id, 0, id::text::bytea, now(), now(), now() from sessions;
    insert into browser_sessions (id, kind, cookie_hash, checked_until, created_at, expires_at)
      values (gen_random_uuid(), 'console', 'a', now(), now(), ${at(now - 1)}), (gen_random_uuid(), 'login', 'b', now(), now(), ${at(now + 60_000)});
    insert into api_keys (tenant_id, id, membership_id, user_id, name, key_hash, created_by, created_at, expires_at, revoked_at)
      select '${tenant}', gen_random_uuid(), gen_random_uuid(), '${user}', 'Key', sha256(''), '${user}', now(), expires, revoked from (values
        (${at(now - 31 * day)}::timestamptz, null::timestamptz), (${at(now + day)}, ${at(now - 31 * day)}), (${at(now - day)}, null)) k (expires, revoked);
    insert into oauth_models (id_hash, kind, tenant_id, client_id, payload, created_at, expires_at)
      select sha256(kind::bytea), 'Interaction', '${tenant}', gen_random_uuid(), '{}', now(), expires from (values
        ('a', ${at(now - 1)}::timestamptz), ('b', ${at(now + 60_000)})) m (kind, expires);
    insert into federation_flows (id, provider, step, state_hash, browser_hash, kept_sealed, created_at, expires_at)
      select gen_random_uuid(), 'google', 'begun', sha256(kind::bytea), '', '', now(), expires from (values
        ('a', ${at(now - 1)}::timestamptz), ('b', ${at(now + 60_000)})) f (kind, expires);
    insert into notice_windows (recipient, kind, ends_at, notices)
      values ('', 'a', ${at(now - 2 * day)}, 1), ('', 'a', ${at(now - day / 2)}, 1);
    insert into otp_attempts (user_id, recent, in_a_row, last_at) values ('${user}', '{}', 3, ${at(now - 2 * day)})`)
  t.strictSame(await sweep(deps), {
    email_codes: 2500,
    passkey_challenges: 1,
    pending_sessions: 1,
    browser_sessions: 1,
    link_tokens: 1,
    api_keys: 2,
    sessions: 2,
    otp_attempts: 1,
    federation_flows: 1,
    oauth_models: 1,
    idempotency_keys: 0,
    notice_windows: 1,
  })
  const left =
    await rows(`select (select count(*)::int from otp_email_codes) as codes, (select count(*)::int from pending_sessions) as pending,
    (select count(*)::int from link_tokens) as links, (select count(*)::int from sessions) as sessions, (select count(*)::int from refresh_families) as families`)
  t.strictSame(left, [{ codes: 1, pending: 1, links: 1, sessions: 2, families: 2 }])
  t.strictSame(
    Object.values(await sweep(deps)).filter((count) => count > 0),
    [],
  )
})

for (const { kind, skip } of usualBackends)
  t.test(`on ${kind} several processes share one schedule, which survives them`, { skip }, async (t) => {
    const { deps, openBackend } = await openStage(t, { kind })
    const runs: number[] = []
    const clock = () => {
      runs.push(performance.now())
      return Date.now()
    }
    const steps = Object.keys(swept).length // a run reads the clock once per table when there is nothing to delete
    const every = 500
    const begin = async () => {
      const backend = openBackend()
      const running = await otpExpiry.start({ ...deps, clock }, backend, every)
      return async () => {
        await running.stop()
        await backend.close()
      }
    }
    const stops = await Promise.all([begin(), begin(), begin()])
    await until(() => runs.length >= 10 * steps)
    const [first = 0] = runs
    const took = performance.now() - first
    t.ok(runs.length / steps <= took / every + 4, `${runs.length / steps} runs in ${Math.round(took)} ms`)
    for (const stop of stops) await stop()
    const before = runs.length
    await sleep(2 * every)
    t.equal(runs.length, before, 'without a process nothing runs')
    const stop = await begin()
    await until(() => runs.length >= before + 2 * steps)
    await stop()
  })
