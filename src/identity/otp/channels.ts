import { ApiError } from '../../errors.ts'
import type { Config } from '../../settings/config.ts'
import type { Factors } from './store.ts'

/** The kinds of devices whose codes `otp/verify` takes, in the order in which it tries them. */
export const codeTypes = ['totp', 'email', 'static'] as const
export type CodeType = (typeof codeTypes)[number]

/** All kinds of devices, in the order in which a sign-in offers them. */
export const deviceTypes = ['passkey', ...codeTypes] as const
export type DeviceType = (typeof deviceTypes)[number]

export const channelDisabled = () =>
  new ApiError(403, 'channel_disabled', 'This way of showing a second factor is switched off here.')

/** The channels that the settings switch on. */
export const channelsOn = (config: Config): readonly DeviceType[] => {
  const on = {
    passkey: config.PASSKEYS_ENABLED,
    totp: config.OTP_TOTP_ENABLED,
    email: config.OTP_EMAIL_ENABLED,
    static: config.OTP_STATIC_ENABLED,
  }
  return config.OTP_ENABLED ? deviceTypes.filter((type) => on[type]) : []
}

/** Throws 403 `channel_disabled` if the channel is off. */
export function assertChannelOn(config: Config, type: DeviceType): void {
  if (!channelsOn(config).includes(type)) throw channelDisabled()
}

/** A code in the two forms that channels use; null for a form that it does not have. */
export interface PresentedCode {
  digits: string | null
  recovery: string | null
}

/**
 * Reads a code. Ignores spaces, and the case and dashes of a recovery code. Sets created before 0.2.0 have recovery
 * codes of 16 characters.
 */
export function readCode(text: string): PresentedCode {
  const plain = text.replaceAll(' ', '')
  const recovery = plain.replaceAll('-', '')
  return {
    digits: /^[0-9]{6}$/.test(plain) ? plain : null,
    recovery: /^(?:[A-Za-z2-7]{16}|[A-Za-z2-7]{24})$/.test(recovery) ? recovery.toUpperCase() : null,
  }
}

/** The channels that this could be a code of. */
export const channelsOfForm = (code: PresentedCode, channels: readonly CodeType[]) =>
  channels.filter((type) => (type === 'static' ? code.recovery : code.digits) !== null)

/** 400 whose body has `field` (`verified`, `confirmed`) as false, so that a client that reads only this fails closed. */
export const otpInvalid = (field: 'verified' | 'confirmed') =>
  new ApiError(400, 'otp_invalid', 'This code is not valid: it is wrong, expired, or was used.', {
    members: { [field]: false },
  })

/**
 * The channels by which a person can show a second factor now. Every person can use e-mail, even with an unverified
 * address, because a right code verifies it, except shortly after a reset by mail; recovery codes while some are left.
 * If a factor that counts is `demanded`, leaves out young factors, unless there are no others.
 */
export function usableMethods(config: Config, factors: Factors, demanded: boolean): DeviceType[] {
  const on = channelsOn(config)
  const has = {
    passkey: factors.passkey,
    totp: factors.totp,
    email: factors.mailed_codes_count,
    static: factors.recovery_codes > 0,
  }
  const counts = {
    passkey: factors.passkey_counts,
    totp: factors.totp_counts,
    email: has.email,
    static: has.static && factors.recovery_count,
  }
  const counting = on.filter((type) => counts[type])
  return demanded && counting.length > 0 ? counting : on.filter((type) => has[type])
}

/**
 * Whether a sign-in began with a link in a mail. Its methods are in the order in which they were shown. A code to the
 * same mailbox is no second factor in it.
 */
export const beganByMail = (amr: readonly string[]): boolean => amr[0] === 'email'

/** 403: a code to the mailbox by which the person signed in. */
export const mailboxShownAlready = () =>
  new ApiError(
    403,
    'channel_disabled',
    'You signed in by a link in a mail, so a code by mail is no second factor. Show another one, or sign in with your password.',
  )

/** Whether a person can enrol an app or a passkey between password and second factor: only while they have no other channel. */
export function canEnrolFirst(config: Config, factors: Factors): boolean {
  const on = channelsOn(config)
  const mailed = on.includes('email') && factors.address_proven
  const canEnrol = on.includes('totp') || on.includes('passkey')
  return !factors.totp && !factors.passkey && !mailed && factors.recovery_codes === 0 && canEnrol
}
