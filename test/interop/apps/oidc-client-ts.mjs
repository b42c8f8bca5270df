// A single-page app. It needs a browser.
import { readFile } from 'node:fs/promises'
import { createServer } from 'node:http'

const { ISSUER, CLIENT_ID, PORT } = process.env
const library = new URL('node_modules/oidc-client-ts/dist/browser/oidc-client-ts.min.js', import.meta.url)
const page = `<!doctype html><title>App</title><script src="/library.js"></script><script type="module">
const users = new oidc.UserManager({
  authority: '${ISSUER}',
  client_id: '${CLIENT_ID}',
  redirect_uri: 'http://127.0.0.1:${PORT}/callback',
  scope: 'openid profile email offline_access',
})
window.users = users
if (location.pathname === '/sign-in') await users.signinRedirect()
else {
  const { profile } = await users.signinCallback()
  const renewed = await users.signinSilent()
  document.body.textContent = JSON.stringify({ ...profile, renewed: renewed.profile.sub === profile.sub })
}
</script><body></body>`

createServer(async (request, response) => {
  const isLibrary = request.url === '/library.js'
  response.setHeader('content-type', isLibrary ? 'text/javascript' : 'text/html')
  response.end(isLibrary ? await readFile(library) : page)
}).listen(PORT, '127.0.0.1')
