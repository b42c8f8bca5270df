// For a link that an application of this origin asked for: docs/how-to/log-in-by-mail.md.

const askedKey = 'bailiwick-magic-link'
const form = document.querySelector('form')
const status = document.querySelector('[role=status]')

// Relative to the page, because the service can stand below a path of its host.
const addressOf = (path) => new URL(path, form.action)

const confirm = (token, nonce) =>
  fetch(addressOf('api/v1/auth/magic-link/confirm/'), {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify({ token, nonce }),
  })

/** Confirms the link, and tells the page that waits. Gives the name of what to say. */
async function use(token, asked) {
  const response = await confirm(token, asked).catch(() => new Response(null, { status: 503 }))
  const answer = await response.json().catch(() => ({}))
  if (!response.ok) return ['token_invalid', 'token_expired'].includes(answer.code) ? 'dead' : 'wrong'
  localStorage.removeItem(askedKey)
  new BroadcastChannel(askedKey).postMessage(answer)
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
