import type { Config } from '../../config.ts'
import { ApiError } from '../../platform/errors.ts'

/** The kinds of devices, in the order in which a code is tried. */
export const deviceTypes = ['totp', 'email', 'static'] as const
export type DeviceType = (typeof deviceTypes)[number]

export const channelDisabled = () =>
  new ApiError(403, 'channel_disabled', 'This way of showing a second factor is switched off here.')

/** The channels in force. */
export const channelsOn = (config: Config): readonly DeviceType[] => {
  const on = {
    totp: config.OTP_TOTP_ENABLED,
    email: config.OTP_EMAIL_ENABLED,
    static: config.OTP_STATIC_ENABLED,
  }
  return config.OTP_ENABLED ? deviceTypes.filter((type) => on[type]) : []
}

/** Throws 403 `channel_disabled` where the channel is off. */
export function assertChannelOn(config: Config, type: DeviceType): void {
  if (!channelsOn(config).includes(type)) throw channelDisabled()
}

/** A code as it was sent, in the forms that channels know; null for a form that a code does not have. */
export interface PresentedCode {
  digits: string | null
  recovery: string | null
}

/**
 * Reads a code: spaces never count, and neither do case and dashes of a recovery code. Sets made before 0.2.0 have
 * recovery codes of 16 characters.
 */
export function readCode(text: string): PresentedCode {
  const plain = text.replaceAll(' ', '')
  const recovery = plain.replaceAll('-', '')
  return {
    digits: /^[0-9]{6}$/.test(plain) ? plain : null,
    recovery: /^(?:[A-Za-z2-7]{16}|[A-Za-z2-7]{24})$/.test(recovery) ? recovery.toUpperCase() : null,
  }
}

/** Those of the channels for which this could be a code. */
export const channelsOfForm = (code: PresentedCode, channels: readonly DeviceType[]) =>
  channels.filter((type) => (type === 'static' ? code.recovery : code.digits) !== null)

/** 400 in the body of which `field` (`verified`, `confirmed`) is false, so that reading either fails closed. */
export const otpInvalid = (field: 'verified' | 'confirmed') =>
  new ApiError(400, 'otp_invalid', 'This code is not valid: it is wrong, expired, or was used.', {
    members: { [field]: false },
  })
