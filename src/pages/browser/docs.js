// Swagger UI of this service's own document, on its own origin.
const dark = window.matchMedia('(prefers-color-scheme: dark)')
const followScheme = () => document.documentElement.classList.toggle('dark-mode', dark.matches)
dark.addEventListener('change', followScheme)
followScheme()

// The document names the public address; whoever reads this page under another name of the service
// tries calls out there, because the browser would refuse any other origin.
function sameOrigin(request) {
  const { pathname, search } = new URL(request.url, window.location.href)
  request.url = window.location.origin + pathname + search
  return request
}

window.SwaggerUIBundle({
  url: '/openapi.json',
  dom_id: '#docs',
  validatorUrl: null,
  deepLinking: true,
  docExpansion: 'none',
  defaultModelsExpandDepth: 0,
  displayRequestDuration: true,
  filter: true,
  persistAuthorization: true,
  requestInterceptor: sameOrigin,
  showExtensions: true,
  tryItOutEnabled: true,
})
