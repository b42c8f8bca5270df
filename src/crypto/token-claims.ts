import { z } from 'zod'

// A signature proves who made a token, not that its claims have the form that the code relies on: a key can be shared
// with another issuer, or stolen. So each claim is validated, and a token that does not fit is refused.

const uuid = z.uuid()
const seconds = z.int().min(0)

const common = {
  sub: uuid,
  sid: uuid,
  tenant_id: uuid,
  jti: z.string().regex(/^[\w-]{1,64}$/),
  iat: seconds,
  exp: seconds,
}

const { sid: _sid, ...withoutSession } = common
const ofApplication = {
  ...withoutSession,
  client_id: z.string().regex(/^bwa_[0-9A-Za-z]{44}$/),
  scope: z.string().default(''),
  /** The key that the token is bound to (RFC 9449 §6.1). */
  cnf: z.object({ jkt: z.string() }).optional(),
}

/**
 * The claims that the code reads from each kind of token; others are dropped. `typ` and `token_type` both name the
 * kind, and no consumer accepts another kind (RFC 8725 §3.11).
 */
export const claimsSchema = {
  access: z.object({
    ...common,
    token_type: z.literal('access'),
    user_id: uuid,
    /** The refresh family that it was issued with; absent in tokens of release 0.1. */
    fid: uuid.optional(),
    /** Absent if another member acts as the person: an application could take the address for a proof. */
    email: z.string().optional(),
    roles: z.array(z.string()).readonly(),
    auth_time: seconds,
    acr: z.enum(['aal1', 'aal2']),
    amr: z.array(z.string()).readonly(),
    /** Who acts as the subject (RFC 8693 §4.1). The session is theirs. */
    act: z.object({ sub: uuid }).optional(),
  }),
  refresh: z.object({
    ...common,
    token_type: z.literal('refresh'),
    /** The family, and the generation within it. */
    fid: uuid,
    gen: z.int32().min(0),
  }),
  otp_pending: z.object({ ...common, token_type: z.literal('otp_pending') }),
  /** Of an application (RFC 9068), for this API: the audience tells it from the others. The provider signs it. */
  oauth: z.object({
    ...ofApplication,
    /** The grant that its person gave; absent in a token of a machine. */
    gid: uuid.optional(),
    auth_time: seconds.optional(),
    acr: z.enum(['aal1', 'aal2']).optional(),
    amr: z.array(z.string()).readonly().optional(),
  }),
  /** Of a machine, for any resource. No API takes a token because it is one. */
  machine: z.object({ ...ofApplication, aud: z.string(), gid: z.undefined().optional() }),
}

export type TokenKind = keyof typeof claimsSchema

/** The claims of one kind of token, without those that the signer adds. Times are whole seconds (RFC 7519 §2). */
export type ClaimsOf<Kind extends TokenKind> = Omit<z.output<(typeof claimsSchema)[Kind]>, 'token_type'>
