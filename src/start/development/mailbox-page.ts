import { type Html, html } from '../../text/html.ts'
import type { CapturedMail } from './mailbox.ts'

/** The style of {@link mailboxPage}, served at /dev/mailbox.css. */
export const mailboxStyle = `
:root { color-scheme: light dark; font: 16px/1.5 system-ui, sans-serif }
body { max-width: 46rem; margin: 2rem auto; padding: 0 1rem }
h1 { font-size: 1.4rem }
article { border: 1px solid #8886; border-radius: .5rem; padding: 1rem; margin: 1rem 0 }
h2 { font-size: 1.1rem; margin: 0 }
header p { margin: 0; color: #777 }
pre { white-space: pre-wrap; overflow-wrap: anywhere; font: inherit }
iframe { width: 100%; height: 40rem; border: 1px solid #8886 }
`

/** The captured mails as an HTML page: newest first, links in the text clickable, the HTML version in a sandbox. */
export function mailboxPage(mails: readonly CapturedMail[]): string {
  const list =
    mails.length > 0
      ? mails.map(article)
      : [html`<p>No mail yet. Development shows mails here instead of sending them.</p>`]
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>Mailbox (${String(mails.length)})</title>
<link rel="stylesheet" href="/dev/mailbox.css">
</head>
<body>
<h1>Mailbox</h1>
<main>
${list}
</main>
</body>
</html>
`.source
}

const article = (mail: CapturedMail): Html => html`<article>
<header>
<h2>${mail.subject}</h2>
<p>To ${mail.to}, from ${mail.from}, <time datetime="${mail.created_at}">${mail.created_at}</time></p>
</header>
<pre>${linked(mail.text)}</pre>
<details><summary>As HTML</summary><iframe loading="lazy" sandbox="allow-popups" title="HTML of this mail" srcdoc="${mail.html}"></iframe></details>
</article>
`

/** Makes each line that is a URL a link. */
const linked = (text: string): Html[] =>
  text
    .split('\n')
    .map((line) =>
      /^https?:\/\/\S+$/.test(line)
        ? html`<a href="${line}" rel="noreferrer">${line}</a>\n`
        : html`${line}\n`,
    )
