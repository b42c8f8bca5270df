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

// Trusted Types: Swagger UI sets the texts of the document as HTML. What is more than formatted text is not set.
const formatted =
  'p a code pre em strong ul ol li br div span blockquote table thead tbody tr th td h1 h2 h3 h4 h5 h6'
const elements = new Set(formatted.toUpperCase().split(' '))
const attributes = { class: /^/, href: /^(https?:|[/#])/, target: /^_blank$/, rel: /^/, title: /^/ }
const inert = window.trustedTypes?.createPolicy('inert', { createHTML: (html) => html })
window.trustedTypes?.createPolicy('default', {
  createHTML(html) {
    const { head, body } = new DOMParser().parseFromString(inert.createHTML(html), 'text/html')
    const isFormatted = [...head.children, ...body.querySelectorAll('*')].every(
      (element) =>
        elements.has(element.tagName) &&
        [...element.attributes].every(({ name, value }) => attributes[name]?.test(value)),
    )
    return isFormatted ? html : ''
  },
})

// Earlier releases kept tokens here.
window.localStorage.removeItem('authorized')

window.SwaggerUIBundle({
  url: '/openapi.json',
  dom_id: '#docs',
  validatorUrl: null,
  deepLinking: true,
  docExpansion: 'none',
  defaultModelsExpandDepth: 0,
  displayRequestDuration: true,
  filter: true,
  requestInterceptor: sameOrigin,
  showExtensions: true,
  tryItOutEnabled: true,
})
