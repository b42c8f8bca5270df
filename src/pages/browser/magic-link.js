// For a link that an application of this origin, or the console, asked for: docs/how-to/log-in-by-mail.md.

const askedKey = 'bailiwick-magic-link'
const ofConsole = 'console:'
const form = document.querySelector('form')
const status = document.querySelector('[role=status]')

// Relative to the page, because the service can stand below a path of its host.
const addressOf = (path) => new URL(path, form.action)

const post = (path, body, headers) =>
  fetch(addressOf(path), {
    method: 'POST',
    headers: { 'Content-Type': 'application/json', ...headers },
    body: JSON.stringify(body),
  })

const confirm = (token, asked) =>
  asked.startsWith(ofConsole)
    ? post(
        'console/api/auth/magic-link/confirm/',
        { token, nonce: asked.slice(ofConsole.length) },
        { 'X-Bailiwick-Console': '1' },
      )
    : post('api/v1/auth/magic-link/confirm/', { token, nonce: asked })

/** Confirms the link, and tells the page that waits. Gives the name of what to say. */
async function use(token, asked) {
  const response = await confirm(token, asked).catch(() => new Response(null, { status: 503 }))
  const answer = await response.json().catch(() => ({}))
  if (!response.ok) return ['token_invalid', 'token_expired'].includes(answer.code) ? 'dead' : 'wrong'
  localStorage.removeItem(askedKey)
  if (asked.startsWith(ofConsole)) {
    new BroadcastChannel('bailiwick').postMessage('changed')
    location.replace(addressOf('console/'))
  } else new BroadcastChannel(askedKey).postMessage(answer)
  return 'done'
}

form.addEventListener('submit', async (event) => {
  const asked = localStorage.getItem(askedKey)
  if (!asked) return
  event.preventDefault()
  const button = form.querySelector('button')
  button.disabled = true
  const outcome = await use(form.elements.token.value, asked)
  status.textContent = status.dataset[outcome]
  button.disabled = outcome !== 'wrong'
})
