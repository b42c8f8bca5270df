import type { WritePage } from '../../pages/sign-in/write-page.ts'
import { html } from '../../text/html.ts'
import type { OidcContext } from '../provider-types.ts'

/** What the library leaves to us of the device flow (RFC 8628): the pages at its end, and where the device asked from. */
export const deviceFlow = (writePage: WritePage) => ({
  enabled: true,
  charset: 'base-20' as const,
  mask: '****-****',
  deviceInfo: (ctx: unknown) => {
    const { ip, userAgent } = (ctx as OidcContext).state.requestInfo
    return { ip, userAgent }
  },
  async successSource(ctx: unknown): Promise<void> {
    await writePage(ctx as OidcContext, ({ texts: { device } }) => ({
      title: device.connected,
      content: html`<p>${device.goBack}</p>`,
    }))
  },
  /** The request of a device ended: its person refused, or it is over. */
  async userCodeInputSource(ctx: unknown, _form: string, _out?: unknown, error?: Error): Promise<void> {
    const isRefused = error?.name === 'AbortedError'
    await writePage(
      ctx as OidcContext,
      ({ texts: { device } }) => ({
        title: isRefused ? device.refused : device.over,
        content: html`<p>${isRefused ? device.nothingGiven : device.beginAgain}</p>`,
      }),
      isRefused ? 200 : 400,
    )
  },
})
