/** What a browser brings back to us: by GET in the address, or by POST in the fields of a form. */
export interface Brought {
  url: URL
  form: URLSearchParams | null
}

/**
 * Signs in through the pages of a provider as a browser without scripts does, from `start` to what leads to our `origin`. Fills
 * `fields` into the forms that have them.
 */
export async function answerOfPages(
  start: string,
  origin: string,
  fields: Record<string, string>,
): Promise<Brought> {
  const cookies = new Map<string, string>()
  let brought: Brought = { url: new URL(start), form: null }
  for (let step = 0; step < 15; step++) {
    const { url, form } = brought
    if (url.origin === origin) return brought
    const page = await fetch(url, {
      ...(form && { method: 'POST', body: form }),
      redirect: 'manual',
      headers: { Cookie: [...cookies].map((pair) => pair.join('=')).join('; ') },
    })
    for (const line of page.headers.getSetCookie()) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(line)!
      cookies.set(name, value)
    }
    const text = await page.text()
    const to = page.headers.get('location')
    const next = to ? { action: to, form: null } : formIn(text)
    if (!next) throw new Error(`${url} answered ${page.status}: ${text}`)
    for (const [name, value] of Object.entries(fields)) if (next.form?.has(name)) next.form.set(name, value)
    brought = { url: new URL(next.action || url, url), form: next.form }
  }
  throw new Error(`${start} does not end`)
}

const unescaped = (text: string) =>
  text
    .replace(/&#x([0-9a-f]+);/gi, (_, code: string) => String.fromCodePoint(Number.parseInt(code, 16)))
    .replaceAll('&quot;', '"')
    .replaceAll('&amp;', '&')

const attributeIn = (tag: string, name: string) =>
  unescaped(new RegExp(`\\b${name}="([^"]*)"`).exec(tag)?.[1] ?? '')

function formIn(page: string) {
  const [, attributes, content] = /<form([^>]*method="post"[^>]*)>(.*?)<\/form>/is.exec(page) ?? []
  if (attributes === undefined || content === undefined) return null
  const inputs = content.match(/<input[^>]*>/gi) ?? []
  const fields = inputs.map((tag): [string, string] => [attributeIn(tag, 'name'), attributeIn(tag, 'value')])
  return {
    action: attributeIn(attributes, 'action'),
    form: new URLSearchParams(fields.filter(([name]) => name !== '')),
  }
}
