import type { BrowserContext, Page } from 'playwright-core'

/** The most that a picture of the documents has. */
export const maxBytes = 60_000

/** A picture of what a page shows, of 60 kB at most where that can be. */
export async function pictureOf(context: BrowserContext, page: Page): Promise<Buffer> {
  const devtools = await context.newCDPSession(page)
  try {
    for (const quality of [85, 70, 55]) {
      const { data } = await devtools.send('Page.captureScreenshot', { format: 'webp', quality })
      const picture = Buffer.from(data, 'base64')
      if (picture.length <= maxBytes || quality === 55) return picture
    }
    throw new Error('There is no picture')
  } finally {
    await devtools.detach()
  }
}
