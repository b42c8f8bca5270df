// Swagger UI for the OpenAPI document of this service, on the same origin.
const dark = window.matchMedia('(prefers-color-scheme: dark)')
const followScheme = () => document.documentElement.classList.toggle('dark-mode', dark.matches)
dark.addEventListener('change', followScheme)
followScheme()

// The document names the public address. A reader who opened this page under another name of the service must send calls
// to that name, because the browser refuses other origins.
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
