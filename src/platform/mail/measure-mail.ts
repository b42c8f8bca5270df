import type { Metrics } from '../metrics/metrics.ts'
import type { MailTransport } from './transport.ts'

/** The same transport, whose attempts are counted. */
export const measureMail = (mail: MailTransport, metrics: Metrics): MailTransport => ({
  ...mail,
  async send(letter) {
    try {
      await mail.send(letter)
      metrics.mailEnded('sent')
    } catch (error) {
      metrics.mailEnded('failed')
      throw error
    }
  },
})
