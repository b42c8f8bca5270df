const form = document.querySelector('form')
const button = form.querySelector('button')
const status = form.querySelector('[role=status]')
const token = new URLSearchParams(window.location.search).get('token')

// The token is for one use by one person: not for the history, a bookmark or a look over the shoulder.
window.history.replaceState(null, '', window.location.pathname)

function say(outcome, sentence) {
  status.dataset.outcome = outcome
  status.textContent = sentence
}

/** Gives undefined on success, else the sentence that says what is wrong. */
async function post() {
  const body = JSON.stringify({ ...Object.fromEntries(new FormData(form)), token })
  const headers = { 'Content-Type': 'application/json' }
  const answer = await fetch(form.dataset.post, { method: 'POST', headers, body })
  if (answer.ok) return undefined
  const problem = await answer.json().catch(() => ({}))
  return problem.detail ?? 'The service did not say what is wrong. Try again in a moment.'
}

form.addEventListener('submit', async (event) => {
  event.preventDefault()
  button.disabled = true
  say('pending', 'One moment …')
  const wrong = await post().catch(
    () => 'The service cannot be reached. Check your connection and try again.',
  )
  button.disabled = wrong === undefined
  if (wrong) say('refused', wrong)
  else say('done', form.dataset.done)
})

if (token) button.disabled = false
else say('refused', 'This link is not complete. Open it from the mail again.')
